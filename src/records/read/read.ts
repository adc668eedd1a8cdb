import { findEntry } from '../../db/chain/read-proven.ts'
import type { Db } from '../../db/connect/client.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import {
  type GatedRecordRow,
  listRecordsOfEntry,
  type RecordRowRead,
  type Rendered,
  type RenderedRow,
} from '../../db/records/read-records.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { isOfBatch } from '../../proof/statement/batch-ids.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { parseStatement } from '../../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'
import { lifecycleStateOf, nextEvents, waitsForWorker } from '../lifecycle.ts'
import { agentIdOf } from './agent-ids.ts'
import { type EntryView, type ErasureView, renderBatch, renderBatchRecord, renderRecord } from './render.ts'
import { readSteps, renderGated, type Steps } from './step-view.ts'

type ReadDeps = RenderDeps & { readonly readPool: Db }

export type RenderDeps = { readonly lookups: Lookups; readonly envelopeKeys: EnvelopeKeys }

export type RecordJson = { readonly record: string; readonly version: number }

/**
 * A requested record. `peerId`: the peer that sent the record; null if the record belongs to this ledger. `render`:
 * returns the JSON of the record as it was found.
 */
export type FoundRecord = {
  readonly version: number
  readonly waitsForWorker: boolean
  readonly peerId: Uuid | null
  readonly render: () => Promise<string>
}

/**
 * Returns a record, or null if the ledger does not have it. `ownAgent`: the only agent whose records the caller may
 * see; null if the caller may see all. A record that the caller may not see counts as missing.
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

/** Renders records. If some of them are gated, one more query reads their steps. */
export function renderRows(
  { lookups, envelopeKeys }: RenderDeps,
  ledgerId: Uuid,
  rows: readonly RenderedRow[],
): Promise<string[]> {
  // Most records of a page have the same actor and the same key.
  const [ledger, actorOf, keyOf] = [formatId('led', ledgerId), formatOnce('agt'), formatOnce('key')]
  return Promise.all(
    rows.map(async (row) => {
      const ids = {
        id: formatId('rec', row.recordId),
        ledger,
        actor: actorOf(row.actorId),
        key: keyOf(row.keyId),
      }
      if (row.version === 1) return renderRow(ids, row, NO_STEPS)
      return renderRow(ids, row, readSteps(envelopeKeys, await lookups.listSteps(ledgerId, row)))
    }),
  )
}

const NO_STEPS: Steps = {}

/** Returns a function that formats ids. It caches the text of its last id. */
function formatOnce(prefix: 'agt' | 'key'): (id: Uuid) => string {
  let [last, text]: [Uuid | null, string] = [null, '']
  return (id) => {
    if (id !== last) [last, text] = [id, formatId(prefix, id)]
    return text
  }
}

/**
 * Returns whether the caller may see this record. `ownAgent`: the only agent whose records the caller may see; null if
 * the caller may see all.
 */
export function isVisible(
  row: Pick<RecordRowRead, 'actorId' | 'onBehalfOf' | 'performerId'>,
  ownAgent: Uuid | null,
): boolean {
  if (ownAgent === null) return true
  return [row.actorId, row.onBehalfOf, row.performerId].includes(ownAgent)
}

/**
 * Returns the first answer to the request that wrote the entry at `seq`. A replay gets this answer again. `version` is
 * null for a batch.
 */
export async function getAnswerOfEntry(
  deps: ReadDeps,
  ledgerId: Uuid,
  seq: number,
): Promise<{ readonly record: string; readonly version: number | null }> {
  const rows = await listRecordsOfEntry(deps.readPool, ledgerId, seq)
  const [first] = rows
  if (!first || first.gate !== null) return getRecordAsOf(deps, ledgerId, seq)
  if (first.kind !== 'batch-notarized')
    return { record: renderRow(idsOf(ledgerId, first), first, {}), version: 1 }
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

/** Returns a gated record in the state after its entry at `seq`. Documents that were erased later are left out. */
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
    // If the terms named no performer, the second entry made the agent that activated the record its performer.
    ...(version === 1 && performerColumns(performer)),
  }
  const shown = {
    ...row,
    ...then,
    ...entry,
    signedBy: entry.signer ? 'agent' : 'server',
    recordedAt: row.recordedAt,
  } as RecordRowRead
  return { record: renderRow(idsOf(ledgerId, shown), shown, readSteps(envelopeKeys, rows)), version }
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

/** Ids of a record as text. A write already has these texts. */
type RenderedIds = { readonly [Name in 'id' | 'ledger' | 'actor' | 'key']: string }

export function idsOf(ledgerId: Uuid, { recordId, actorId, keyId }: RenderedRow): RenderedIds {
  return {
    id: formatId('rec', recordId),
    ledger: formatId('led', ledgerId),
    actor: formatId('agt', actorId),
    key: formatId('key', keyId),
  }
}

/**
 * Renders a record of this ledger as JSON. `steps`: the newest step of each kind of a gated record; empty for other
 * records.
 */
export function renderRow(ids: RenderedIds, row: RenderedRow, steps: Steps): string {
  const standing = lifecycleStateOf(row)
  return renderRecord({
    ...ids,
    type: row.type,
    state: row.state,
    version: row.version,
    nextEvents: standing ? nextEvents(standing) : [],
    payload: textOf(row.payload),
    salt: typeof row.salt === 'string' ? row.salt : row.salt && toBase64Url(row.salt),
    digest: hexOf(row.digest),
    onBehalfOf: row.onBehalfOf && formatId('agt', row.onBehalfOf),
    parent: row.parentId && formatId('rec', row.parentId),
    references: textOf(row.referenceList),
    occurredAt: row.occurredAt?.toISOString() ?? null,
    otherMembers: row.otherMembers,
    recordedAt: row.recordedAt.toISOString(),
    entry: entryOf(row),
    batch: isOfBatch(row.recordId) ? formatId('bat', row.subjectId) : null,
    metadata: textOf(row.metadata),
    erasure: erasureOf(row),
    gated: row.gate === null ? null : renderGated(termsOf(row), steps),
  })
}

function textOf(json: Buffer | string | null): string | null {
  return typeof json === 'string' || json === null ? json : json.toString('utf8')
}

function hexOf(bytes: Buffer | string): string {
  return typeof bytes === 'string' ? bytes : toHex(bytes)
}

function termsOf(row: Rendered<GatedRecordRow>) {
  return {
    principal: formatId('agt', row.principalId),
    performer: row.performerRemote ?? (row.performerId && formatId('agt', row.performerId)),
    gate: row.gate,
    deadline: row.deadline?.toISOString() ?? null,
    maxRevisions: row.maxRevisions,
    revisions: row.revisions,
    tolerances: textOf(row.tolerances),
    share: row.share?.map(({ peerId, documents }) => ({ peer: formatId('peer', peerId), documents })) ?? null,
    offer: null,
  }
}

function erasureOf(row: RenderedRow): ErasureView | null {
  if (row.erasureSeq === null) return null
  return {
    code: codeOf(row.erasureEnvelope!),
    by: row.erasureActorId === null ? 'system' : formatId('agt', row.erasureActorId),
    recordedAt: row.erasureRecordedAt!.toISOString(),
    seq: row.erasureSeq,
  }
}

/**
 * Returns the code that says why something was erased. Only the signed statement contains it. Returns null if the
 * envelope is not an erasure.
 */
function codeOf(envelope: Uint8Array): string | null {
  try {
    const { kind, predicate } = parseStatement(parseEnvelope(envelope).payload)
    return kind === 'payload-erased' ? (predicate['code'] as string) : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

function entryOf(row: RenderedRow): EntryView {
  return {
    seq: row.seq,
    kind: row.kind,
    leaf: hexOf(row.leaf),
    chain: hexOf(row.chain),
    signedBy: row.signedBy,
  }
}
