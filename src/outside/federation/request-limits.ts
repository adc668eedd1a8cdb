import {
  PEER_ENTRIES_SENT_MAX,
  PEER_REQUEST_ENTRY_BYTES_MAX,
  PEER_REQUEST_ENTRY_BYTES_MIN,
} from './limits.ts'
import type { RequestMax } from './outbox.ts'

export type Refusal = 'size' | 'contents'

/**
 * Computes the size limits of the next request to a peer. If a request was refused for its size, later requests have
 * half the bytes for a while. If a request was refused for its content, the number of entries is halved until the
 * refused entry is found. Does no I/O.
 */
export class RequestLimits {
  #bytes: number
  /** Number of next entries among which at least one is known to be refused. 0 if no entry is known to be refused. */
  #suspects = 0

  /** `bytes`: the limit in bytes that is stored for the peering. null if no limit is stored. */
  constructor(bytes: number | null) {
    this.#bytes = Math.min(bytes ?? PEER_REQUEST_ENTRY_BYTES_MAX, PEER_REQUEST_ENTRY_BYTES_MAX)
  }

  get max(): RequestMax {
    const entries = this.isSearching ? Math.max(1, Math.floor(this.#suspects / 2)) : PEER_ENTRIES_SENT_MAX
    return { entries, bytes: this.#bytes }
  }

  /** True while a refused entry is being searched for. Only one request is under way then. */
  get isSearching(): boolean {
    return this.#suspects > 0
  }

  /** Limit in bytes to store for the peering. null if the limit is the default. */
  get learnt(): number | null {
    return this.#bytes < PEER_REQUEST_ENTRY_BYTES_MAX ? this.#bytes : null
  }

  /**
   * Lowers the limits after a refusal. Returns false if the request had a single entry, because then nothing smaller
   * can be sent.
   */
  refuse(refusal: Refusal, { entries, bytes }: RequestMax): boolean {
    if (entries <= 1) return false
    if (refusal === 'contents') this.#suspects = entries
    else this.shrink(bytes)
    return true
  }

  /** Halves the limit, once or more, until it is below `bytes`. */
  shrink(bytes: number): void {
    while (this.#bytes >= bytes) this.#bytes = Math.floor(this.#bytes / 2)
    this.#bytes = Math.max(this.#bytes, PEER_REQUEST_ENTRY_BYTES_MIN)
  }

  /** Must be called when the next `entries` entries are settled. */
  settle(entries: number): void {
    this.#suspects = Math.max(0, this.#suspects - entries)
  }

  grow(): void {
    this.#bytes = Math.min(PEER_REQUEST_ENTRY_BYTES_MAX, this.#bytes * 2)
  }
}
