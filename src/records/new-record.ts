import type { AgentSigned } from '../append/agent-signature.ts'
import type { IdempotencyRow, RecordRow } from '../db/chain/append-entries.ts'
import type { Caller } from '../ledgers/caller.ts'
import type { RecordType } from '../ledgers/types/built-in.ts'
import { formatId } from '../proof/ids.ts'
import { ownRecordId } from '../proof/statement/batch-ids.ts'
import type { Entropy } from '../signing/entropy.ts'
import { toBase64Url, toHex } from '../signing/text-of-bytes.ts'
import { chosenRecordId } from './agent-envelope.ts'
import { canonicalMetadata, digestReferences, parseTime, type SaltedDocument } from './documents.ts'
import type { ParentRecord } from './lineage.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import type { EntryView, RecordView } from './render.ts'

/** Members of every request that makes one record. */
export type RecordRequest = {
  /** Its value, or a ReadDocument. */
  readonly payload: unknown
  readonly salt?: string | undefined
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf: OnBehalfOf | null
  readonly parent: ParentRecord | null
  readonly references?: readonly string[] | undefined
  /** Keyed hash of the label of the person that it is about. */
  readonly subject: Uint8Array | null
  readonly traceparent: string | null
  readonly idempotency: IdempotencyRow | null
  /** The agent signs itself; null: the server signs. */
  readonly signed: AgentSigned | null
}

/** Source of the record's entry, of its rows and of the answer. */
export type NewRecord = ReturnType<typeof makeRecord>

/** Event by which a record is notarized, alone or in a batch: terminal at once. */
export const NOTARIZED = { version: 1, to: 'RECORDED', previous: null } as const

export function makeRecord(
  deps: { readonly entropy: Entropy; readonly now: () => number },
  request: Omit<RecordRequest, 'payload'> & { readonly type: RecordType; readonly payload: SaltedDocument },
) {
  const { type, payload, onBehalfOf, parent, signed } = request
  const recordedAtMs = signed?.statement.recordedAtMs ?? deps.now()
  const recordId = signed ? chosenRecordId(signed) : ownRecordId(deps.entropy.uuidv7(recordedAtMs))
  return {
    recordId,
    record: formatId('rec', recordId),
    type,
    payload,
    digest: toHex(payload.digest),
    references: digestReferences(request.references, payload.salt),
    metadata: canonicalMetadata(request.metadata),
    occurredAtMs: request.occurredAt === undefined ? null : parseTime(request.occurredAt, '/occurredAt'),
    recordedAtMs,
    onBehalfOf,
    parent,
    subject: request.subject,
    traceparent: traceparentOf(request),
    signedBy: signed ? ('agent' as const) : ('server' as const),
  }
}

/** The trace that an agent signs is its own, whatever headers a proxy adds. */
export function traceparentOf({
  signed,
  traceparent,
}: Pick<RecordRequest, 'signed' | 'traceparent'>): string | null {
  return signed ? ((signed.statement.predicate['traceparent'] as string | undefined) ?? null) : traceparent
}

/** Members of the predicate that say where the record comes from, of notarized and gated records alike: PREDICATES has them for both kinds. */
export function originOf({ occurredAtMs, traceparent, parent, references }: NewRecord): object {
  return {
    ...(occurredAtMs !== null && { occurredAt: new Date(occurredAtMs).toISOString() }),
    ...(traceparent !== null && { traceparent }),
    ...(parent && { parent: parent.record }),
    ...(references && { references: references.digest }),
  }
}

export function rowOf(record: NewRecord): RecordRow {
  const {
    recordId,
    type,
    payload,
    onBehalfOf,
    occurredAtMs,
    traceparent,
    metadata,
    parent,
    references,
    subject,
  } = record
  return {
    recordId,
    type: type.name,
    digest: payload.digest,
    salt: payload.salt,
    payload: payload.canonical,
    onBehalfOf: onBehalfOf?.agentId ?? null,
    occurredAtMs,
    traceparent,
    metadata,
    parentId: parent?.recordId ?? null,
    references: references?.canonical ?? null,
    subject,
  }
}

/** The record as a reader will find it. */
export function viewOfNew(
  caller: Caller,
  made: NewRecord,
  entry: EntryView,
  standing: Pick<RecordView, 'state' | 'nextEvents' | 'gated'>,
): RecordView {
  const { payload, occurredAtMs } = made
  return {
    ...standing,
    id: made.record,
    ledger: caller.ledger,
    type: made.type.name,
    version: 1,
    payload: payload.canonical,
    salt: toBase64Url(payload.salt),
    digest: made.digest,
    actor: caller.agent,
    key: caller.key,
    onBehalfOf: made.onBehalfOf?.agent ?? null,
    parent: made.parent?.record ?? null,
    references: made.references?.canonical ?? null,
    occurredAt: occurredAtMs === null ? null : new Date(occurredAtMs).toISOString(),
    recordedAt: new Date(made.recordedAtMs).toISOString(),
    entry,
    batch: null,
    metadata: made.metadata,
    erasure: null,
  }
}
