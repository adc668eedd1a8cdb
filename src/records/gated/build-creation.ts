import type { GatedRow, IdempotencyRow, RecordRow } from '../../db/chain/append-entries.ts'
import { toUuid } from '../../db/connect/uuid.ts'
import type { RecordRowRead } from '../../db/records/read-records.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { RecordType } from '../../ledgers/types/built-in.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId } from '../../proof/ids.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { canonicalMetadata, digestReferences, parseTime, type SaltedDocument } from '../documents.ts'
import type { ParentRecord } from '../lineage.ts'
import type { WriteDeps } from '../notarize.ts'
import { type OnBehalfOf, partyOf } from '../on-behalf-of.ts'
import { renderRow } from '../read.ts'
import { toHex } from '../text-of-bytes.ts'
import { type SharedWith, shareDetail, sharePredicate } from './share.ts'
import { type GatedEvent, signEvent } from './sign-step.ts'

export type CreateRequest = {
  readonly payload: unknown
  readonly salt?: string | undefined
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf: OnBehalfOf | null
  readonly parent: ParentRecord | null
  readonly references?: readonly string[] | undefined
  readonly traceparent: string | null
  readonly idempotency: IdempotencyRow | null
  /** null: whoever activates the record performs. */
  readonly performer: OnBehalfOf | null
  /** Sorted by peer; null: with nobody. */
  readonly share: readonly SharedWith[] | null
  readonly gate?: 'principal' | 'auto' | undefined
  readonly deadline?: string | undefined
  readonly maxRevisions?: number | undefined
  readonly tolerances?: unknown
}

/** Agreed terms, checked, as they are signed and stored. */
export type Terms = {
  readonly performer: OnBehalfOf | null
  readonly gate: 'principal' | 'auto'
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  readonly tolerances: { readonly value: JsonValue; readonly canonical: string } | null
}

type Agreed = Omit<CreateRequest, 'payload'> & {
  readonly type: RecordType
  readonly terms: Terms
  readonly payload: SaltedDocument
}

/** All that the entry, its rows and the answer are made of. */
type Creation = ReturnType<typeof makeCreation>

function makeCreation(deps: WriteDeps, agreed: Agreed) {
  const recordedAtMs = deps.now()
  return {
    ...agreed,
    recordedAtMs,
    recordId: deps.entropy.uuidv7(recordedAtMs),
    references: digestReferences(agreed.references, agreed.payload.salt),
    metadata: canonicalMetadata(agreed.metadata),
    occurredAtMs: agreed.occurredAt === undefined ? null : parseTime(agreed.occurredAt, '/occurredAt'),
  }
}

/** The signed entry that creates the record, and `render`, which shows the record once its place is known. */
export function buildCreation(deps: WriteDeps, signer: Signer, caller: Caller, agreed: Agreed) {
  const creation = makeCreation(deps, agreed)
  const { entry } = signEvent(signer, caller, eventOf(creation))
  const render = (seq: number, chain: string): string => {
    const row = rowOf(caller, creation, { seq, leaf: entry.leaf, chain })
    return renderRow(caller.ledgerId, row, {})
  }
  return { entry, render }
}

function eventOf(creation: Creation): GatedEvent {
  const { recordId, payload, recordedAtMs, onBehalfOf, idempotency } = creation
  return {
    kind: 'record-created',
    record: formatId('rec', recordId),
    recordId,
    digest: toHex(payload.digest),
    version: 1,
    from: null,
    to: 'CREATED',
    previous: null,
    recordedAtMs,
    onBehalfOf,
    subjects: [],
    document: null,
    predicate: predicateOf(creation),
    idempotency,
    created: { gated: gatedOf(creation), record: recordOf(creation) },
    detail: detailOf(creation),
  }
}

/** Most records have no detail. */
function detailOf({ share, terms }: Creation): object | undefined {
  if (share === null) return undefined
  const performer = remotePerformerOf(terms)
  return { share: shareDetail(share), ...(performer !== null && { performer }) }
}

function remotePerformerOf({ performer }: Terms): string | null {
  return performer && parseRemoteAgent(performer.agent) ? performer.agent : null
}

function predicateOf(creation: Creation): object {
  const { type, terms, occurredAtMs, traceparent, parent, references, share } = creation
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  return {
    type: type.name,
    typeDigest: type.digest,
    ...(performer && { performer: performer.agent }),
    gate,
    ...(deadlineMs !== null && { deadline: new Date(deadlineMs).toISOString() }),
    maxRevisions,
    ...(tolerances && { tolerances: tolerances.value }),
    ...(occurredAtMs !== null && { occurredAt: new Date(occurredAtMs).toISOString() }),
    ...(traceparent !== null && { traceparent }),
    ...(parent && { parent: parent.record }),
    ...(references && { references: references.digest }),
    ...(share && { share: sharePredicate(share) }),
  }
}

function gatedOf({ terms }: Creation): GatedRow {
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  return {
    performerId: performer?.agentId ?? null,
    gate,
    deadlineMs,
    maxRevisions,
    tolerances: tolerances?.canonical ?? null,
  }
}

function recordOf(creation: Creation): RecordRow {
  const { recordId, type, payload, onBehalfOf, occurredAtMs, traceparent, metadata } = creation
  return {
    recordId,
    index: null,
    type: type.name,
    digest: payload.digest,
    salt: payload.salt,
    payload: payload.canonical,
    onBehalfOf: onBehalfOf?.agentId ?? null,
    occurredAtMs,
    traceparent,
    metadata,
    parentId: creation.parent?.recordId ?? null,
    references: creation.references?.canonical ?? null,
  }
}

type Place = { readonly seq: number; readonly leaf: Uint8Array; readonly chain: string }

/** The record as a reader will find it. */
function rowOf(caller: Caller, creation: Creation, { seq, leaf, chain }: Place): RecordRowRead {
  const { recordId, type, terms, payload, onBehalfOf, parent, occurredAtMs, share } = creation
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  return {
    recordId: toUuid(recordId),
    type: type.name,
    state: 'CREATED',
    version: 1,
    gate,
    principalId: toUuid(partyOf(caller, onBehalfOf)),
    performerId: performer && toUuid(performer.agentId),
    performerRemote: remotePerformerOf(terms),
    deadline: deadlineMs === null ? null : new Date(deadlineMs),
    maxRevisions,
    revisions: 0,
    tolerances: bytesOrNull(tolerances?.canonical),
    share: share?.map(({ peerId, documents }) => ({ peerId: toUuid(peerId), documents, seq })) ?? null,
    itemIndex: null,
    actorId: toUuid(caller.agentId),
    onBehalfOf: onBehalfOf && toUuid(onBehalfOf.agentId),
    parentId: parent && toUuid(parent.recordId),
    occurredAt: occurredAtMs === null ? null : new Date(occurredAtMs),
    digest: Buffer.from(payload.digest),
    salt: Buffer.from(payload.salt),
    payload: Buffer.from(payload.canonical),
    metadata: bytesOrNull(creation.metadata),
    referenceList: bytesOrNull(creation.references?.canonical),
    erasureSeq: null,
    erasureActorId: null,
    erasureRecordedAt: null,
    erasureEnvelope: null,
    keyId: toUuid(caller.keyId),
    subjectId: toUuid(recordId),
    recordedAt: new Date(creation.recordedAtMs),
    seq,
    kind: 'record-created',
    leaf: Buffer.from(leaf),
    chain: Buffer.from(chain, 'hex'),
  }
}

function bytesOrNull(text: string | null | undefined): Buffer | null {
  return text == null ? null : Buffer.from(text)
}
