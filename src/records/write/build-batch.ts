import { createHash } from 'node:crypto'
import type { ChunkRow } from '../../db/chain/append-entries.ts'
import { CHUNK_RECORDS, type ChunkRecord, encodeChunk } from '../../db/chunks/chunk-content.ts'
import { chunkKey, keysOfChunk } from '../../db/chunks/chunk-keys.ts'
import { itemOf } from '../../db/chunks/item.ts'
import { ApiError } from '../../errors.ts'
import { BUILT_IN_TYPES } from '../../ledgers/types/built-in.ts'
import { fromBase64, ownCopies, ownCopy } from '../../proof/bytes.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { type IdPrefix, isId, parseId, type Uuid } from '../../proof/ids.ts'
import { quote } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import {
  type BatchItem,
  batchRoot,
  itemBytes,
  itemLeaf,
  parseBatchItem,
} from '../../proof/statement/batch.ts'
import { firstRecordId, formatRecordIds, recordIdAt } from '../../proof/statement/batch-ids.ts'
import { ITEM_FIELDS } from '../../proof/statement/predicates.ts'
import {
  type MemberName,
  OTHER_MEMBERS,
  type OtherRequest,
  otherMembersOf,
  RECORD_MEMBERS,
} from '../../proof/statement/record-members.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'
import {
  CanonicalDocument,
  canonicalMetadata,
  digestReferences,
  parseTime,
  saltDocument,
} from '../documents.ts'
import { BATCH_KEYS_MAX } from '../limits.ts'
import { renderBatchRecord } from '../read/render.ts'
import { hashSubject } from '../subjects/label.ts'
import { verifyBuiltIn } from './typed-payload.ts'

/*
 * Builds the part of a batch that needs neither the database nor a key. A thread can do this work
 * (src/http/bodies/thread.ts): documents are salted and digested, items are hashed, chunks are compressed, and the
 * answer is written.
 */

const { sha256 } = nativeProviders

export type BatchRequestItem = OtherRequest & {
  readonly type: string
  readonly payload: unknown
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf?: string | undefined
  /** Id of a record of the ledger, or index of an earlier item. */
  readonly parent?: string | number | undefined
  readonly references?: readonly string[] | undefined
  readonly traceparent?: string | undefined
  readonly salt?: string | undefined
  /** Label of the person that the record is about. */
  readonly subject?: string | undefined
}

export type BatchContext = {
  readonly actor: Uuid
  /** Key with which labels of subjects are hashed. */
  readonly subjectSalt: Uint8Array
  /** Trace of items that have no trace of their own; null if there is none. */
  readonly traceparent: string | null
  /** Envelope in base64; absent if the server signs. */
  readonly envelope?: string | undefined
  /** Method and path, which are hashed with the request; null if the request has no Idempotency-Key. */
  readonly request: { readonly method: string; readonly path: string } | null
}

/** A name, and the index of the first item that contains the name. */
export type FirstUse = { readonly name: string; readonly index: number }

/** Everything that a batch's entry signs and stores, and the names that must be looked up in the ledger. */
export type BuiltBatch = {
  readonly count: number
  readonly first: Uuid
  readonly envelope: string | undefined
  readonly root: Uint8Array
  readonly chunks: readonly ChunkRow[]
  /** The records of the answer as JSON, without the brackets around the list. */
  readonly answer: string
  /** H(method, path, JCS(body)) without envelope and salts; null if the request has no Idempotency-Key. */
  readonly requestHash: Uint8Array | null
  /** Types of the items, without duplicates, in the order of the items. */
  readonly types: readonly FirstUse[]
  readonly agents: readonly FirstUse[]
  /** The parent of each item; null if no item has a parent. */
  readonly parents: readonly (string | number | null)[] | null
  /** Payloads of registered types, as canonical JSON. The payloads still have to be validated. */
  readonly payloads: readonly { readonly type: string; readonly index: number; readonly canonical: string }[]
}

/**
 * Builds a batch. Throws ApiError for the first item that cannot be notarized. The error contains the `index` of the
 * item.
 */
export function buildBatch(
  entropy: Entropy,
  items: readonly BatchRequestItem[],
  { actor, subjectSalt, traceparent, request, envelope }: BatchContext,
): BuiltBatch {
  const first = envelope === undefined ? firstRecordId(entropy.uuidv7(Date.now())) : chosenFirstId(envelope)
  const ids = formatRecordIds(first, items.length)
  const hash = request && createHash('sha256').update(`${request.method} ${request.path}\n{"records":[`)
  const types = new Map<string, number>()
  const agents = new Map<string, { readonly index: number; readonly id: Uuid }>()
  const payloads: BuiltBatch['payloads'][number][] = []
  const leaves: Uint8Array[] = []
  const records: ChunkRecord[] = []
  const subjects = items.map(({ subject }) =>
    subject === undefined ? null : hashSubject(subjectSalt, subject),
  )
  let answer = ''
  for (const [index, item] of items.entries()) {
    const at = `/records/${index}`
    if ((item.salt === undefined) !== (envelope === undefined)) throw saltMismatch(`${at}/salt`, index)
    const payload = saltDocument(entropy, item.payload, item.salt, { index })
    const references = digestReferences(item.references, payload.salt, { index, path: `${at}/references` })
    const metadata = canonicalMetadata(item.metadata, { index })
    const occurredAtMs =
      item.occurredAt === undefined ? null : parseTime(item.occurredAt, `${at}/occurredAt`, { index })
    if (!types.has(item.type)) types.set(item.type, index)
    const builtIn = BUILT_IN_TYPES.get(item.type)
    if (!builtIn) payloads.push({ type: item.type, index, canonical: payload.canonical })
    // Documents that the server made need no check, because they are always valid.
    else if (!(item.payload instanceof CanonicalDocument))
      verifyBuiltIn(builtIn, { value: item.payload, bytes: payload.bytes }, { index })
    if (item.onBehalfOf !== undefined && !agents.has(item.onBehalfOf))
      agents.set(item.onBehalfOf, { index, id: idOf('agt', item.onBehalfOf, 'unknown_agent', { index }) })
    const record: ChunkRecord = {
      type: item.type,
      document: {
        salt: payload.salt,
        payload: payload.bytes,
        references: references?.bytes ?? null,
        metadata: metadata === null ? null : Buffer.from(metadata),
      },
      occurredAtMs,
      onBehalfOf: item.onBehalfOf === undefined ? null : agents.get(item.onBehalfOf)!.id,
      parentId: parentOf(first, item, index),
      traceparent: item.traceparent ?? (envelope === undefined ? traceparent : null),
      otherMembers: otherMembersOf(item),
    }
    records.push(record)
    const digest = toHex(payload.digest)
    const digests = { digest, references: references?.digest ?? null }
    // The request contains the agent's id as text. So the function returns that text instead of formatting the id.
    const signed = itemOf(ids[index]!, record, digests, () => item.onBehalfOf!)
    refuseUnverifiable(signed, index === 0 || records[index - 1]!.type !== item.type)
    leaves.push(itemLeaf(sha256, itemBytes(signed)))
    answer += `${index === 0 ? '' : ','}${renderBatchRecord(ids[index]!, digest, toBase64Url(payload.salt))}`
    hash?.update(
      `${index === 0 ? '' : ','}${canonicalItem(item, payload.canonical, metadata, references?.canonical)}`,
    )
  }
  return {
    count: items.length,
    first,
    envelope,
    root: ownCopy(batchRoot(sha256, leaves)),
    chunks: chunksOf(first, actor, records, subjects),
    answer,
    requestHash: hash ? hash.update(']}').digest() : null,
    types: Array.from(types, ([name, index]) => ({ name, index })),
    agents: Array.from(agents, ([name, { index }]) => ({ name, index })),
    parents: items.some(({ parent }) => parent !== undefined)
      ? items.map(({ parent }) => parent ?? null)
      : null,
    payloads,
  }
}

/**
 * Throws `batch_item` for an item that verifiers would refuse. Such an item shows a bug of the server, and the batch is
 * not built. `isOther`: true if the item's type differs from the previous item's type.
 *
 * Ids and digests are made from bytes and cannot be malformed. So one item of each type is checked completely, which
 * takes 1 us. In all items, the texts from the request are checked, which takes 0.2 us.
 */
function refuseUnverifiable(item: BatchItem, isOther: boolean): void {
  if (isOther) parseBatchItem(item as unknown as JsonValue)
  for (const [name, check] of TEXT_CHECKS) {
    const text = item[name]
    if (text !== undefined && !check(text)) throw new ProofError('batch_item', text)
  }
}

const TEXT_CHECKS = (['occurredAt', 'traceparent', ...OTHER_MEMBERS.map(([name]) => name)] as const).map(
  (name) => [name, ITEM_FIELDS.optional[name]!] as const,
)

/**
 * Returns the id of the first record in a batch that an agent signs. The batch has this id with another prefix. The
 * rest of the envelope is checked later (openEnvelope).
 */
function chosenFirstId(envelope: string): Uuid {
  try {
    return firstRecordId(parseId('bat', parseEnvelope(fromBase64(envelope)).subject))
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('envelope_refused', error.detail, { members: { reason: error.code } })
  }
}

function saltMismatch(path: string, index: number): ApiError {
  return new ApiError(
    'invalid_request',
    `${path}: with an envelope every record needs a salt; without an envelope no record may have one`,
    { members: { path, index } },
  )
}

function parentOf(first: Uuid, { parent }: BatchRequestItem, index: number): Uuid | null {
  if (parent === undefined) return null
  const members = { path: `/records/${index}/parent`, index }
  if (typeof parent === 'string') return idOf('rec', parent, 'unknown_parent', members)
  if (parent < index) return recordIdAt(first, parent)
  throw new ApiError('unknown_parent', `record ${index} of the batch has no earlier record ${parent}`, {
    members,
  })
}

function idOf(prefix: IdPrefix, id: string, code: 'unknown_agent' | 'unknown_parent', members: object): Uuid {
  if (isId(prefix, id)) return parseId(prefix, id)
  throw new ApiError(code, `${id} is not an id (${prefix}_…)`, { members: { ...members } })
}

/**
 * Returns the JCS of a request's item. Its documents are in canonical form already. The salt is left out, because two
 * requests that differ only in salts count as the same request.
 */
function canonicalItem(
  item: BatchRequestItem,
  payload: string,
  metadata: string | null,
  references: string | undefined = item.references && '[]',
): string {
  let text = ''
  for (const name of REQUEST_NAMES) {
    if (name === 'payload') text += `,"payload":${payload}`
    else if (name === 'metadata') text += metadata === null ? '' : `,"metadata":${metadata}`
    else if (name === 'references') text += references === undefined ? '' : `,"references":${references}`
    else {
      const value = item[name]
      if (value !== undefined) text += `,"${name}":${typeof value === 'number' ? value : quote(value)}`
    }
  }
  return `{${text.slice(1)}}`
}

/** Members of a request's item except its salt, sorted by name. */
const REQUEST_NAMES = [
  ...(['type', 'payload', 'metadata', 'subject'] as const),
  ...(Object.keys(RECORD_MEMBERS) as MemberName[]),
].sort()

/**
 * Returns the rows of a batch's records. `subjects`: hashes of labels, one for each record. The hashes are copied into
 * a new buffer, because they are sent between threads and wait in the append queue. Without the copy, the 40 KiB of
 * 1,000 records would keep 768 KiB of memory in use.
 */
export function chunksOf(
  first: Uuid,
  actor: Uuid,
  records: readonly ChunkRecord[],
  subjects: readonly (Uint8Array | null)[],
): ChunkRow[] {
  const chunks: ChunkRow[] = []
  let keys = 0
  for (let start = 0; start < records.length; start += CHUNK_RECORDS) {
    const ofChunk = records.slice(start, start + CHUNK_RECORDS)
    chunks.push({
      chunk: chunks.length,
      firstRecordId: recordIdAt(first, start),
      count: ofChunk.length,
      content: ownCopy(encodeChunk(ofChunk)),
      keys: ownCopies([
        ...keysOfChunk(actor, ofChunk),
        ...ofChunk.flatMap((_, index) => {
          const subject = subjects[start + index]
          return subject ? [chunkKey.subject(subject, index)] : []
        }),
      ]),
    })
    keys += chunks.at(-1)!.keys.length
    if (keys > BATCH_KEYS_MAX) {
      const detail = `the records have more than ${BATCH_KEYS_MAX} different references, traces, parents, days and persons: send fewer records at a time`
      throw new ApiError('invalid_request', detail, { members: { path: '/records' } })
    }
  }
  return chunks
}
