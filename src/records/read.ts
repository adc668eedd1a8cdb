import { findEntry } from '../db/chain/read-proven.ts'
import type { Db } from '../db/connect/client.ts'
import type { Lookups } from '../db/records/lookups.ts'
import { type GatedRecordRow, listRecordsOfEntry, type RecordRowRead } from '../db/records/read-records.ts'
import { parseEnvelope } from '../proof/envelope/cose.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, parseId, type Uuid } from '../proof/ids.ts'
import { isOfBatch } from '../proof/statement/batch-ids.ts'
import { parseRemoteAgent } from '../proof/statement/remote-agents.ts'
import { parseStatement } from '../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../signing/envelope-keys.ts'
import { agentIdOf } from './agent-ids.ts'
import { nextEvents, standingOf, waitsForWorker } from './gated/lifecycle.ts'
import { readSteps, renderGated, type Steps } from './gated/step-view.ts'
import { type EntryView, type ErasureView, renderBatch, renderBatchRecord, renderRecord } from './render.ts'

type ReadDeps = RenderDeps & { readonly readPool: Db }

/** Dependencies of showing records. */
export type RenderDeps = { readonly lookups: Lookups; readonly envelopeKeys: EnvelopeKeys }

/** A record as JSON, and its version. */
export type RecordJson = { readonly record: string; readonly version: number }

/** One that was asked for. `peerId`: the peer that has sent it; null: it is the ledger's own. `render`: as JSON, as it was found. */
export type FoundRecord = {
  readonly version: number
  readonly waitsForWorker: boolean
  readonly peerId: Uuid | null
  readonly render: () => Promise<string>
}

/**
 * null where the ledger has no record of that id. `ownAgent`: the only agent whose records may be seen, or null; the
 * caller does not hear that others exist.
 */
export async function findVisibleRecord(
  deps: RenderDeps,
  ledgerId: Uuid,
  recordId: Uuid,
  ownAgent: Uuid | null,
): Promise<FoundRecord | null> {
  const row = await deps.lookups.findRecord(ledgerId, recordId)
  if (!row || !isVisible(row, ownAgent)) return null
  const render = async () => (await renderRows(deps, ledgerId, [row]))[0]!
  return { version: row.version, waitsForWorker: waitsForWorker(row), peerId: null, render }
}

/** With the steps of those that are gated, in one query more. */
export function renderRows(
  { lookups, envelopeKeys }: RenderDeps,
  ledgerId: Uuid,
  rows: readonly RecordRowRead[],
): Promise<string[]> {
  return Promise.all(
    rows.map(async (row) => {
      const steps = row.version === 1 ? [] : await lookups.listSteps(ledgerId, row)
      return renderRow(ledgerId, row, readSteps(envelopeKeys, steps))
    }),
  )
}

/** Whether a caller who sees the records of `ownAgent` only (null: all) sees this one. */
export function isVisible(
  row: Pick<RecordRowRead, 'actorId' | 'onBehalfOf' | 'performerId'>,
  ownAgent: Uuid | null,
): boolean {
  if (ownAgent === null) return true
  return [row.actorId, row.onBehalfOf, row.performerId].includes(ownAgent)
}

/** Answer of the request that wrote the entry at `seq`, for replays. `version` null: a batch. */
export async function getAnswerOfEntry(
  deps: ReadDeps,
  ledgerId: Uuid,
  seq: number,
): Promise<{ readonly record: string; readonly version: number | null }> {
  const rows = await listRecordsOfEntry(deps.readPool, ledgerId, seq)
  const [first] = rows
  if (!first || first.gate !== null) return getRecordAsOf(deps, ledgerId, seq)
  if (first.kind !== 'batch-notarized') return { record: renderRow(ledgerId, first, {}), version: 1 }
  const batch = renderBatch({
    batch: formatId('bat', first.subjectId),
    entry: entryOf(first),
    records: rows
      .map(({ recordId, digest, salt }) =>
        renderBatchRecord(
          formatId('rec', recordId),
          digest.toString('hex'),
          salt?.toString('base64url') ?? null,
        ),
      )
      .join(),
  })
  return { record: batch, version: null }
}

/** A gated record as it was after the entry at `seq`, which is one of its own; but for documents that were erased since. */
async function getRecordAsOf(
  { readPool, lookups, envelopeKeys }: ReadDeps,
  ledgerId: Uuid,
  seq: number,
): Promise<RecordJson> {
  const entry = await findEntry(readPool, ledgerId, seq)
  if (!entry) throw new Error(`there is no entry ${seq}`)
  const { predicate } = parseStatement(parseEnvelope(entry.envelope).payload)
  const { record, version, to, performer } = predicate as Record<string, string> & { version: number }
  const row = await lookups.findRecord(ledgerId, parseId('rec', record!))
  if (!row) throw new Error(`entry ${seq} is of no record`)
  const rows = version === 1 ? [] : await lookups.listSteps(ledgerId, { ...row, version })
  const then = {
    state: to!,
    version,
    revisions: rows[0]?.revisions ?? 0,
    share: sharedUpTo(row, seq),
    // An agent that activates a record without a performer becomes its performer, by the second entry.
    ...(version === 1 && performerColumns(performer)),
  }
  const shown = {
    ...row,
    ...then,
    ...entry,
    signedBy: entry.signer ? 'agent' : 'server',
    recordedAt: row.recordedAt,
  } as RecordRowRead
  return { record: renderRow(ledgerId, shown, readSteps(envelopeKeys, rows)), version }
}

function performerColumns(performer: string | undefined) {
  if (performer === undefined) return { performerId: null, performerRemote: null }
  return {
    performerId: agentIdOf(performer),
    performerRemote: parseRemoteAgent(performer) ? performer : null,
  }
}

function sharedUpTo({ share }: RecordRowRead, seq: number): RecordRowRead['share'] {
  const then = share?.filter((one) => one.seq <= seq) ?? []
  return then.length === 0 ? null : then
}

/** `steps`: the newest of each kind, for a gated record. */
export function renderRow(ledgerId: Uuid, row: RecordRowRead, steps: Steps): string {
  const standing = standingOf(row)
  return renderRecord({
    id: formatId('rec', row.recordId),
    ledger: formatId('led', ledgerId),
    type: row.type,
    state: row.state,
    version: row.version,
    nextEvents: standing ? nextEvents(standing) : [],
    payload: row.payload?.toString('utf8') ?? null,
    salt: row.salt?.toString('base64url') ?? null,
    digest: row.digest.toString('hex'),
    actor: formatId('agt', row.actorId),
    key: formatId('key', row.keyId),
    onBehalfOf: row.onBehalfOf && formatId('agt', row.onBehalfOf),
    parent: row.parentId && formatId('rec', row.parentId),
    references: row.referenceList?.toString('utf8') ?? null,
    occurredAt: row.occurredAt?.toISOString() ?? null,
    recordedAt: row.recordedAt.toISOString(),
    entry: entryOf(row),
    batch: isOfBatch(row.recordId) ? formatId('bat', row.subjectId) : null,
    metadata: row.metadata?.toString('utf8') ?? null,
    erasure: erasureOf(row),
    gated: row.gate === null ? null : renderGated(termsOf(row), steps),
  })
}

function termsOf(row: GatedRecordRow) {
  return {
    principal: formatId('agt', row.principalId),
    performer: row.performerRemote ?? (row.performerId && formatId('agt', row.performerId)),
    gate: row.gate,
    deadline: row.deadline?.toISOString() ?? null,
    maxRevisions: row.maxRevisions,
    revisions: row.revisions,
    tolerances: row.tolerances?.toString('utf8') ?? null,
    share: row.share?.map(({ peerId, documents }) => ({ peer: formatId('peer', peerId), documents })) ?? null,
    offer: null,
  }
}

function erasureOf(row: RecordRowRead): ErasureView | null {
  if (row.erasureSeq === null) return null
  return {
    code: codeOf(row.erasureEnvelope!),
    by: row.erasureActorId === null ? 'system' : formatId('agt', row.erasureActorId),
    recordedAt: row.erasureRecordedAt!.toISOString(),
    seq: row.erasureSeq,
  }
}

/** Why something was erased, which stands in the signed statement only. null where it is none. */
function codeOf(envelope: Uint8Array): string | null {
  try {
    const { kind, predicate } = parseStatement(parseEnvelope(envelope).payload)
    return kind === 'payload-erased' ? (predicate['code'] as string) : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

function entryOf(row: RecordRowRead): EntryView {
  return {
    seq: row.seq,
    kind: row.kind,
    leaf: row.leaf.toString('hex'),
    chain: row.chain.toString('hex'),
    signedBy: row.signedBy,
  }
}
