import type { Transferable } from 'node:worker_threads'
import {
  THREAD_WORK_BYTES_WAITING_MAX,
  THREAD_WORK_OF_ONE_SHARE,
  THREAD_WORK_WAITING_MAX,
} from '../limits.ts'
import { ThreadError } from './error.ts'
import { PoolThread } from './pool-thread.ts'

/** Functions that a thread's script knows by name; each takes one value and returns one. */
type Functions = { readonly [name: string]: (input: never) => unknown }

/** Messages to a thread, and from it. */
export type Given = { readonly name: string; readonly input: unknown }
export type Ended = { readonly done: unknown } | { readonly threw: string }

export type PieceOptions = {
  /** A ledger, or a peer of one. Owners take turns. */
  readonly owner: string
  /** Memory that it holds while it waits. */
  readonly bytes: number
  /** From when a thread begins it. */
  readonly msMax: number
  /** Buffers that move to the thread; the caller has them no more. */
  readonly transfer?: readonly Transferable[]
}

export type Piece = Given &
  PieceOptions & {
    readonly resolve: (done: unknown) => void
    readonly reject: (error: Error) => void
  }

type PoolOptions = {
  readonly script: URL
  readonly threads: number
  /** Hears why a thread was ended. */
  readonly onLost: (error: ThreadError) => void
}

/**
 * Work that would hold the event loop for too long, done by a few threads (docs/decisions/0021-work-in-threads.md). What waits is
 * bounded, by number and by bytes, and of one owner to a part of that. Owners take turns, and none has the last thread to itself. A
 * thread that takes too long is ended, and another one takes its place; so does one for a thread that crashed.
 *
 * A thread is started when there is work for it, and a process that has none for any of them can end.
 */
export class ThreadPool<Known extends Functions> {
  readonly #options: PoolOptions
  readonly #threads = new Set<PoolThread>()
  /** By owner, those whose turn is next first. */
  readonly #waiting = new Map<string, Piece[]>()
  readonly #ofOwner = new Map<string, { atWork: number; waiting: number; bytes: number }>()
  readonly #inAll = { waiting: 0, bytes: 0 }
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
    if (this.#isFullFor(options)) return Promise.reject(new ThreadError('full'))
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

  #isFullFor({ owner, bytes }: PieceOptions): boolean {
    const own = this.#ofOwner.get(owner) ?? { waiting: 0, bytes: 0 }
    return (
      this.#inAll.waiting >= THREAD_WORK_WAITING_MAX ||
      own.waiting >= THREAD_WORK_WAITING_MAX * THREAD_WORK_OF_ONE_SHARE ||
      this.#inAll.bytes + bytes > THREAD_WORK_BYTES_WAITING_MAX ||
      own.bytes + bytes > THREAD_WORK_BYTES_WAITING_MAX * THREAD_WORK_OF_ONE_SHARE
    )
  }

  #enqueue(piece: Piece): void {
    const own = this.#ofOwner.get(piece.owner) ?? { atWork: 0, waiting: 0, bytes: 0 }
    this.#ofOwner.set(piece.owner, own)
    for (const count of [own, this.#inAll]) {
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
      const own = this.#ofOwner.get(owner)!
      if (own.atWork >= Math.max(1, this.#options.threads - 1)) continue
      const piece = queue.shift()!
      this.#waiting.delete(owner)
      if (queue.length > 0) this.#waiting.set(owner, queue)
      own.atWork++
      for (const count of [own, this.#inAll]) {
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
      if (error instanceof ThreadError) this.#options.onLost(error)
      piece.reject(error as Error)
    }
    const own = this.#ofOwner.get(piece.owner)!
    own.atWork--
    if (own.atWork + own.waiting === 0) this.#ofOwner.delete(piece.owner)
    this.#beginWaiting()
    this.#settleIfDrained()
  }

  #settleIfDrained(): void {
    if (this.#closing && this.#ofOwner.size === 0) this.#drained.resolve()
  }
}
