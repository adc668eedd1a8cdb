import { Worker } from 'node:worker_threads'
import { THREAD_HEAP_MIB_MAX } from '../limits.ts'
import { ThreadError } from './error.ts'
import type { Ended, Piece } from './piece.ts'

type UnderWay = { readonly settle: (ended: Ended | ThreadError) => void; readonly msMax: number }

/** One thread of a pool. It does what it is given in order, and is gone after the first piece of work that it does not end. */
export class PoolThread {
  readonly #worker: Worker
  readonly #underWay: UnderWay[] = []
  /** Ends the thread when the first piece has had its time. */
  #timer: NodeJS.Timeout | undefined
  #isLost = false

  /** `onExit`: it is gone, and its place is free. */
  constructor(script: URL, onExit: () => void) {
    this.#worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX } })
    this.#worker.on('message', (ended: Ended) => this.#settle(ended))
    // Out of memory, or a script that does not load.
    this.#worker.on('error', (error) => this.#lose(new ThreadError('crashed', error as Error)))
    this.#worker.on('exit', () => {
      this.#lose(new ThreadError('crashed'))
      onExit()
    })
    // Only work keeps the process.
    this.#worker.unref()
  }

  get isIdle(): boolean {
    return !this.#isLost && this.#underWay.length === 0
  }

  /** It ends, and does nothing more. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Throws ThreadError, or what the work threw. */
  async do({ name, input, transfer, msMax }: Piece): Promise<unknown> {
    // First, because what cannot be sent throws here.
    this.#worker.postMessage({ name, input }, transfer ?? [])
    const { promise, resolve } = Promise.withResolvers<Ended | ThreadError>()
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

  /** The time of the first piece begins. */
  #watch(): void {
    this.#timer = setTimeout(() => {
      this.#lose(new ThreadError('overrun'))
      void this.#worker.terminate()
    }, this.#underWay[0]!.msMax)
  }

  /** Everything that it had. */
  #lose(error: ThreadError): void {
    this.#isLost = true
    while (this.#underWay.length > 0) this.#settle(error)
  }

  #settle(ended: Ended | ThreadError): void {
    const first = this.#underWay.shift()
    if (!first) return
    clearTimeout(this.#timer)
    if (this.#underWay.length === 0) this.#worker.unref()
    else if (!this.#isLost) this.#watch()
    first.settle(ended)
  }
}
