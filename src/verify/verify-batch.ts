import { CHUNK_RECORDS, type ChunkRecord, decodeChunk } from '../db/chunks/chunk-content.ts'
import { keysOfChunk } from '../db/chunks/chunk-keys.ts'
import { itemOf, payloadDigest, referencesDigest } from '../db/chunks/item.ts'
import type { ChunkColumns } from '../db/evidence/batch-chunks.ts'
import { compare } from '../db/evidence/compare.ts'
import { contradiction } from '../db/evidence/contradiction.ts'
import type { EntryColumns } from '../db/evidence/tables.ts'
import type { ProofProviders, Sha256 } from '../proof/crypto.ts'
import type { EntryLine } from '../proof/entry/entry-line.ts'
import { type ErasedDocument, stepOf } from '../proof/entry/entry-step.ts'
import { wordAt } from '../proof/entry/id-table.ts'
import {
  type FindKey,
  type VerifiedEntry,
  verifyRoot,
  verifySignedEntry,
  withSigner,
} from '../proof/entry/verify-entry.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, ID_BYTES, parseId, type Uuid, writeUuid } from '../proof/ids.ts'
import { itemBytes, itemLeaf } from '../proof/statement/batch.ts'
import { firstRecordId, formatRecordIds, recordIdAt } from '../proof/statement/batch-ids.ts'
import { isReferences, isTraceparent, isTypeName } from '../proof/statement/fields.ts'
import { OTHER_MEMBERS, type OtherMembers, type OtherName } from '../proof/statement/record-members.ts'
import type { ParsedStatement } from '../proof/statement/statement.ts'
import { toHex } from '../signing/text-of-bytes.ts'

/**
 * Verifies a batch's entry with the rows that store its records (docs/formats/chunks.md). These rows replace the items
 * and documents of the entry's line.
 *
 * Digests are computed from the stored bytes. If the stored bytes lead to the signed root, they are the signed bytes.
 * So no JSON has to be parsed.
 *
 * `contents`: the concatenated contents of the rows. Throws ProofError for every fault of the rows. A full batch has at
 * most 160 MiB when decompressed, so chunks are processed one by one.
 */
export function verifyStoredBatch(
  line: EntryLine,
  { chunks, chunkKeys }: Pick<EntryColumns, 'chunks' | 'chunkKeys'>,
  contents: Uint8Array,
  findKey: FindKey,
  providers: ProofProviders,
): VerifiedEntry {
  const { sha256 } = providers
  const { envelope, statement } = verifySignedEntry(line, withSigner(findKey, line, sha256), providers)
  verifyRows(line, chunks, statement)
  const found = new BatchFacts(sha256, chunks[0]!.firstRecordId, statement)
  let at = 0
  for (const [i, row] of chunks.entries()) {
    const records = decodeChunk(contents.subarray(at, at + row.contentBytes), row.count)
    found.add(row, records)
    verifyKeys(chunkKeys[i]?.chunk === i ? chunkKeys[i].keys : '', row, found.actor, records)
    at += row.contentBytes
  }
  if (chunkKeys.length !== chunks.length)
    throw contradiction(`batch_keys: keys of ${chunkKeys.length} chunks, but there are ${chunks.length}`)
  verifyRoot(sha256, found.leaves, statement)
  const step = stepOf(line, envelope, statement, { ...found.facts, received: null })
  return { step, envelope, statement, items: null }
}

/**
 * Verifies that the number of rows, and of records in each row, follows from the signed number of records. The line
 * must have neither documents nor a received entry.
 */
function verifyRows(line: EntryLine, rows: readonly ChunkColumns[], { predicate }: ParsedStatement): void {
  if (line.documents.length > 0 || line.received !== undefined)
    throw new ProofError(
      'document_presence',
      'the entry of a batch has a document or a received entry that belongs to none of the records',
    )
  const count = predicate['count'] as number
  const chunkCount = Math.ceil(count / CHUNK_RECORDS)
  if (rows.length !== chunkCount)
    throw contradiction(`batch_chunks: ${rows.length} rows of seq ${line.seq}, but ${chunkCount} were signed`)
  const first = firstRecordId(rows[0]!.firstRecordId)
  for (const [i, row] of rows.entries()) {
    const start = i * CHUNK_RECORDS
    compare('batch_chunks', 'chunk', row.chunk, i)
    compare('batch_chunks', 'count', row.count, Math.min(CHUNK_RECORDS, count - start))
    compare('batch_chunks', 'first_record_id', row.firstRecordId, recordIdAt(first, start))
  }
}

/** Verifies the keys by which searches find the chunk. */
function verifyKeys(
  keys: string,
  { chunk }: ChunkColumns,
  actor: Uuid,
  records: readonly ChunkRecord[],
): void {
  const expected = keysOfChunk(actor, records).map(toHex).sort().join(' ')
  const signed = keys.split(' ').filter((key) => !isOfPerson(key, records))
  if (signed.join(' ') !== expected)
    throw contradiction(`batch_keys: the keys do not match the content of chunk ${chunk}`)
}

/**
 * Returns whether a key of a chunk is the label of a person whom a record of the chunk is about. The key names the
 * record, which must exist and not be erased. The label itself is not compared, because labels are unsigned, like
 * metadata.
 */
function isOfPerson(key: string, records: readonly ChunkRecord[]): boolean {
  if (key.length !== PERSON_KEY_HEX || !key.startsWith(PERSON_KEY_START)) return false
  const record = records[Number.parseInt(key.slice(-2), 16)]
  return record !== undefined && record.document.erasedSeq === undefined
}

const PERSON_KEY_START = '53'
const PERSON_KEY_HEX = 36

/**
 * Collects the facts about the records that the verification of the entry needs. They take 84 bytes for each record.
 */
class BatchFacts {
  readonly actor: Uuid
  readonly leaves: Uint8Array[] = []
  readonly #sha256: Sha256
  readonly #ids: readonly string[]
  readonly #first: Uuid
  readonly #recordIds: Uint8Array
  readonly #digestWords: Uint32Array
  readonly #types = new Set<string>()
  readonly #agents = new Map<Uuid, string>()
  readonly #traceparents = new Set<string>()
  readonly #erased: ErasedDocument[] = []

  constructor(sha256: Sha256, first: Uuid, { actor, predicate }: ParsedStatement) {
    const count = predicate['count'] as number
    this.actor = parseId('agt', actor)
    this.#sha256 = sha256
    this.#first = first
    this.#ids = formatRecordIds(first, count)
    this.#recordIds = new Uint8Array(count * ID_BYTES)
    this.#digestWords = new Uint32Array(count)
  }

  get facts() {
    return {
      actedFor: this.#agents.values(),
      types: this.#types,
      recordIds: this.#recordIds,
      digestWords: this.#digestWords,
      erased: this.#erased,
    }
  }

  /** Adds the records of the next chunk. Throws `batch_item` for a record that no valid item could describe. */
  add({ erasedSeq }: ChunkColumns, records: readonly ChunkRecord[]): void {
    const erasedBefore = this.#erased.length
    for (const record of records) this.#addRecord(record)
    const seqs = this.#erased.slice(erasedBefore).map(({ erasedBy }) => erasedBy)
    if (erasedSeq === null ? seqs.length > 0 : !seqs.includes(erasedSeq))
      throw contradiction(
        `batch_chunks.erased_seq is ${erasedSeq}, and records of the chunk are erased by ${seqs.join(', ') || 'none'}`,
      )
  }

  #addRecord(record: ChunkRecord): void {
    this.#verifyMembers(record)
    const index = this.leaves.length
    const digest = payloadDigest(this.#sha256, record)
    const references = referencesDigest(this.#sha256, record)
    const item = itemOf(
      this.#ids[index]!,
      record,
      { digest: toHex(digest), references: references && toHex(references) },
      (agent) => this.#agentOf(agent),
    )
    this.leaves.push(itemLeaf(this.#sha256, itemBytes(item)))
    writeUuid(this.#recordIds, index * ID_BYTES, recordIdAt(this.#first, index))
    this.#digestWords[index] = wordAt(digest, 0)
    const { erasedSeq } = record.document
    if (erasedSeq !== undefined)
      this.#erased.push({ subject: item.record, sha256: item.digest, erasedBy: erasedSeq })
  }

  /** Verifies the members of a record. Each distinct type and trace is checked once. */
  #verifyMembers({ type, occurredAtMs, traceparent, otherMembers, document }: ChunkRecord): void {
    if (!this.#types.has(type) && !isTypeName(type)) throw refused('type')
    this.#types.add(type)
    if (occurredAtMs !== null && (occurredAtMs < YEAR_0 || occurredAtMs >= YEAR_10000))
      throw refused('occurredAt')
    if (document.erasedSeq === undefined && document.references !== null)
      verifyReferences(document.references)
    if (otherMembers !== null) verifyOthers(otherMembers)
    if (traceparent === null || this.#traceparents.has(traceparent)) return
    if (!isTraceparent(traceparent)) throw refused('traceparent')
    this.#traceparents.add(traceparent)
  }

  #agentOf(id: Uuid): string {
    const known = this.#agents.get(id)
    if (known !== undefined) return known
    const agent = formatId('agt', id)
    this.#agents.set(id, agent)
    return agent
  }
}

/** Throws if the bytes are not valid references. Searches find the record by its references. */
function verifyReferences(bytes: Uint8Array): void {
  try {
    if (isReferences(JSON.parse(Buffer.from(bytes).toString('utf8')))) return
  } catch {}
  throw refused('references')
}

/** Throws if a member is unknown or has a wrong form. */
function verifyOthers(members: OtherMembers): void {
  for (const [name, text] of Object.entries(members) as [OtherName, string][])
    if (!OTHERS.get(name)?.test(text)) throw refused(name)
}

const OTHERS = new Map(OTHER_MEMBERS.map(([name, { pattern }]) => [name, pattern]))

const YEAR_0 = Date.parse('0000-01-01T00:00:00.000Z')
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1

function refused(member: string): ProofError {
  return new ProofError('batch_item', `${member} of a stored record does not have the required form`)
}
