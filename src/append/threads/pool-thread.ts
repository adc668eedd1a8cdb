import { Worker } from 'node:worker_threads'
import { THREAD_HEAP_MIB_MAX } from '../limits.ts'
import { ThreadError } from './error.ts'
import type { Ended, Piece } from './piece.ts'

type UnderWay = { readonly settle: (ended: Ended | ThreadError) => void; readonly timer: NodeJS.Timeout }

/** One thread of a pool: a piece of work at a time, and gone after the first that it does not end. */
export class PoolThread {
  readonly #worker: Worker
  #underWay: UnderWay | null = null
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
    return !this.#isLost && this.#underWay === null
  }

  /** Throws ThreadError, or what the work threw. */
  async do({ name, input, transfer, msMax }: Piece): Promise<unknown> {
    // First, because what cannot be sent throws here.
    this.#worker.postMessage({ name, input }, transfer ?? [])
    const { promise, resolve } = Promise.withResolvers<Ended | ThreadError>()
    const timer = setTimeout(() => {
      this.#lose(new ThreadError('overrun'))
      void this.#worker.terminate()
    }, msMax)
    this.#underWay = { settle: resolve, timer }
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

  #lose(error: ThreadError): void {
    this.#isLost = true
    this.#settle(error)
  }

  #settle(ended: Ended | ThreadError): void {
    if (this.#underWay === null) return
    const { settle, timer } = this.#underWay
    clearTimeout(timer)
    this.#underWay = null
    this.#worker.unref()
    settle(ended)
  }
}
