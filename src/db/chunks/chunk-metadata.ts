import { type ChunkRecord, compressChunk, decompressChunk } from './chunk-content.ts'

/*
 * Metadata of a chunk's records. It stays in Postgres when the content moves to the archive, because the archive has
 * no metadata.
 *
 * For each record, in order, there is the length of its metadata (2 bytes, big-endian; 0: no metadata) and then the
 * metadata. All of this is compressed with zstd.
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
 * Returns the metadata of `count` records, in order; null: the record has no metadata. Throws ProofError
 * `chunk_syntax` or RangeError if `content` does not fit `count` records.
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
