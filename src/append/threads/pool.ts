import {
  THREAD_WORK_BYTES_WAITING_MAX,
  THREAD_WORK_OF_ONE_SHARE,
  THREAD_WORK_WAITING_MAX,
} from '../limits.ts'
import { ThreadError } from './error.ts'
import type { Piece, PieceOptions } from './piece.ts'
import { PoolThread } from './pool-thread.ts'

/** Functions that a thread's script knows by name; each takes one value and returns one. */
type Functions = { readonly [name: string]: (input: never) => unknown }

type Counts = { atWork: number; waiting: number; bytes: number }

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
 * queue is bounded, by number and by bytes, and one owner may fill a part of it only. Owners take turns, and none has
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
  /** By owner, those whose turn is next first. */
  readonly #waiting = new Map<string, Piece[]>()
  /** By owner, and by what its pieces say in `ofAll`. */
  readonly #ofOwner = new Map<string, Counts>()
  readonly #inAll: Counts = { atWork: 0, waiting: 0, bytes: 0 }
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
    if (this.#isFullFor(options)) {
      this.#forgetIdle(options)
      return Promise.reject(new ThreadError('full'))
    }
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

  #isFullFor(piece: PieceOptions): boolean {
    const isFull = ({ waiting, bytes }: Counts, share: number) =>
      waiting >= THREAD_WORK_WAITING_MAX * share ||
      bytes + piece.bytes > THREAD_WORK_BYTES_WAITING_MAX * share
    return (
      isFull(this.#inAll, 1) || this.#ownersOf(piece).some((own) => isFull(own, THREAD_WORK_OF_ONE_SHARE))
    )
  }

  /** Counts of the owners of a piece, created at first use. */
  #ownersOf({ owner, ofAll }: PieceOptions): Counts[] {
    return [owner, ...(ofAll === undefined ? [] : [ofAll])].map((name) => {
      const known = this.#ofOwner.get(name) ?? { atWork: 0, waiting: 0, bytes: 0 }
      this.#ofOwner.set(name, known)
      return known
    })
  }

  #enqueue(piece: Piece): void {
    for (const count of [...this.#ownersOf(piece), this.#inAll]) {
      count.waiting++
      count.bytes += piece.bytes
    }
    const queue = this.#waiting.get(piece.owner)
    if (queue) queue.push(piece)
    else this.#waiting.set(piece.owner, [piece])
  }

  #beginWaiting(): void {
    for (;;) {
      const thread = this.#idleThread()
      const owner = thread && this.#nextOwner()
      if (!owner) break
      void this.#serve(thread, this.#take(owner))
    }
    this.#sendAhead()
  }

  #sendAhead(): void {
    for (const [thread, serving] of this.#serving) {
      const isAlone = this.#waiting.size === 1 && this.#waiting.has(serving.owner)
      if (isAlone && serving.ahead === null && !thread.isLost)
        serving.ahead = this.#send(thread, this.#take(serving.owner))
    }
  }

  #idleThread(): PoolThread | null {
    for (const thread of this.#threads) if (thread.isIdle) return thread
    if (this.#inAll.waiting === 0 || this.#threads.size >= this.#options.threads) return null
    const thread: PoolThread = new PoolThread(this.#options.script, () => {
      this.#threads.delete(thread)
      this.#beginWaiting()
    })
    this.#threads.add(thread)
    return thread
  }

  /** The owner whose turn it is. */
  #nextOwner(): string | null {
    for (const [owner, [first]] of this.#waiting) {
      const owners = this.#ownersOf(first!)
      if (owners.every(({ atWork }) => atWork < Math.max(1, this.#options.threads - 1))) return owner
    }
    return null
  }

  /** The first piece of an owner that waits; then the others come first. */
  #take(owner: string): Piece {
    const queue = this.#waiting.get(owner)!
    const piece = queue.shift()!
    this.#waiting.delete(owner)
    if (queue.length > 0) this.#waiting.set(owner, queue)
    for (const count of [...this.#ownersOf(piece), this.#inAll]) {
      count.waiting--
      count.bytes -= piece.bytes
    }
    return piece
  }

  /** Until the thread has nothing of the owner's any more. */
  async #serve(thread: PoolThread, piece: Piece): Promise<void> {
    const counts = [...this.#ownersOf(piece), this.#inAll]
    for (const count of counts) count.atWork++
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
    for (const count of counts) count.atWork--
    this.#forgetIdle(piece)
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

  #forgetIdle({ owner, ofAll = owner }: PieceOptions): void {
    for (const name of [owner, ofAll]) {
      const known = this.#ofOwner.get(name)
      if (known && known.atWork + known.waiting === 0) this.#ofOwner.delete(name)
    }
  }

  #settleIfDrained(): void {
    if (this.#closing && this.#ofOwner.size === 0) this.#drained.resolve()
  }
}
