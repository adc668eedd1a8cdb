import type pg from 'pg'
import { appendOne } from '../../append/append-one.ts'
import { type EntrySigner, requireRecent, sealEntry } from '../../append/entry.ts'
import type { EntryRow, IdempotencyRow } from '../../db/chain/append-entries.ts'
import { PARENT_DEPTH_MAX } from '../../db/limits.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { BUILT_IN_TYPES, type RecordType } from '../../ledgers/types/built-in.ts'
import { Slice } from '../../load/slice.ts'
import { formatId } from '../../proof/ids.ts'
import { BATCH_TYPES_MAX } from '../../proof/request-limits.ts'
import { ownRecordId } from '../../proof/statement/batch-ids.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { renderBatch } from '../read/render.ts'
import { openEnvelope, refuseChosenBatch } from './agent-envelope.ts'
import type { BuiltBatch } from './build-batch.ts'
import { resolveParents } from './lineage.ts'
import { NOTARIZED } from './new-record.ts'
import type { WriteDeps } from './notarize.ts'
import { resolveAllOnBehalfOf } from './on-behalf-of.ts'
import { getNotarizable, requireAgentSigned, verifyPayload } from './typed-payload.ts'

export type BatchDeps = WriteDeps & {
  readonly lookups: Lookups
  readonly readPool: pg.Pool
  readonly envelopeKeys: EnvelopeKeys
}

/**
 * Result of a written batch. `seq`: position of the batch's entry. `batch`: id of the batch; null if an earlier request
 * with the same Idempotency-Key wrote the entry.
 */
type BatchResult = { readonly batch: string | null; readonly seq: number }

/**
 * Returns a ledger size at which none of the batch's spans and logs existed. The function is called each time the batch
 * is signed.
 */
type UnseenBefore = () => Promise<number>

/**
 * Notarizes many records in one entry, all or none. The entry has one signature over the Merkle root of the items
 * (docs/formats/chain-and-checkpoints.md). Returns when the entry is committed.
 */
export async function notarizeBatch(
  deps: BatchDeps,
  caller: Caller,
  built: BuiltBatch,
  idempotency: IdempotencyRow | null,
  unseenBefore: UnseenBefore | null = null,
): Promise<BatchResult> {
  // The payloads are verified before the signed time is taken, because their validation may have to wait for the
  // ledger's share of CPU.
  await verifyPayloads(deps, caller, built)
  const agents = built.agents.map(({ name, index }) => ({ agent: name, members: { index } }))
  await resolveAllOnBehalfOf(deps, caller, agents, idempotency)
  await refuseParents(deps, caller, built)
  const signed = await openEnvelope(deps, caller, built.envelope)
  if (signed) refuseChosenBatch(signed, built)
  const seal = (signer: EntrySigner, unseen: number | null) =>
    sealBatch(deps, signer, caller, built, { idempotency, unseenBefore: unseen })
  const written = await appendOne(deps, caller, (signer) =>
    unseenBefore ? unseenBefore().then((size) => seal(signer, size)) : seal(signed ?? signer, null),
  )
  const { seq } = written
  return { batch: written.replayed ? null : written.built.render(seq, written.chain), seq }
}

async function verifyPayloads(deps: BatchDeps, caller: Caller, built: BuiltBatch): Promise<void> {
  const types = await findTypes(deps, caller, built)
  const slice = new Slice()
  for (const { type, index, canonical } of built.payloads) {
    if (slice.isOver) await slice.next()
    const payload = { value: JSON.parse(canonical), canonical }
    const verified = verifyPayload(deps, caller, types.get(type)!, payload, { index })
    if (!verified) continue
    await verified
    // This early check avoids useless work. It is repeated when the batch is signed.
    requireRecent(caller, deps.now())
  }
}

/** Returns the types of the batch's items, without duplicates, in the order of their first items. */
async function findTypes(
  deps: BatchDeps,
  caller: Caller,
  { types: named, envelope }: BuiltBatch,
): Promise<ReadonlyMap<string, RecordType>> {
  const types = new Map<string, RecordType>()
  let registered = 0
  for (const { name, index } of named) {
    if (!BUILT_IN_TYPES.has(name) && ++registered > BATCH_TYPES_MAX) {
      throw new ApiError('invalid_request', `a batch has records of at most ${BATCH_TYPES_MAX} types`, {
        members: { path: `/records/${index}/type`, index },
      })
    }
    const found = getNotarizable(deps, caller, name, { index })
    const type = found instanceof Promise ? await found : found
    requireAgentSigned(type, envelope !== undefined, { index })
    types.set(name, type)
  }
  return types
}

/**
 * Checks the parents of the items. An item may name an earlier item as its parent. The limit of depth also applies to
 * such parents.
 */
async function refuseParents(
  { readPool }: BatchDeps,
  caller: Caller,
  { parents }: BuiltBatch,
): Promise<void> {
  if (parents === null) return
  const found = await resolveParents(readPool, caller.ledgerId, parents)
  const depths: number[] = []
  for (const [index, parent] of parents.entries()) {
    const above =
      typeof parent === 'number' ? depths[parent]! : parent === null ? 0 : found.get(parent)!.depth
    if (above >= PARENT_DEPTH_MAX) {
      const detail = `its parent is at level ${above} of its tree; at most ${PARENT_DEPTH_MAX} levels are allowed`
      throw new ApiError('parent_too_deep', detail, { members: { path: `/records/${index}/parent`, index } })
    }
    depths.push(above + 1)
  }
}

function sealBatch(
  deps: BatchDeps,
  signer: EntrySigner,
  caller: Caller,
  { count, first, root, chunks, answer }: BuiltBatch,
  about: Pick<EntryRow, 'idempotency' | 'unseenBefore'>,
) {
  const isOwn = 'envelope' in signer
  const recordedAtMs = isOwn ? signer.statement.recordedAtMs : deps.now()
  const batchId = isOwn ? first : ownRecordId(deps.entropy.uuidv7(recordedAtMs))
  const batch = formatId('bat', batchId)
  const signedBy = isOwn ? 'agent' : 'server'
  const { entry } = sealEntry(
    signer,
    caller,
    {
      kind: 'batch-notarized',
      subject: { id: batchId, name: batch, digest: toHex(root) },
      predicate: { batch, count, tree: 'RFC9162_SHA256' },
      ...about,
      event: NOTARIZED,
      chunks,
    },
    recordedAtMs,
  )
  const render = (seq: number, chain: string): string =>
    renderBatch({
      batch,
      entry: { seq, kind: 'batch-notarized', leaf: toHex(entry.leaf), chain, signedBy },
      records: answer,
    })
  return { entry, render }
}
