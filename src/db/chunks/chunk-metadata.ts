import { type ChunkRecord, compressChunk, decompressChunk } from './chunk-content.ts'

/*
 * Encodes the metadata of a chunk's records. The metadata stays in Postgres when the content moves to the archive,
 * because the archive has no metadata.
 *
 * Each record has a length (2 bytes, big-endian), followed by its metadata. The length is 0 if the record has no
 * metadata. The lengths and metadata of all records, in order, are compressed with zstd.
 */

const LENGTH_BYTES = 2

/** Encodes the metadata of the records. Returns null if no record has metadata. */
export function encodeMetadata(records: readonly ChunkRecord[]): Buffer | null {
  const metadata = records.map(({ document }) =>
    document.erasedSeq === undefined ? document.metadata : null,
  )
  if (metadata.every((one) => one === null)) return null
  const parts = metadata.flatMap((one) => {
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt16BE(one?.length ?? 0)
    return one === null ? [length] : [length, one]
  })
  return compressChunk(Buffer.concat(parts))
}

/**
 * Returns the metadata of `count` records, in order. The result has null for a record without metadata. Throws
 * ProofError `chunk_syntax` or RangeError if `content` does not fit `count` records.
 */
export function decodeMetadata(content: Uint8Array, count: number): (Buffer | null)[] {
  const plain = decompressChunk(content)
  let at = 0
  const found = Array.from({ length: count }, () => {
    const start = at + LENGTH_BYTES
    at = start + plain.readUInt16BE(at)
    return at === start ? null : plain.subarray(start, at)
  })
  if (at !== plain.length) throw new RangeError('the metadata of a chunk do not match its records')
  return found
}
