import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Admission, RequestKind } from '../../load/admission.ts'
import type { Shares } from '../../load/shares.ts'
import { REQUEST_ABANDONED_MS_MAX } from '../limits.ts'
import { kindOf, ownerOf } from './owner.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null: nothing yet. MUST be asked for with `heldBy`. */
    held: Held | null
  }
}

/** Everything that the request holds. MUST NOT be called before the request is authenticated, unless it is refused. */
export function heldBy(request: FastifyRequest, reply: FastifyReply): Held {
  request.held ??= new Held(request, reply)
  return request.held
}

/**
 * A place among the requests under way, and bytes. A request holds them until its response closes, because its answer
 * was taken or its client has gone. There is one for each request, so that there is one look at whose it is and one
 * listener.
 */
export class Held {
  readonly #kind: RequestKind
  readonly #owner: string
  readonly #shares: Share[] = []
  #admission: Admission | null = null
  #isOver: boolean

  constructor(request: FastifyRequest, { raw }: FastifyReply) {
    this.#kind = kindOf(request.method)
    this.#owner = ownerOf(request)
    this.#isOver = raw.destroyed
    raw.once('close', () => this.#giveBack())
  }

  /** The response has closed: nothing is held, and nothing MUST be taken any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  enter(admission: Admission): void {
    this.#admission = admission
    admission.enter(this.#kind, this.#owner)
  }

  leave(): void {
    this.#admission?.leave(this.#kind, this.#owner)
    this.#admission = null
  }

  hasRoom(budget: Shares, bytes: number): boolean {
    return budget.admits(this.#owner, bytes)
  }

  /** Counts them, whether there is room or not. */
  take(budget: Shares, bytes: number): Share {
    const share = new Share(budget, this.#owner, bytes)
    this.#shares.push(share)
    return share
  }

  #giveBack(): void {
    this.#isOver = true
    for (const share of this.#shares) share.resize(0)
    // A client that goes away leaves the work behind: it has its place until it is done, or clients that give up and try again would
    // begin more and more of it. A handler that then sends nothing keeps the place for a while.
    if (this.#admission) setTimeout(() => this.leave(), REQUEST_ABANDONED_MS_MAX).unref()
  }
}

/** Bytes of one budget, for one purpose. */
export class Share {
  readonly #budget: Shares
  readonly #owner: string
  #bytes = 0

  constructor(budget: Shares, owner: string, bytes: number) {
    this.#budget = budget
    this.#owner = owner
    this.resize(bytes)
  }

  resize(bytes: number): void {
    this.#budget.release(this.#owner, this.#bytes)
    this.#budget.take(this.#owner, bytes)
    this.#bytes = bytes
  }
}
