import { FairQueue } from '../fair-queue.ts'
import {
  THREAD_WORK_BYTES_WAITING_MAX,
  THREAD_WORK_UNPROVEN_SHARE,
  THREAD_WORK_WAITING_MAX,
} from '../limits.ts'
import { Counts, Shares } from '../shares.ts'
import { ThreadError } from './error.ts'
import { PoolThread } from './pool-thread.ts'
import type { ThreadWork, WorkOptions } from './thread-work.ts'

/** Functions that the script of a thread provides, by name. Each function takes one value and returns one value. */
type Functions = { readonly [name: string]: (input: never) => unknown }

type SentWork = { readonly work: ThreadWork; readonly done: Promise<unknown> }

type Serving = { readonly owner: string; ahead: SentWork | null }

type PoolOptions = {
  readonly script: URL
  readonly threads: number
  /** Called when a thread was lost, with the reason and the owner of the thread's work. */
  readonly onLost: (error: ThreadError, owner: string) => void
}

/**
 * Runs work in a few threads if the work would block the event loop for too long
 * (docs/decisions/0021-worker-threads.md).
 *
 * The waiting work is limited by number and by bytes. An owner may use half of what the other owners leave free. Owners
 * are served round-robin, and no owner may use the last thread. A thread that takes too long is ended and replaced. A
 * thread that crashes is replaced too.
 *
 * If no other owner waits, a thread gets the next piece of work of its owner before it has finished the current piece.
 * The thread then begins the next piece without waiting for the event loop. With batches of 1,000 records from 8
 * producers, this gives 65,200 records/s instead of 49,700. With batches of 100 records from 64 producers and one
 * thread more, it gives 57,200 instead of 31,300. If the thread is lost, the next piece is lost too.
 *
 * A thread is started when there is work for it. Idle threads do not prevent the process from ending.
 */
export class ThreadPool<Known extends Functions> {
  readonly #options: PoolOptions
  readonly #threads = new Set<PoolThread>()
  readonly #serving = new Map<PoolThread, Serving>()
  readonly #waiting = new FairQueue<ThreadWork>()
  /** Number of busy threads of each owner that `countedFor` returns. */
  readonly #atWork = new Counts()
  readonly #places = shareOf(THREAD_WORK_WAITING_MAX)
  readonly #bytes = shareOf(THREAD_WORK_BYTES_WAITING_MAX)
  readonly #drained = Promise.withResolvers<void>()
  #closing = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /**
   * Runs a function in a thread. Rejects with a ThreadError if the work was not finished. Rejects with an Error if the
   * function threw.
   */
  run<Name extends keyof Known & string>(
    name: Name,
    input: Parameters<Known[Name]>[0],
    options: WorkOptions,
  ): Promise<Awaited<ReturnType<Known[Name]>>> {
    if (this.#closing) return Promise.reject(new ThreadError('closed'))
    const owner = countedFor(options)
    if (!this.#places.admits(owner) || !this.#bytes.admits(owner, options.bytes))
      return Promise.reject(new ThreadError('full'))
    return new Promise((resolve, reject) => {
      this.#enqueue({ name, input, ...options, resolve: resolve as ThreadWork['resolve'], reject })
      this.#beginWaiting()
    })
  }

  /** Refuses new work, finishes the accepted work, and ends the threads. */
  async close(): Promise<void> {
    this.#closing = true
    this.#settleIfDrained()
    await this.#drained.promise
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  #enqueue(work: ThreadWork): void {
    const owner = countedFor(work)
    this.#places.take(owner)
    this.#bytes.take(owner, work.bytes)
    this.#waiting.add(work.owner, work)
  }

  #beginWaiting(): void {
    for (;;) {
      const thread = this.#idleThread()
      const piece = thread && this.#waiting.next((_, first) => this.#mayBegin(first))
      if (!piece) break
      void this.#serve(thread, this.#taken(piece))
    }
    this.#sendAhead()
  }

  #sendAhead(): void {
    for (const [thread, serving] of this.#serving) {
      const isAlone = this.#waiting.owners === 1 && this.#waiting.lengthOf(serving.owner) > 0
      if (isAlone && serving.ahead === null && !thread.isLost)
        serving.ahead = this.#send(thread, this.#taken(this.#waiting.take(serving.owner)))
    }
  }

  #idleThread(): PoolThread | null {
    for (const thread of this.#threads) if (thread.isIdle) return thread
    if (this.#waiting.size === 0 || this.#threads.size >= this.#options.threads) return null
    const thread: PoolThread = new PoolThread(this.#options.script, () => {
      this.#threads.delete(thread)
      this.#beginWaiting()
    })
    this.#threads.add(thread)
    return thread
  }

  #mayBegin(work: ThreadWork): boolean {
    return this.#atWork.of(countedFor(work)) < Math.max(1, this.#options.threads - 1)
  }

  /** Removes a piece of work from the counts of waiting work. */
  #taken(work: ThreadWork): ThreadWork {
    const owner = countedFor(work)
    this.#places.release(owner)
    this.#bytes.release(owner, work.bytes)
    return work
  }

  /**
   * Waits for the result of a piece of work, and of all pieces that the thread got in advance. Returns when the thread
   * has no more work of this owner.
   */
  async #serve(thread: PoolThread, work: ThreadWork): Promise<void> {
    const owner = countedFor(work)
    this.#atWork.add(owner, 1)
    const serving: Serving = { owner: work.owner, ahead: null }
    this.#serving.set(thread, serving)
    let sent: SentWork | null = this.#send(thread, work)
    while (sent) {
      await this.#settle(sent)
      sent = serving.ahead
      serving.ahead = null
      this.#sendAhead()
    }
    this.#serving.delete(thread)
    this.#atWork.add(owner, -1)
    this.#beginWaiting()
    this.#settleIfDrained()
  }

  #send(thread: PoolThread, work: ThreadWork): SentWork {
    const done = thread.do(work)
    done.catch(() => {}) // This prevents an unhandled rejection until `#settle` awaits the promise.
    return { work, done }
  }

  async #settle({ work, done }: SentWork): Promise<void> {
    try {
      work.resolve(await done)
    } catch (error) {
      if (error instanceof ThreadError) this.#options.onLost(error, work.owner)
      work.reject(error as Error)
    }
  }

  #settleIfDrained(): void {
    if (this.#closing && this.#atWork.total + this.#waiting.size === 0) this.#drained.resolve()
  }
}

/** Returns the owner whose limits apply to the work: `ofAll` if it is set, otherwise `owner`. */
function countedFor({ owner, ofAll }: WorkOptions): string {
  return ofAll ?? owner
}

function shareOf(max: number): Shares {
  return new Shares({ rule: 'rest', max, unprovenMax: max * THREAD_WORK_UNPROVEN_SHARE })
}
