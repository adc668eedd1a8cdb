import * as zlib from 'node:zlib'
import { ProofError } from '../../proof/error.ts'
import { ID_BYTES, type Uuid, uuidOfBytes, writeUuid } from '../../proof/ids.ts'
import { CHUNK_CONTENT_BYTES_MAX } from '../limits.ts'

/*
 * Content of a row of batch_chunks (docs/formats/chunks.md): what the batch's entry and the ids do not say of up to 64 records, one
 * after another, compressed with zstd.
 *
 *   record     = flags (1) ‖ type ‖ document ‖ occurredAt (8)? ‖ onBehalfOf (16)? ‖ parent (16)? ‖ traceparent (25)?
 *                ‖ references? ‖ metadata?
 *   type       = length (1) ‖ UTF-8
 *   document   = salt (16) ‖ length (4) ‖ payload
 *              | digest (32) ‖ seq (8)                where it is erased: by the entry at seq
 *   references = length (2) ‖ list                    | digest (32) where the payload is erased
 *   metadata   = length (2) ‖ object
 *
 * Payload, list and metadata are canonical JSON. Numbers are big-endian; occurredAt is signed milliseconds since the epoch.
 */

export const CHUNK_RECORDS = 64

const SALT_BYTES = 16
const DIGEST_BYTES = 32
/** W3C trace context, version 00: trace-id, parent-id, flags. */
const TRACE_BYTES = 25

const ERASED = 1
const OCCURRED = 2
const ON_BEHALF_OF = 4
const PARENT = 8
const TRACED = 16
const REFERENCES = 32
const METADATA = 64

/** A record as its chunk holds it. Bytes are canonical JSON. */
export type ChunkRecord = {
  readonly type: string
  readonly document: ChunkDocument | ErasedDocument
  /** Milliseconds since the epoch. */
  readonly occurredAtMs: number | null
  readonly onBehalfOf: Uuid | null
  readonly parentId: Uuid | null
  readonly traceparent: string | null
}

export type ChunkDocument = {
  readonly salt: Uint8Array
  readonly payload: Uint8Array
  readonly references: Uint8Array | null
  readonly metadata: Uint8Array | null
  readonly erasedSeq?: never
}

/** Digests remain of an erased payload, because without it they can't be derived. */
export type ErasedDocument = {
  readonly digest: Uint8Array
  readonly referencesDigest: Uint8Array | null
  readonly erasedSeq: number
}

/*
 * Level 1. 64 records of 400 bytes: 104 bytes a record and 1.3 us; level 3 103 and 1.4; level -1 103 and 1.8. Salts apart from
 * payloads bring one byte. Decompressing takes 40 us a chunk.
 */
const COMPRESSION = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }
/** Node has it from 22.15 on, and the command line runs on 20 too. */
export const HAS_ZSTD = 'zstdDecompressSync' in zlib
/** `info`: says how much of the input was read, because what stands behind the frame is passed over otherwise. */
const DECOMPRESSION = { maxOutputLength: CHUNK_CONTENT_BYTES_MAX, info: true }
type Decompressed = { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } }

export function encodeChunk(records: readonly ChunkRecord[]): Buffer {
  return compressChunk(encodePlain(records))
}

/**
 * One frame. Node writes an empty second one where the first fills its buffer to the last byte (issue 66078 of Node's and its like), so the
 * buffer is larger than a frame can be.
 */
export function compressChunk(plain: Uint8Array): Buffer {
  return zlib.zstdCompressSync(plain, { ...COMPRESSION, chunkSize: frameBytesMax(plain.length) + 1 })
}

/** ZSTD_compressBound (zstd.h) of an input of so many bytes, which is below 128 KiB the larger by up to 64. */
function frameBytesMax(bytes: number): number {
  const SMALL = 128 * 1_024
  return bytes + (bytes >> 8) + (bytes < SMALL ? (SMALL - bytes) >> 11 : 0)
}

/** Bytes of encodeChunk before compression: equal where the records are. */
export function encodePlain(records: readonly ChunkRecord[]): Buffer {
  const types = records.map(({ type }) => Buffer.from(type))
  let size = 0
  for (const [i, record] of records.entries()) size += sizeOf(record, types[i]!)
  const plain = Buffer.allocUnsafe(size)
  let at = 0
  for (const [i, record] of records.entries()) at = writeRecord(plain, at, record, types[i]!)
  return plain
}

function sizeOf({ document, ...record }: ChunkRecord, type: Uint8Array): number {
  let size = 2 + type.length
  if (record.occurredAtMs !== null) size += 8
  if (record.onBehalfOf !== null) size += ID_BYTES
  if (record.parentId !== null) size += ID_BYTES
  if (record.traceparent !== null) size += TRACE_BYTES
  if (document.erasedSeq !== undefined)
    return size + DIGEST_BYTES + 8 + (document.referencesDigest === null ? 0 : DIGEST_BYTES)
  size += SALT_BYTES + 4 + document.payload.length
  if (document.references !== null) size += 2 + document.references.length
  if (document.metadata !== null) size += 2 + document.metadata.length
  return size
}

function writeRecord(plain: Buffer, start: number, record: ChunkRecord, type: Uint8Array): number {
  const { document, occurredAtMs, onBehalfOf, parentId, traceparent } = record
  const isErased = document.erasedSeq !== undefined
  const hasReferences = (isErased ? document.referencesDigest : document.references) !== null
  const hasMetadata = !isErased && document.metadata !== null
  plain[start] =
    (isErased ? ERASED : 0) |
    (occurredAtMs === null ? 0 : OCCURRED) |
    (onBehalfOf === null ? 0 : ON_BEHALF_OF) |
    (parentId === null ? 0 : PARENT) |
    (traceparent === null ? 0 : TRACED) |
    (hasReferences ? REFERENCES : 0) |
    (hasMetadata ? METADATA : 0)
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
  if (occurredAtMs !== null) at = plain.writeBigInt64BE(BigInt(occurredAtMs), at)
  if (onBehalfOf !== null) at = writeId(plain, at, onBehalfOf)
  if (parentId !== null) at = writeId(plain, at, parentId)
  if (traceparent !== null) at = writeTraceparent(plain, at, traceparent)
  if (isErased) return hasReferences ? writeBytes(plain, at, document.referencesDigest!) : at
  for (const bytes of [document.references, document.metadata]) {
    if (bytes === null) continue
    at = plain.writeUInt16BE(bytes.length, at)
    at = writeBytes(plain, at, bytes)
  }
  return at
}

function writeBytes(plain: Buffer, at: number, bytes: Uint8Array): number {
  plain.set(bytes, at)
  return at + bytes.length
}

function writeId(plain: Buffer, at: number, id: Uuid): number {
  writeUuid(plain, at, id)
  return at + ID_BYTES
}

/** `00-<32 hex>-<16 hex>-<2 hex>`. */
function writeTraceparent(plain: Buffer, at: number, text: string): number {
  plain.write(text.slice(3, 35) + text.slice(36, 52) + text.slice(53, 55), at, 'hex')
  return at + TRACE_BYTES
}

/**
 * The records of a chunk, which are views of one buffer. Throws `chunk_syntax` unless `content` is one frame of just `count` records.
 */
export function decodeChunk(content: Uint8Array, count: number): ChunkRecord[] {
  const reader = new Reader(decompressChunk(content))
  const records = Array.from({ length: count }, () => readRecord(reader))
  if (!reader.isAtEnd) throw refused('bytes after its last record')
  return records
}

/** Throws `chunk_syntax` unless `content` is one frame of at most CHUNK_CONTENT_BYTES_MAX bytes. */
export function decompressChunk(content: Uint8Array): Buffer {
  const { buffer, engine } = decompressFrame(content)
  if (engine.bytesWritten !== content.length) throw refused('bytes after its compressed frame')
  return buffer
}

function decompressFrame(content: Uint8Array): Decompressed {
  try {
    return zlib.zstdDecompressSync(content, DECOMPRESSION) as unknown as Decompressed
  } catch (error) {
    throw refused((error as Error).message)
  }
}

function readRecord(reader: Reader): ChunkRecord {
  const flags = reader.byte()
  const isErased = (flags & ERASED) !== 0
  if (flags > 127 || (isErased && (flags & METADATA) !== 0)) throw refused(`flags ${flags}`)
  const type = reader.text(reader.byte())
  const digest = isErased ? reader.bytes(DIGEST_BYTES) : null
  const erasedSeq = isErased ? reader.integer() : 0
  const salt = isErased ? null : reader.bytes(SALT_BYTES)
  const payload = isErased ? null : reader.bytes(reader.uint(4))
  const origin = {
    type,
    occurredAtMs: flags & OCCURRED ? reader.integer() : null,
    onBehalfOf: flags & ON_BEHALF_OF ? uuidOfBytes(reader.bytes(ID_BYTES)) : null,
    parentId: flags & PARENT ? uuidOfBytes(reader.bytes(ID_BYTES)) : null,
    traceparent: flags & TRACED ? reader.traceparent() : null,
  }
  if (digest !== null) {
    const referencesDigest = flags & REFERENCES ? reader.bytes(DIGEST_BYTES) : null
    return { ...origin, document: { digest, referencesDigest, erasedSeq } }
  }
  const references = flags & REFERENCES ? reader.bytes(reader.uint(2)) : null
  const metadata = flags & METADATA ? reader.bytes(reader.uint(2)) : null
  return { ...origin, document: { salt: salt!, payload: payload!, references, metadata } }
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

  /** A time or a seq. */
  integer(): number {
    const value = Number(this.#plain.readBigInt64BE(this.#take(8)))
    if (!Number.isSafeInteger(value)) throw refused('an integer that is too large')
    return value
  }

  bytes(length: number): Buffer {
    const start = this.#take(length)
    return this.#plain.subarray(start, start + length)
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
  return new ProofError('chunk_syntax', `a chunk of a batch is not as it was stored: ${why}`)
}
