import {
  PEER_ENTRIES_SENT_MAX,
  PEER_REQUEST_ENTRY_BYTES_MAX,
  PEER_REQUEST_ENTRY_BYTES_MIN,
} from './limits.ts'
import type { RequestMax } from './outbox.ts'

export type Refusal = 'size' | 'contents'

/**
 * How much the next request to a peer holds. A request that is refused by its size is followed by one of half the bytes, and by no
 * larger one for a while. One that is refused for what it says is halved until the one entry is found. Pure.
 */
export class RequestLimits {
  #bytes: number
  /** The next so many entries hold at least one that was refused; 0: none is known. */
  #suspects = 0

  /** `bytes`: learnt before; null: nothing was. */
  constructor(bytes: number | null) {
    this.#bytes = Math.min(bytes ?? PEER_REQUEST_ENTRY_BYTES_MAX, PEER_REQUEST_ENTRY_BYTES_MAX)
  }

  get max(): RequestMax {
    const entries = this.isSearching ? Math.max(1, Math.floor(this.#suspects / 2)) : PEER_ENTRIES_SENT_MAX
    return { entries, bytes: this.#bytes }
  }

  /** While an entry is searched there is one request under way. */
  get isSearching(): boolean {
    return this.#suspects > 0
  }

  /** Bytes to store for the peering; null: the limit is the usual one. */
  get learnt(): number | null {
    return this.#bytes < PEER_REQUEST_ENTRY_BYTES_MAX ? this.#bytes : null
  }

  /** Takes a refusal of a request that held so much. Returns false where that was a single entry: nothing smaller can be sent. */
  refuse(refusal: Refusal, { entries, bytes }: RequestMax): boolean {
    if (entries <= 1) return false
    if (refusal === 'contents') this.#suspects = entries
    else this.shrink(bytes)
    return true
  }

  /** Halves from the limit down, so that a limit that was tried in vain is left for the one before it. */
  shrink(bytes: number): void {
    while (this.#bytes >= bytes) this.#bytes = Math.floor(this.#bytes / 2)
    this.#bytes = Math.max(this.#bytes, PEER_REQUEST_ENTRY_BYTES_MIN)
  }

  /** Takes that so many entries were dealt with, from the first on. */
  settle(entries: number): void {
    this.#suspects = Math.max(0, this.#suspects - entries)
  }

  grow(): void {
    this.#bytes = Math.min(PEER_REQUEST_ENTRY_BYTES_MAX, this.#bytes * 2)
  }
}
