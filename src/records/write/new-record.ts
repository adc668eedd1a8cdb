import type { AgentSigned } from '../../append/agent-signature.ts'
import type { IdempotencyRow, RecordRow } from '../../db/chain/append-entries.ts'
import {
  type GatedColumns,
  NOT_ERASED,
  NOT_GATED,
  type Rendered,
  type RenderedRow,
} from '../../db/records/read-records.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { RecordType } from '../../ledgers/types/built-in.ts'
import { formatId } from '../../proof/ids.ts'
import { ownRecordId } from '../../proof/statement/batch-ids.ts'
import {
  addSigned,
  type MemberColumns,
  type OtherRequest,
  otherMembersOf,
  type SignedMembers,
} from '../../proof/statement/record-members.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'
import { canonicalMetadata, digestReferences, parseTime, type SaltedDocument } from '../documents.ts'
import { renderRow } from '../read/read.ts'
import { chosenRecordId } from './agent-envelope.ts'
import type { ParentRecord } from './lineage.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'

export type RecordRequest = OtherRequest & {
  /** Payload of the record: a JSON value or a SaltedText. */
  readonly payload: unknown
  readonly salt?: string | undefined
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf: OnBehalfOf | null
  readonly parent: ParentRecord | null
  readonly references?: readonly string[] | undefined
  /** Keyed hash of the label of the person that the record is about. */
  readonly subject: Uint8Array | null
  readonly traceparent: string | null
  readonly idempotency: IdempotencyRow | null
  /** Signature by the agent; null if the server signs. */
  readonly signed: AgentSigned | null
}

export type NewRecord = ReturnType<typeof makeRecord>

/** The only event of a notarized record. Records of a batch have this event too. */
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
    otherMembers: otherMembersOf(request),
    signedBy: signed ? ('agent' as const) : ('server' as const),
  }
}

/**
 * Returns the trace of the record. If the agent signed a trace, that trace counts, because a proxy may have changed the
 * trace in the headers.
 */
export function traceparentOf({
  signed,
  traceparent,
}: Pick<RecordRequest, 'signed' | 'traceparent'>): string | null {
  return signed ? ((signed.statement.predicate['traceparent'] as string | undefined) ?? null) : traceparent
}

/** Returns the optional members of the predicate, for notarized and gated records. */
export function originOf(record: NewRecord): SignedMembers {
  const { onBehalfOf: _, ...members } = addSigned({}, columnsOf(record), record.references?.digest ?? null)
  return members
}

export function rowOf(record: NewRecord): RecordRow {
  const { recordId, type, payload, metadata, references, subject } = record
  return {
    ...columnsOf(record),
    recordId,
    type: type.name,
    digest: payload.digest,
    salt: payload.salt,
    payload: payload.canonical,
    metadata,
    references: references?.canonical ?? null,
    subject,
  }
}

function columnsOf({
  onBehalfOf,
  parent,
  occurredAtMs,
  traceparent,
  otherMembers,
}: NewRecord): MemberColumns {
  return {
    onBehalfOf: onBehalfOf?.agentId ?? null,
    parentId: parent?.recordId ?? null,
    occurredAtMs,
    traceparent,
    otherMembers,
  }
}

/** Position of the record's first entry. `chain`: in hex. */
type FirstEntry = {
  readonly kind: 'record-notarized' | 'record-created'
  readonly leaf: Uint8Array
  readonly seq: number
  readonly chain: string
}

const NOTARIZED_COLUMNS = { ...NOT_GATED, ...NOT_ERASED }

/**
 * Returns JSON of the new record, equal to the JSON that the next read returns. `gated`: columns of a gated record;
 * null if the record is notarized.
 */
export function renderNew(
  { agentId, keyId, agent, ledger, key }: Caller,
  made: NewRecord,
  { kind, leaf, seq, chain }: FirstEntry,
  gated: Rendered<GatedColumns> | null,
): string {
  const { occurredAtMs, payload } = made
  const shown: RenderedRow = {
    ...(gated ? { ...gated, ...NOT_ERASED } : NOTARIZED_COLUMNS),
    ...columnsOf(made),
    recordId: made.recordId,
    type: made.type.name,
    state: gated ? 'CREATED' : 'RECORDED',
    version: 1,
    actorId: agentId,
    keyId,
    subjectId: made.recordId,
    digest: made.digest,
    salt: toBase64Url(payload.salt),
    payload: payload.canonical,
    metadata: made.metadata,
    referenceList: made.references?.canonical ?? null,
    occurredAt: occurredAtMs === null ? null : new Date(occurredAtMs),
    recordedAt: new Date(made.recordedAtMs),
    seq,
    kind,
    leaf: toHex(leaf),
    chain,
    signedBy: made.signedBy,
  }
  return renderRow({ id: made.record, ledger, actor: agent, key }, shown, {})
}
