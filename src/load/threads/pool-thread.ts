import { Worker } from 'node:worker_threads'
import { THREAD_HEAP_MIB_MAX, THREAD_YOUNG_HEAP_MIB_MAX } from '../limits.ts'
import { ThreadError } from './error.ts'
import type { ThreadOutput, ThreadWork } from './thread-work.ts'

type UnderWay = { readonly settle: (ended: ThreadOutput | ThreadError) => void; readonly msMax: number }

/**
 * A thread of a pool. It does its work in order. The thread ends after the first piece of work that it cannot finish.
 */
export class PoolThread {
  readonly #worker: Worker
  readonly #underWay: UnderWay[] = []
  /** Timer that ends the thread if the piece of work that it is doing exceeds its time limit. */
  #timer: NodeJS.Timeout | undefined
  #isLost = false

  /** `onExit` is called when the thread has ended, so that another thread may start. */
  constructor(script: URL, onExit: () => void) {
    this.#worker = new Worker(script, {
      resourceLimits: {
        maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX,
        maxYoungGenerationSizeMb: THREAD_YOUNG_HEAP_MIB_MAX,
      },
    })
    this.#worker.on('message', (ended: ThreadOutput) => this.#settle(ended))
    // The thread has run out of memory, or its script could not be loaded.
    this.#worker.on('error', (error) => this.#lose(new ThreadError('crashed', error as Error)))
    this.#worker.on('exit', () => {
      this.#lose(new ThreadError('crashed'))
      onExit()
    })
    // An idle thread must not prevent the process from ending.
    this.#worker.unref()
  }

  get isIdle(): boolean {
    return !this.#isLost && this.#underWay.length === 0
  }

  /** True if the thread is ending and does no more work. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Does one piece of work. Throws ThreadError. If the work itself throws, throws an Error with the same text. */
  async do({ name, input, transfer, msMax }: ThreadWork): Promise<unknown> {
    // This call throws if a value cannot be sent to a thread. So it comes before the work is counted as under way.
    this.#worker.postMessage({ name, input }, transfer ?? [])
    const { promise, resolve } = Promise.withResolvers<ThreadOutput | ThreadError>()
    this.#underWay.push({ settle: resolve, msMax })
    if (this.#underWay.length === 1) this.#watch()
    this.#worker.ref()
    const ended = await promise
    if (ended instanceof ThreadError) throw ended
    if ('threw' in ended) throw new Error(`in a thread: ${ended.threw}`)
    return ended.done
  }

  async end(): Promise<void> {
    this.#isLost = true
    await this.#worker.terminate()
  }

  /** Starts the timer for the piece of work that the thread is doing. */
  #watch(): void {
    this.#timer = setTimeout(() => {
      this.#lose(new ThreadError('overrun'))
      void this.#worker.terminate()
    }, this.#underWay[0]!.msMax)
  }

  /** Marks the thread as lost. All its pieces of work fail with `error`. */
  #lose(error: ThreadError): void {
    this.#isLost = true
    while (this.#underWay.length > 0) this.#settle(error)
  }

  #settle(ended: ThreadOutput | ThreadError): void {
    const first = this.#underWay.shift()
    if (!first) return
    clearTimeout(this.#timer)
    if (this.#underWay.length === 0) this.#worker.unref()
    else if (!this.#isLost) this.#watch()
    first.settle(ended)
  }
}
