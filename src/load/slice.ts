import { setImmediate as nextTurn } from 'node:timers/promises'
import { FairQueue } from './fair-queue.ts'
import {
  OTHERS_ACTIVE_MS,
  OWNERS_NOTED_MAX,
  READER_MS,
  SHARED_PAUSE_MS_MAX,
  SHARED_SLICE_MS_MAX,
  SLICE_MS_MAX,
} from './limits.ts'

/**
 * A slice of the event loop. Work may run for SLICE_MS_MAX before other work runs. A slice is measured by time and not
 * by a number of items, because clients decide whether a thousand items take 10 ms or a second.
 */
export class Slice {
  #beganAtMs = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#beganAtMs > SLICE_MS_MAX
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#beganAtMs = performance.now()
  }
}

/**
 * Slices for long reads: pages, and streams such as exports. In each iteration of the event loop, waiting reads
 * continue until they have used SLICE_MS_MAX together. Owners are served round-robin.
 *
 * If another owner is active, reads get only SHARED_SLICE_MS_MAX in an iteration. Then they pause for as long as the
 * iteration took. An owner is active if it has sent a request in the last OTHERS_ACTIVE_MS, and took no slice in the
 * last READER_MS. So long reads take at most about half of the event loop, and leave CPU for the commits of the active
 * owner. When slices were always short, fewer pages shared a statement, and lists of a server with one ledger were no
 * faster.
 *
 * Without this class, a stream whose client reads fast enough would never wait for an event, and would block all other
 * work. All pages whose rows came with one answer of Postgres would be rendered in one slice, of up to 40 ms.
 */
export class SharedSlices {
  readonly #waiting = new FairQueue<{ readonly owner: string; readonly begin: () => void }>()
  /** The owners with the newest requests, newest last. */
  readonly #owners = new Map<string, { requestedAtMs: number; servedAtMs: number }>()
  /** True from the first slice of an iteration until the reads may continue. */
  #hasBegun = false
  #isOver = false
  #isBesideOthers = false
  #beganAtMs = 0

  next(owner: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(owner, { owner, begin: resolve })
      if (!this.#isOver) setImmediate(this.#give)
    })
  }

  /** Must be called for each request of a proven owner. */
  noteRequest(owner: string): void {
    const noted = this.#owners.get(owner) ?? { requestedAtMs: 0, servedAtMs: Number.NEGATIVE_INFINITY }
    noted.requestedAtMs = performance.now()
    this.#owners.delete(owner)
    this.#owners.set(owner, noted)
    if (this.#owners.size > OWNERS_NOTED_MAX) this.#owners.delete(this.#owners.keys().next().value!)
  }

  readonly #give = (): void => {
    if (this.#isOver) return
    const nowMs = performance.now()
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#beganAtMs = nowMs
      this.#isBesideOthers = this.#areOthersActive(nowMs)
      setImmediate(this.#end)
    } else if (nowMs - this.#beganAtMs > (this.#isBesideOthers ? SHARED_SLICE_MS_MAX : SLICE_MS_MAX)) {
      this.#isOver = true
      return
    }
    const next = this.#waiting.next()
    if (next === null) return
    const noted = this.#owners.get(next.owner)
    if (noted) noted.servedAtMs = nowMs
    next.begin()
  }

  /** Runs in the iteration after the first slice. */
  readonly #end = (): void => {
    const tookMs = performance.now() - this.#beganAtMs
    const wasShort = this.#waiting.size === 0 && tookMs < SHARED_SLICE_MS_MAX
    if (wasShort || !this.#isBesideOthers) this.#continue()
    else {
      this.#isOver = true
      setTimeout(this.#continue, Math.min(tookMs, SHARED_PAUSE_MS_MAX))
    }
  }

  readonly #continue = (): void => {
    this.#hasBegun = false
    this.#isOver = false
    for (let i = 0; i < this.#waiting.size; i++) setImmediate(this.#give)
  }

  #areOthersActive(nowMs: number): boolean {
    for (const [owner, { requestedAtMs, servedAtMs }] of [...this.#owners].reverse()) {
      if (nowMs - requestedAtMs > OTHERS_ACTIVE_MS) return false
      if (nowMs - servedAtMs > READER_MS && this.#waiting.lengthOf(owner) === 0) return true
    }
    return false
  }
}
