import type { Uuid } from '../../proof/ids.ts'
import { PLAIN_CHUNK_BYTES_MAX, PLAIN_CHUNKS_BYTES_MAX } from '../limits.ts'
import { decompressChunk } from './chunk-content.ts'

type ChunkKey = { readonly ledgerId: Uuid; readonly seq: number; readonly chunk: number }
type Plain = { readonly content: Buffer; readonly plain: Buffer }

/**
 * Caches decompressed chunks. A chunk has 64 records, so the next pages of a list usually need the same chunk.
 *
 * The content is read from Postgres each time. A cached chunk is used only if it was made from the same content, byte
 * by byte. So the cache never shows records that the database has erased. In a profile of lists, decompression took
 * 80 µs a page.
 */
export class PlainChunks {
  /** The chunks, least recently used first. */
  readonly #chunks = new Map<string, Plain>()
  #bytes = 0

  /** Returns the decompressed `content` of a chunk. Throws ProofError `chunk_syntax`. */
  decompress({ ledgerId, seq, chunk }: ChunkKey, content: Buffer): Buffer {
    const key = `${ledgerId} ${seq} ${chunk}`
    const cached = this.#chunks.get(key)
    if (cached) this.#drop(key, cached)
    const plain = cached?.content.equals(content) ? cached.plain : decompressChunk(content)
    if (plain.length <= PLAIN_CHUNK_BYTES_MAX) this.#add(key, { content, plain })
    return plain
  }

  get bytes(): number {
    return this.#bytes
  }

  #add(key: string, one: Plain): void {
    this.#chunks.set(key, one)
    this.#bytes += bytesOf(one)
    for (const [oldest, old] of this.#chunks) {
      if (this.#bytes <= PLAIN_CHUNKS_BYTES_MAX) return
      this.#drop(oldest, old)
    }
  }

  #drop(key: string, one: Plain): void {
    this.#chunks.delete(key)
    this.#bytes -= bytesOf(one)
  }
}

function bytesOf({ content, plain }: Plain): number {
  return content.length + plain.length
}
