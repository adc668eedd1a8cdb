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
 * A thread is started when there is work for it, and a process that has none for any of them can end.
 */
export class ThreadPool<Known extends Functions> {
  readonly #options: PoolOptions
  readonly #threads = new Set<PoolThread>()
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
      const piece = thread && this.#takeNext()
      if (!piece) return
      void this.#begin(thread, piece)
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

  /** Takes a piece of the owner whose turn it is; then the others come first. */
  #takeNext(): Piece | null {
    for (const [owner, queue] of this.#waiting) {
      const owners = this.#ownersOf(queue[0]!)
      if (owners.some(({ atWork }) => atWork >= Math.max(1, this.#options.threads - 1))) continue
      const piece = queue.shift()!
      this.#waiting.delete(owner)
      if (queue.length > 0) this.#waiting.set(owner, queue)
      for (const count of [...owners, this.#inAll]) {
        count.atWork++
        count.waiting--
        count.bytes -= piece.bytes
      }
      return piece
    }
    return null
  }

  async #begin(thread: PoolThread, piece: Piece): Promise<void> {
    try {
      piece.resolve(await thread.do(piece))
    } catch (error) {
      if (error instanceof ThreadError) this.#options.onLost(error, piece.owner)
      piece.reject(error as Error)
    }
    for (const count of [...this.#ownersOf(piece), this.#inAll]) count.atWork--
    this.#forgetIdle(piece)
    this.#beginWaiting()
    this.#settleIfDrained()
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
