import { toHex } from '../../src/proof/bytes.ts'
import { formatId, parseId } from '../../src/proof/ids.ts'
import { GATED_REVISIONS_DEFAULT } from '../../src/proof/request-limits.ts'
import { batchRoot, itemBytes, itemLeaf } from '../../src/proof/statement/batch.ts'
import { firstRecordId, formatRecordIds, ownRecordId } from '../../src/proof/statement/batch-ids.ts'
import { completionIdOf } from '../../src/proof/statement/completion-ids.ts'
import type { EntryKind, Subject } from '../../src/proof/statement/kinds.ts'
import { MEMBER_NAMES, type SignedMembers } from '../../src/proof/statement/record-members.ts'
import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { digestWith, saltDocument, sha256, timeOf, uuidv7 } from './parts.ts'

/*
 * Builds the statements that an agent signs (docs/formats/statements.md). The server builds the statement from the same
 * request, and accepts only an identical statement.
 */

/** A statement without its signer and time, and the request body without the envelope. */
export type Unsigned = {
  readonly kind: EntryKind
  readonly subjects: readonly Subject[]
  readonly predicate: Readonly<Record<string, unknown>>
  readonly body: object
}

export type TypeFacts = { readonly gated: boolean; readonly digest: string }

/** Returns the statement of a record. The record is created if its type is gated; otherwise it is notarized. */
export function ofRecord(
  body: api.PostRecordsBody,
  { gated, digest: typeDigest }: TypeFacts,
  { nowMs, traceparent }: { readonly nowMs: number; readonly traceparent: string | undefined },
): Unsigned {
  const { type } = body
  const record = formatId('rec', ownRecordId(uuidv7(nowMs)))
  const { salt, saltText, digest } = saltDocument(body.payload, body.salt)
  const origin = signedMembers({ ...body, traceparent }, salt)
  const terms = {
    to: 'CREATED',
    typeDigest,
    performer: body.performer,
    gate: body.gate ?? 'principal',
    deadline: body.deadline && timeOf(body.deadline),
    maxRevisions: body.maxRevisions ?? GATED_REVISIONS_DEFAULT,
    tolerances: body.tolerances,
  }
  return {
    kind: gated ? 'record-created' : 'record-notarized',
    subjects: [{ name: record, sha256: digest }],
    predicate: { record, version: 1, type, ...origin, ...(gated && terms) },
    body: { ...body, salt: saltText },
  }
}

/** Returns the statement of a batch. The batch's id is derived from the id of its first record. */
export function ofBatch({ records }: api.PostRecordsBatchBody, nowMs: number): Unsigned {
  const first = firstRecordId(uuidv7(nowMs))
  const batch = formatId('bat', first)
  const ids = formatRecordIds(first, records.length)
  const salted = records.map((item, i) => {
    const { salt, saltText, digest } = saltDocument(item.payload, item.salt)
    const signed = {
      record: ids[i]!,
      type: item.type,
      digest,
      ...signedMembers(item, salt, ids),
    }
    return { leaf: itemLeaf(sha256, itemBytes(signed)), item: { ...item, salt: saltText } }
  })
  const root = toHex(
    batchRoot(
      sha256,
      salted.map(({ leaf }) => leaf),
    ),
  )
  return {
    kind: 'batch-notarized',
    subjects: [{ name: batch, sha256: root }],
    predicate: { batch, count: records.length, tree: 'RFC9162_SHA256' },
    body: { records: salted.map(({ item }) => item) },
  }
}

/**
 * Returns the optional members in the form that is signed. Times are in UTC with milliseconds. References become a
 * digest. A parent's position in a batch becomes the parent's id.
 */
function signedMembers(
  body: Omit<api.PostRecordsBody, 'payload' | 'parent'> & {
    readonly parent?: string | number | undefined
    readonly traceparent?: string | undefined
  },
  salt: Uint8Array,
  ids: readonly string[] = [],
): SignedMembers {
  const asSigned: { readonly [name: string]: (value: never) => string | undefined } = {
    occurredAt: timeOf,
    references: (list: readonly string[]) => (list.length > 0 ? digestWith(salt, list) : undefined),
    parent: (parent: string | number) => (typeof parent === 'number' ? parentAt(ids, parent) : parent),
  }
  const signed: Record<string, string> = {}
  for (const name of MEMBER_NAMES) {
    const value = (body as { readonly [name: string]: unknown })[name]
    if (value === undefined) continue
    const text = asSigned[name] ? asSigned[name](value as never) : (value as string)
    if (text !== undefined) signed[name] = text
  }
  return signed
}

function parentAt(ids: readonly string[], index: number): string {
  const id = ids[index]
  if (id === undefined) throw new UsageError(`the batch has no record ${index}`)
  return id
}

export type Step = 'activate' | 'completions' | 'verdict' | 'revision' | 'cancel' | 'overturn'

type StepBody = {
  readonly onBehalfOf?: string
  readonly occurredAt?: string
  readonly evidence?: object
  readonly salt?: string
  readonly reason?: string
  readonly verdict?: 'accept' | 'reject'
  readonly validUntil?: string
}

/**
 * Returns the statement of a step of a gated record. The statement names the record's current version, state and entry.
 * Throws UsageError if the step needs a verified completion or a verdict that the record lacks.
 */
export function ofStep(
  step: Step,
  record: api.LedgerRecord,
  body: StepBody,
  { traceparent }: { readonly traceparent: string | undefined },
): Unsigned {
  const version = record.version + 1
  const { onBehalfOf, occurredAt } = body
  const event = {
    record: record.id,
    version,
    previous: record.entry.leaf,
    from: record.state,
    onBehalfOf,
    occurredAt: occurredAt && timeOf(occurredAt),
    traceparent,
  }
  const about = { name: record.id, sha256: record.digest }
  const { subjects, predicate, kind, document } = STEP_STATEMENTS[step](record, body, version)
  const salted = document === undefined ? null : saltDocument(document.content, body.salt)
  return {
    kind,
    subjects: [
      about,
      ...subjects,
      ...(salted && document ? [{ name: document.name, sha256: salted.digest }] : []),
    ],
    predicate: { ...event, ...predicate },
    body: { ...body, ...(salted && { salt: salted.saltText }) },
  }
}

type StepStatement = {
  readonly kind: EntryKind
  readonly subjects: readonly Subject[]
  readonly predicate: object
  readonly document?: { readonly name: string; readonly content: unknown }
}

const STEP_STATEMENTS: Readonly<
  Record<Step, (record: api.LedgerRecord, body: StepBody, version: number) => StepStatement>
> = {
  activate: () => ({ kind: 'record-activated', subjects: [], predicate: { to: 'ACTIVE' } }),
  completions({ id }, { evidence }, version) {
    const completion = formatId('cmp', completionIdOf(sha256, parseId('rec', id), version))
    return {
      kind: 'completion-submitted',
      subjects: [],
      predicate: { to: 'SUBMITTED', completion },
      document: { name: completion, content: evidence },
    }
  },
  verdict(record, body) {
    const { completion, verification } = judged(record)
    const isAccepted = body.verdict === 'accept'
    const failingRules = verification.rules.filter(({ outcome }) => outcome === 'fail').map(({ id }) => id)
    const accepted = verification.outcome === 'pass' ? 'accepted' : 'accepted_anyway'
    const signal = {
      decision: isAccepted ? 'SETTLE' : 'HOLD',
      code: isAccepted ? accepted : 'rejected',
      failingRules,
      validUntil: body.validUntil === undefined ? null : timeOf(body.validUntil),
    }
    return {
      kind: 'verdict-rendered',
      subjects: [completion],
      predicate: {
        to: isAccepted ? 'ACCEPTED' : 'REJECTED',
        completion: completion.name,
        verdict: body.verdict,
        by: 'principal',
        signal,
      },
      ...reasonOf(record, body),
    }
  },
  revision: (record, body) => ({
    kind: 'revision-requested',
    subjects: [],
    predicate: { to: 'ACTIVE', completion: judged(record).completion.name },
    ...reasonOf(record, body),
  }),
  cancel: (record, body) => ({
    kind: 'record-cancelled',
    subjects: [],
    predicate: { to: 'CANCELLED' },
    ...reasonOf(record, body),
  }),
  overturn(record, body) {
    const { completion, verdict } = judged(record)
    if (!verdict) throw new UsageError(`${record.id} has no verdict to overturn`)
    const signal = {
      decision: 'RELEASE',
      code: 'overturned',
      failingRules: verdict.signal.failingRules,
      validUntil: body.validUntil === undefined ? null : timeOf(body.validUntil),
    }
    return {
      kind: 'verdict-overturned',
      subjects: [completion],
      predicate: { to: 'ACCEPTED', completion: completion.name, signal, supersedes: record.entry.leaf },
      ...reasonOf(record, body),
    }
  },
}

function judged({ id, gated }: api.LedgerRecord) {
  const { completion, verification, verdict } = gated ?? {}
  if (!completion?.digest || !verification)
    throw new UsageError(`${id} has no verified completion, so there is nothing to judge yet`)
  return { completion: { name: completion.id, sha256: completion.digest }, verification, verdict }
}

function reasonOf({ id }: api.LedgerRecord, { reason }: StepBody): Pick<StepStatement, 'document'> {
  return reason === undefined ? {} : { document: { name: `${id}/reason`, content: reason } }
}
