import { FairQueue } from '../fair-queue.ts'
import {
  THREAD_WORK_BYTES_WAITING_MAX,
  THREAD_WORK_UNPROVEN_SHARE,
  THREAD_WORK_WAITING_MAX,
} from '../limits.ts'
import { Counts, Shares } from '../shares.ts'
import { ThreadError } from './error.ts'
import type { Piece, PieceOptions } from './piece.ts'
import { PoolThread } from './pool-thread.ts'

/** Functions that a thread's script knows by name; each takes one value and returns one. */
type Functions = { readonly [name: string]: (input: never) => unknown }

/** A piece that a thread has, and what becomes of it. */
type Sent = { readonly piece: Piece; readonly done: Promise<unknown> }

type Serving = { readonly owner: string; ahead: Sent | null }

type PoolOptions = {
  readonly script: URL
  readonly threads: number
  /** Hears why a thread was ended, and whose work it had. */
  readonly onLost: (error: ThreadError, owner: string) => void
}

/**
 * Work that would hold the event loop for too long, done by a few threads (docs/decisions/0021-work-in-threads.md). The
 * queue is bounded, by number and by bytes, and an owner may fill half of what the others leave of it. Owners take turns, and none has
 * the last thread to itself. A thread that takes too long is ended, and another one takes its place; so does one for a
 * thread that crashed.
 *
 * Where nobody else waits, a thread has the next piece of the same owner ahead, and begins it without waiting until the
 * event loop has looked: batches of 1,000 from 8 producers 65,200 records/s instead of 49,700, of 100 from 64 57,200 instead of
 * 31,300 (with a thread more). It is lost with the thread.
 *
 * A thread is started when there is work for it, and a process that has none for any of them can end.
 */
export class ThreadPool<Known extends Functions> {
  readonly #options: PoolOptions
  readonly #threads = new Set<PoolThread>()
  readonly #serving = new Map<PoolThread, Serving>()
  readonly #waiting = new FairQueue<Piece>()
  /** Threads at work, by `countedFor`. */
  readonly #atWork = new Counts()
  readonly #places = shareOf(THREAD_WORK_WAITING_MAX)
  readonly #bytes = shareOf(THREAD_WORK_BYTES_WAITING_MAX)
  readonly #drained = Promise.withResolvers<void>()
  #closing = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Rejects with a ThreadError where it was not done, and with an Error where it threw. */
  run<Name extends keyof Known & string>(
    name: Name,
    input: Parameters<Known[Name]>[0],
    options: PieceOptions,
  ): Promise<Awaited<ReturnType<Known[Name]>>> {
    if (this.#closing) return Promise.reject(new ThreadError('closed'))
    const owner = countedFor(options)
    if (!this.#places.admits(owner) || !this.#bytes.admits(owner, options.bytes))
      return Promise.reject(new ThreadError('full'))
    return new Promise((resolve, reject) => {
      this.#enqueue({ name, input, ...options, resolve: resolve as Piece['resolve'], reject })
      this.#beginWaiting()
    })
  }

  /** Takes nothing more, does what it has taken, and ends the threads. */
  async close(): Promise<void> {
    this.#closing = true
    this.#settleIfDrained()
    await this.#drained.promise
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  #enqueue(piece: Piece): void {
    const owner = countedFor(piece)
    this.#places.take(owner)
    this.#bytes.take(owner, piece.bytes)
    this.#waiting.add(piece.owner, piece)
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

  #mayBegin(piece: Piece): boolean {
    return this.#atWork.of(countedFor(piece)) < Math.max(1, this.#options.threads - 1)
  }

  /** The piece waits no longer. */
  #taken(piece: Piece): Piece {
    const owner = countedFor(piece)
    this.#places.release(owner)
    this.#bytes.release(owner, piece.bytes)
    return piece
  }

  /** Until the thread has nothing of the owner's any more. */
  async #serve(thread: PoolThread, piece: Piece): Promise<void> {
    const owner = countedFor(piece)
    this.#atWork.add(owner, 1)
    const serving: Serving = { owner: piece.owner, ahead: null }
    this.#serving.set(thread, serving)
    let sent: Sent | null = this.#send(thread, piece)
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

  #send(thread: PoolThread, piece: Piece): Sent {
    const done = thread.do(piece)
    done.catch(() => {}) // until its turn to be settled nobody listens
    return { piece, done }
  }

  async #settle({ piece, done }: Sent): Promise<void> {
    try {
      piece.resolve(await done)
    } catch (error) {
      if (error instanceof ThreadError) this.#options.onLost(error, piece.owner)
      piece.reject(error as Error)
    }
  }

  #settleIfDrained(): void {
    if (this.#closing && this.#atWork.total + this.#waiting.size === 0) this.#drained.resolve()
  }
}

/** All peers of a ledger together; each of them takes turns by itself. */
function countedFor({ owner, ofAll }: PieceOptions): string {
  return ofAll ?? owner
}

function shareOf(max: number): Shares {
  return new Shares({ rule: 'rest', max, unprovenMax: max * THREAD_WORK_UNPROVEN_SHARE })
}
