import type pg from 'pg'
import { appendOne } from '../../append/append-one.ts'
import type { RecordRowRead } from '../../db/read-records.ts'
import { toUuid } from '../../db/uuid.ts'
import { ApiError } from '../../errors.ts'
import { GATED_REVISIONS_DEFAULT } from '../../limits.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId } from '../../proof/ids.ts'
import type { JsonValue } from '../../proof/json-text.ts'
import type { Caller } from '../../tenancy/caller.ts'
import type { RecordType } from '../../types/built-in.ts'
import { parseTolerances } from '../../types/tolerances.ts'
import {
  canonicalMetadata,
  digestReferences,
  parseTime,
  type SaltedDocument,
  saltDocument,
} from '../documents.ts'
import type { ParentRecord } from '../lineage.ts'
import type { WriteDeps } from '../notarize.ts'
import type { OnBehalfOf } from '../on-behalf-of.ts'
import { renderRow } from '../read.ts'
import { toHex } from '../text-of-bytes.ts'
import { verifyPayload } from '../typed-payload.ts'
import { refusePast } from './first-outcome.ts'
import { signEvent } from './sign-step.ts'
import { partyOf, type StepResult } from './take-step.ts'

export type CreateRequest = {
  readonly payload: unknown
  readonly salt?: string | undefined
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf: OnBehalfOf | null
  readonly parent: ParentRecord | null
  readonly references?: readonly string[] | undefined
  readonly traceparent: string | null
  readonly idempotency: Parameters<typeof signEvent>[2]['idempotency']
  /** null: whoever activates the record performs. */
  readonly performer: OnBehalfOf | null
  readonly gate?: 'principal' | 'auto' | undefined
  readonly deadline?: string | undefined
  readonly maxRevisions?: number | undefined
  readonly tolerances?: unknown
}

/** What was agreed, checked: as it is signed and stored. */
type Terms = {
  readonly performer: OnBehalfOf | null
  readonly gate: 'principal' | 'auto'
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  readonly tolerances: { readonly value: JsonValue; readonly canonical: string } | null
}

/** Creates a gated record: its terms are signed, and never change. Returns when it is committed. */
export async function createGated(
  deps: WriteDeps & { readonly readPool: pg.Pool },
  caller: Caller,
  type: RecordType,
  request: CreateRequest,
): Promise<StepResult> {
  const terms = parseTerms(caller, type, request)
  const deadline = { ms: terms.deadlineMs, path: '/deadline' }
  const first = await refusePast(deps, caller, request.idempotency, deadline)
  if (first) return first
  const payload = saltDocument(deps.entropy, request.payload, request.salt)
  await verifyPayload(deps, caller, type, { value: request.payload, canonical: payload.canonical })
  const build = (signer: Signer) => buildCreation(deps, signer, caller, type, request, terms, payload)
  const written = await appendOne(deps, caller, build)
  if (written.replayed) return { replayedSeq: written.seq }
  return { record: written.built.render(written.seq, written.chain), version: 1 }
}

function parseTerms(caller: Caller, type: RecordType, request: CreateRequest): Terms {
  const { performer, gate = 'principal', deadline, maxRevisions = GATED_REVISIONS_DEFAULT } = request
  if (performer && toUuid(performer.agentId) === toUuid(partyOf(caller, request.onBehalfOf)))
    throw invalidTerm('/performer', 'the principal can’t perform its own record')
  const deadlineMs = deadline === undefined ? null : parseTime(deadline, '/deadline')
  return {
    performer,
    gate,
    deadlineMs,
    maxRevisions,
    tolerances:
      request.tolerances === undefined ? null : parseTolerances(type.rules, request.tolerances as JsonValue),
  }
}

function invalidTerm(path: string, detail: string): ApiError {
  return new ApiError('invalid_request', `${path}: ${detail}`, { members: { path } })
}

function buildCreation(
  deps: WriteDeps,
  signer: Signer,
  caller: Caller,
  type: RecordType,
  request: CreateRequest,
  terms: Terms,
  payload: SaltedDocument,
) {
  const { onBehalfOf, parent, traceparent, idempotency } = request
  const references = digestReferences(request.references, payload.salt)
  const metadata = canonicalMetadata(request.metadata)
  const occurredAtMs = request.occurredAt === undefined ? null : parseTime(request.occurredAt, '/occurredAt')
  const recordedAtMs = deps.now()
  const recordId = deps.entropy.uuidv7(recordedAtMs)
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  const { entry } = signEvent(signer, caller, {
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
    predicate: {
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
    },
    idempotency,
    created: {
      gated: {
        performerId: performer?.agentId ?? null,
        gate,
        deadlineMs,
        maxRevisions,
        tolerances: tolerances?.canonical ?? null,
      },
      record: {
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
        parentId: parent?.recordId ?? null,
        references: references?.canonical ?? null,
      },
    },
  })
  const bytesOrNull = (text: string | null | undefined) => (text == null ? null : Buffer.from(text))
  const render = (seq: number, chain: string): string => {
    const row: RecordRowRead = {
      record_id: toUuid(recordId),
      type: type.name,
      state: 'CREATED',
      version: 1,
      gate,
      principal_id: toUuid(partyOf(caller, onBehalfOf)),
      performer_id: performer && toUuid(performer.agentId),
      deadline: deadlineMs === null ? null : new Date(deadlineMs),
      max_revisions: maxRevisions,
      revisions: 0,
      tolerances: bytesOrNull(tolerances?.canonical),
      item_index: null,
      actor_id: toUuid(caller.agentId),
      on_behalf_of: onBehalfOf && toUuid(onBehalfOf.agentId),
      parent_id: parent && toUuid(parent.recordId),
      occurred_at: occurredAtMs === null ? null : new Date(occurredAtMs),
      digest: Buffer.from(payload.digest),
      salt: Buffer.from(payload.salt),
      payload: Buffer.from(payload.canonical),
      metadata: bytesOrNull(metadata),
      reference_list: bytesOrNull(references?.canonical),
      erasure_seq: null,
      erasure_actor_id: null,
      erasure_recorded_at: null,
      erasure_envelope: null,
      key_id: toUuid(caller.keyId),
      subject_id: toUuid(recordId),
      recorded_at: new Date(recordedAtMs),
      seq: `${seq}`,
      kind: 'record-created',
      leaf: Buffer.from(entry.leaf),
      chain: Buffer.from(chain, 'hex'),
    }
    return renderRow(caller.ledgerId, row, {})
  }
  return { entry, render }
}
