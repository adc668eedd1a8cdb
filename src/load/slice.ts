import { setImmediate as nextTurn } from 'node:timers/promises'
import { SLICE_MS_MAX } from './limits.ts'

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
 * Slices for long work, such as exports. If many exports run, only one of them works in each iteration of the event
 * loop. Without this class, a stream whose client reads fast enough never waits for an event, and would block all other
 * streams.
 */
export class Slices {
  readonly #waiting: (() => void)[] = []

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) setImmediate(this.#give)
    })
  }

  readonly #give = (): void => {
    this.#waiting.shift()!()
    if (this.#waiting.length > 0) setImmediate(this.#give)
  }
}

/**
 * Runs jobs one after another, in slices of the event loop of about `msMax`. Between two slices sockets are read.
 *
 * `next` runs one job, and returns false if there was none. The promise callbacks and ticks that a job starts belong to
 * the job: they run before the next job, and their time counts. `observe` is called with the ms of each slice.
 */
export class SlicedJobs {
  readonly #next: () => boolean
  readonly #msMax: number
  readonly #observe: (ms: number) => void
  #isRunning = false
  #beganAtMs = 0

  constructor(next: () => boolean, msMax: number, observe: (ms: number) => void) {
    this.#next = next
    this.#msMax = msMax
    this.#observe = observe
  }

  /** Begins a slice now, unless jobs are running or the next slice is scheduled. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#begin()
  }

  readonly #begin = (): void => {
    this.#beganAtMs = performance.now()
    this.#step()
  }

  /** A tick runs after all promise callbacks, but ticks that a tick adds would run before them. */
  readonly #continue = (): void => process.nextTick(this.#step)

  readonly #step = (): void => {
    this.#isRunning = this.#next()
    const ms = performance.now() - this.#beganAtMs
    if (this.#isRunning && ms < this.#msMax) {
      queueMicrotask(this.#continue)
      return
    }
    this.#observe(ms)
    if (this.#isRunning) setImmediate(this.#begin)
  }
}
