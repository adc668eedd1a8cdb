import * as zlib from 'node:zlib'
import { ProofError } from '../../proof/error.ts'
import { ID_BYTES, type Uuid, uuidOfBytes, writeUuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import {
  type MemberColumns,
  type OtherMembers,
  STORED_MEMBERS,
} from '../../proof/statement/record-members.ts'
import { CHUNK_CONTENT_BYTES_MAX } from '../limits.ts'

/*
 * Encodes the content of a row of batch_chunks (docs/formats/chunks.md): up to 64 records of a batch, one after
 * another, compressed with zstd. The content has only what the batch's entry and the record ids lack.
 *
 *     record     = flags (1) ‖ type ‖ document ‖ occurredAt (8)? ‖ onBehalfOf (16)? ‖ parent (16)? ‖ traceparent (25)?
 *                  ‖ others? ‖ references? ‖ metadata?
 *     type       = length (1) ‖ UTF-8
 *     document   = salt (16) ‖ length (4) ‖ payload
 *                | digest (32) ‖ seq (8)                if erased: seq of the erasing entry
 *     others     = length (2) ‖ object                  other optional members, as signed
 *     references = length (2) ‖ list                    | digest (32) if the payload is erased
 *     metadata   = length (2) ‖ object
 *
 * Payload, objects and list are canonical JSON. Numbers are big-endian. occurredAt is a signed number of milliseconds
 * since 1970.
 */

export const CHUNK_RECORDS = 64

const SALT_BYTES = 16
const DIGEST_BYTES = 32
/** Length in bytes of a W3C trace context of version 00: trace-id, parent-id, flags. */
const TRACE_BYTES = 25

/* The flags 0x02 to 0x10 are defined in the table of members (src/proof/statement/record-members.ts). */
const ERASED = 0x01
const REFERENCES = 0x20
const METADATA = 0x40
const OTHERS = 0x80

/** A record as stored in its chunk. Members that contain bytes are canonical JSON. */
export type ChunkRecord = MemberColumns & {
  readonly type: string
  readonly document: ChunkDocument | ErasedDocument
}

export type ChunkDocument = {
  readonly salt: Uint8Array
  readonly payload: Uint8Array
  readonly references: Uint8Array | null
  readonly metadata: Uint8Array | null
  readonly erasedSeq?: never
}

/** Digests that remain after an erasure. They are stored because they can no longer be computed without the payload. */
export type ErasedDocument = {
  readonly digest: Uint8Array
  readonly referencesDigest: Uint8Array | null
  readonly erasedSeq: number
}

/*
 * Level 1 is the fastest of three measured levels. A record in a chunk of 64 records with 400 bytes each then takes 104
 * bytes and 1.3 µs. Level 3 takes 103 bytes and 1.4 µs. Level -1 takes 103 bytes and 1.8 µs.
 *
 * Storing salts apart from payloads would save only one of these bytes. Decompression takes 40 µs per chunk.
 */
const COMPRESSION = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }
/** True if Node has zstd. Node before 22.15 lacks it, and the command line also runs on Node 20. */
export const HAS_ZSTD = 'zstdDecompressSync' in zlib
/**
 * With `info`, Node also returns how much of the input was read. This reveals bytes after the frame, which Node
 * otherwise ignores.
 */
const DECOMPRESSION = { maxOutputLength: CHUNK_CONTENT_BYTES_MAX, info: true }
type Decompressed = { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } }

export function encodeChunk(records: readonly ChunkRecord[]): Buffer {
  return compressChunk(encodePlain(records))
}

/**
 * Compresses the bytes into one frame, and decompresses the frame again as a check. Throws `chunk_syntax` if the result
 * differs.
 *
 * If the first frame fills Node's buffer to the last byte, Node writes an empty second frame (Node's issue 66078 and
 * similar issues). So the buffer is larger than any frame. The check takes 0.3 µs per record. Without it, a chunk that
 * cannot be read would be stored, and the records that its batch's entry signs would be lost.
 */
export function compressChunk(plain: Uint8Array): Buffer {
  const content = zlib.zstdCompressSync(plain, { ...COMPRESSION, chunkSize: frameBytesMax(plain.length) + 1 })
  const { buffer, engine } = decompressFrame(content, plain.length + 64)
  if (engine.bytesWritten !== content.length || !buffer.equals(plain))
    throw refused('its compressed frame decompresses to other bytes')
  return content
}

/** Returns the value of ZSTD_compressBound (zstd.h) for this input size. Below 128 KiB, zstd adds up to 64 bytes. */
function frameBytesMax(bytes: number): number {
  const SMALL = 128 * 1_024
  return bytes + (bytes >> 8) + (bytes < SMALL ? (SMALL - bytes) >> 11 : 0)
}

/** Returns the bytes that encodeChunk compresses. Equal records give equal bytes. */
export function encodePlain(records: readonly ChunkRecord[]): Buffer {
  const types = records.map(({ type }) => Buffer.from(type))
  const others = records.map(({ otherMembers }) => otherMembers && Buffer.from(canonicalize(otherMembers)))
  let size = 0
  for (const [i, record] of records.entries()) size += sizeOf(record, types[i]!, others[i]!)
  const plain = Buffer.allocUnsafe(size)
  let at = 0
  for (const [i, record] of records.entries()) at = writeRecord(plain, at, record, types[i]!, others[i]!)
  return plain
}

function sizeOf(record: ChunkRecord, type: Uint8Array, others: Uint8Array | null): number {
  const { document } = record
  let size = 2 + type.length
  for (const { row, as } of STORED_MEMBERS) if (record[row] !== null) size += CODECS[as].bytes
  if (others !== null) size += 2 + others.length
  if (document.erasedSeq !== undefined)
    return size + DIGEST_BYTES + 8 + (document.referencesDigest === null ? 0 : DIGEST_BYTES)
  size += SALT_BYTES + 4 + document.payload.length
  if (document.references !== null) size += 2 + document.references.length
  if (document.metadata !== null) size += 2 + document.metadata.length
  return size
}

function writeRecord(
  plain: Buffer,
  start: number,
  record: ChunkRecord,
  type: Uint8Array,
  others: Uint8Array | null,
): number {
  const { document } = record
  const isErased = document.erasedSeq !== undefined
  const hasReferences = (isErased ? document.referencesDigest : document.references) !== null
  const hasMetadata = !isErased && document.metadata !== null
  let flags =
    (isErased ? ERASED : 0) |
    (hasReferences ? REFERENCES : 0) |
    (hasMetadata ? METADATA : 0) |
    (others ? OTHERS : 0)
  plain[start + 1] = type.length
  let at = writeBytes(plain, start + 2, type)
  if (isErased) {
    at = writeBytes(plain, at, document.digest)
    at = plain.writeBigInt64BE(BigInt(document.erasedSeq), at)
  } else {
    at = writeBytes(plain, at, document.salt)
    at = plain.writeUInt32BE(document.payload.length, at)
    at = writeBytes(plain, at, document.payload)
  }
  for (const { row, as, flag } of STORED_MEMBERS) {
    const value = record[row]
    if (value === null) continue
    flags |= flag
    CODECS[as].write(plain, at, value as never)
    at += CODECS[as].bytes
  }
  plain[start] = flags
  if (others !== null) at = writeLong(plain, at, others)
  if (isErased) return hasReferences ? writeBytes(plain, at, document.referencesDigest!) : at
  if (document.references !== null) at = writeLong(plain, at, document.references)
  return document.metadata === null ? at : writeLong(plain, at, document.metadata)
}

function writeLong(plain: Buffer, at: number, bytes: Uint8Array): number {
  return writeBytes(plain, plain.writeUInt16BE(bytes.length, at), bytes)
}

function writeBytes(plain: Buffer, at: number, bytes: Uint8Array): number {
  plain.set(bytes, at)
  return at + bytes.length
}

type MemberCodec<T> = {
  readonly bytes: number
  write(plain: Buffer, at: number, value: T): unknown
  read(reader: Reader): T
}

const ID: MemberCodec<Uuid> = {
  bytes: ID_BYTES,
  write: writeUuid,
  read: (reader) => uuidOfBytes(reader.bytes(ID_BYTES)),
}

/** Maps the type of a stored member (src/proof/statement/record-members.ts) to the codec of its values. */
const CODECS = {
  agent: ID,
  record: ID,
  time: {
    bytes: 8,
    write: (plain: Buffer, at: number, ms: number) => plain.writeBigInt64BE(BigInt(ms), at),
    read: (reader: Reader) => reader.integer(),
  },
  /** The text has the form `00-<32 hex>-<16 hex>-<2 hex>`. */
  trace: {
    bytes: TRACE_BYTES,
    write: (plain: Buffer, at: number, text: string) =>
      plain.write(text.slice(3, 35) + text.slice(36, 52) + text.slice(53, 55), at, 'hex'),
    read: (reader: Reader) => reader.traceparent(),
  },
}

/**
 * Returns the chunk's records, which share one buffer. Throws `chunk_syntax` unless `content` is one frame of exactly
 * `count` records.
 */
export function decodeChunk(content: Uint8Array, count: number): ChunkRecord[] {
  return decodePlain(decompressChunk(content), count, () => true) as ChunkRecord[]
}

/**
 * Returns the records of a decompressed chunk, and null for each unwanted record. Unwanted records are skipped by their
 * lengths. Throws `chunk_syntax` unless `plain` has exactly `count` records.
 */
export function decodePlain(
  plain: Buffer,
  count: number,
  isWanted: (index: number) => boolean,
): (ChunkRecord | null)[] {
  const reader = new Reader(plain)
  const records = Array.from({ length: count }, (_, i) =>
    isWanted(i) ? readRecord(reader) : skipRecord(reader),
  )
  if (!reader.isAtEnd) throw refused('bytes after its last record')
  return records
}

/**
 * Decompresses a chunk. Throws `chunk_syntax` unless `content` is one frame of at most CHUNK_CONTENT_BYTES_MAX bytes.
 */
export function decompressChunk(content: Uint8Array): Buffer {
  const bytes = plainBytesOf(content)
  const { buffer, engine } = decompressFrame(content, bytes === null ? undefined : bytes + 64)
  if (engine.bytesWritten !== content.length) throw refused('bytes after its compressed frame')
  return buffer
}

/**
 * Returns the length of the decompressed content that the frame's header states (RFC 8878 §3.1.1.1). The stated length
 * may be wrong. Returns null if the header states no length, or a length that no chunk may have.
 */
function plainBytesOf(content: Uint8Array): number | null {
  const descriptor = content[4] ?? 0
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  const at = 5 + (isSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3]!
  const view = Buffer.from(content.buffer, content.byteOffset, content.length)
  if (at + 4 > view.length || sizeFlag === 3 || (sizeFlag === 0 && !isSingleSegment)) return null
  const bytes =
    sizeFlag === 0 ? view[at]! : sizeFlag === 1 ? view.readUInt16LE(at) + 256 : view.readUInt32LE(at)
  return bytes <= CHUNK_CONTENT_BYTES_MAX ? bytes : null
}

const DICTIONARY_ID_BYTES = [0, 1, 2, 4]

/** Decompresses one frame. If `chunkSize` is larger than the result, Node does not have to join several buffers. */
function decompressFrame(content: Uint8Array, chunkSize?: number): Decompressed {
  try {
    const options = chunkSize === undefined ? DECOMPRESSION : { ...DECOMPRESSION, chunkSize }
    return zlib.zstdDecompressSync(content, options) as unknown as Decompressed
  } catch (error) {
    throw refused((error as Error).message)
  }
}

function readRecord(reader: Reader): ChunkRecord {
  const flags = reader.byte()
  const isErased = (flags & ERASED) !== 0
  if (isErased && (flags & METADATA) !== 0) throw refused(`flags ${flags}`)
  const type = reader.text(reader.byte())
  const digest = isErased ? reader.bytes(DIGEST_BYTES) : null
  const erasedSeq = isErased ? reader.integer() : 0
  const salt = isErased ? null : reader.bytes(SALT_BYTES)
  const payload = isErased ? null : reader.bytes(reader.uint(4))
  const record: Record<string, unknown> = { type }
  for (const { row, as, flag } of STORED_MEMBERS) record[row] = flags & flag ? CODECS[as].read(reader) : null
  record['otherMembers'] = flags & OTHERS ? readOthers(reader) : null
  record['document'] =
    digest === null
      ? readDocument(reader, flags, salt!, payload!)
      : readErased(reader, flags, digest, erasedSeq)
  return record as ChunkRecord
}

/** Moves the reader behind a record. Members are skipped in the order in which readRecord reads them. */
function skipRecord(reader: Reader): null {
  const flags = reader.byte()
  const isErased = (flags & ERASED) !== 0
  if (isErased && (flags & METADATA) !== 0) throw refused(`flags ${flags}`)
  reader.skip(reader.byte())
  reader.skip(isErased ? DIGEST_BYTES + 8 : SALT_BYTES)
  if (!isErased) reader.skip(reader.uint(4))
  for (const { as, flag } of STORED_MEMBERS) if (flags & flag) reader.skip(CODECS[as].bytes)
  if (flags & OTHERS) reader.skip(reader.uint(2))
  if (flags & REFERENCES) reader.skip(isErased ? DIGEST_BYTES : reader.uint(2))
  if (flags & METADATA) reader.skip(reader.uint(2))
  return null
}

function readDocument(reader: Reader, flags: number, salt: Uint8Array, payload: Uint8Array): ChunkDocument {
  const references = flags & REFERENCES ? reader.bytes(reader.uint(2)) : null
  const metadata = flags & METADATA ? reader.bytes(reader.uint(2)) : null
  return { salt, payload, references, metadata }
}

function readErased(reader: Reader, flags: number, digest: Uint8Array, erasedSeq: number): ErasedDocument {
  return { digest, referencesDigest: flags & REFERENCES ? reader.bytes(DIGEST_BYTES) : null, erasedSeq }
}

/**
 * Reads the other optional members and checks only their form. Their values are checked with the item (`batch_item`).
 */
function readOthers(reader: Reader): OtherMembers {
  const text = reader.text(reader.uint(2))
  let members: unknown
  try {
    members = JSON.parse(text)
  } catch {}
  if (
    typeof members !== 'object' ||
    members === null ||
    Object.keys(members).length === 0 ||
    Object.values(members).some((value) => typeof value !== 'string') ||
    canonicalize(members as JsonValue) !== text
  )
    throw refused('other members are not a canonical object of texts')
  return members as OtherMembers
}

class Reader {
  readonly #plain: Buffer
  #at = 0

  constructor(plain: Buffer) {
    this.#plain = plain
  }

  get isAtEnd(): boolean {
    return this.#at === this.#plain.length
  }

  byte(): number {
    return this.uint(1)
  }

  uint(length: 1 | 2 | 4): number {
    return this.#plain.readUIntBE(this.#take(length), length)
  }

  integer(): number {
    const value = Number(this.#plain.readBigInt64BE(this.#take(8)))
    if (!Number.isSafeInteger(value)) throw refused('an integer that is too large')
    return value
  }

  bytes(length: number): Buffer {
    const start = this.#take(length)
    return this.#plain.subarray(start, start + length)
  }

  skip(length: number): void {
    this.#take(length)
  }

  text(length: number): string {
    return this.bytes(length).toString('utf8')
  }

  traceparent(): string {
    const hex = this.bytes(TRACE_BYTES).toString('hex')
    return `00-${hex.slice(0, 32)}-${hex.slice(32, 48)}-${hex.slice(48)}`
  }

  #take(length: number): number {
    const start = this.#at
    if (start + length > this.#plain.length) throw refused('it ends within a record')
    this.#at = start + length
    return start
  }
}

function refused(why: string): ProofError {
  return new ProofError('chunk_syntax', `a chunk of a batch differs from how it was stored: ${why}`)
}
