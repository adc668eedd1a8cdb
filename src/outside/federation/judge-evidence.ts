import type pg from 'pg'
import { findRecords, type RecordRowRead } from '../../db/records/read-records.ts'
import { ApiError } from '../../errors.ts'
import { formatId } from '../../proof/ids.ts'
import { DOCUMENT_BYTES_MAX } from '../../proof/request-limits.ts'
import { type OfferedStepDeps, verifyOfferedEvidence } from '../../records/gated/offered-step.ts'
import type { PeeringIds } from './authenticate.ts'
import { unavailable } from './peer-transaction.ts'
import type { ProposedEntry } from './proposed.ts'

/** Maps an offer to the error with which its evidence is refused, or to null if the evidence is valid. */
export type JudgedEvidence = ReadonlyMap<ProposedEntry, ApiError | null>

/**
 * Validates the evidence of each offer that may still be accepted.
 *
 * A tenant's costly schema may take seconds. So validation runs before the transaction, and before the request takes an
 * inbox slot. Offers that can't be accepted any more are skipped. This is safe, because versions only grow and a
 * record's type never changes.
 */
export async function judgeEvidence(
  deps: OfferedStepDeps & { readonly readPool: pg.Pool },
  ids: PeeringIds,
  proposed: readonly ProposedEntry[],
): Promise<JudgedEvidence> {
  const offers = proposed.filter(({ statement: { kind, predicate }, document }) => {
    return kind === 'step-offered' && predicate['step'] === 'completion-submitted' && document !== null
  })
  const judged = new Map<ProposedEntry, ApiError | null>()
  if (offers.length === 0) return judged
  const rows = await readRows(deps.readPool, ids, offers)
  for (const offer of offers) {
    const row = rows.get(offer.record!.name)
    if (row && mayBeTaken(row, ids, offer)) judged.set(offer, await judge(deps, ids, row, offer))
  }
  return judged
}

/**
 * Throws the error with which the offer's evidence was refused. Throws `unavailable` if the evidence was not checked,
 * for example because the record was not yet shared. Returns if the evidence is valid.
 */
export function requireJudged(judged: JudgedEvidence, offer: ProposedEntry): void {
  const found = judged.get(offer)
  if (found === undefined) throw unavailable('the record has changed meanwhile')
  if (found !== null) throw found
}

async function readRows(
  pool: pg.Pool,
  { ledgerId }: PeeringIds,
  offers: readonly ProposedEntry[],
): Promise<ReadonlyMap<string, RecordRowRead>> {
  const ids = new Map(offers.map(({ record }) => [record!.name, record!.id]))
  const named = [...ids.values()].map((recordId) => ({ ledgerId, recordId }))
  const rows = await findRecords(pool, named)
  return new Map(rows.flatMap((row) => (row ? [[formatId('rec', row.recordId), row] as const] : [])))
}

function mayBeTaken(
  row: RecordRowRead,
  { peer }: PeeringIds,
  { statement, document }: ProposedEntry,
): boolean {
  const isShared = row.share?.some(({ peerId }) => formatId('peer', peerId) === peer) ?? false
  const isLater = (statement.predicate['version'] as number) > row.version
  return isShared && isLater && Buffer.byteLength(document!.canonical) <= DOCUMENT_BYTES_MAX
}

async function judge(
  deps: OfferedStepDeps,
  ids: PeeringIds,
  row: RecordRowRead,
  { document }: ProposedEntry,
): Promise<ApiError | null> {
  try {
    await verifyOfferedEvidence(deps, ids, row, document!)
    return null
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return error
    throw error
  }
}
