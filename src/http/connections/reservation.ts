import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Admission, RequestKind } from '../../load/admission.ts'
import type { Shares } from '../../load/shares.ts'
import { REQUEST_ABANDONED_MS_MAX } from '../limits.ts'
import { kindOf, ownerOf } from './owner.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The reserved resources of the request. null until `reservationOf` is called. Code MUST read it through
     * `reservationOf`.
     */
    reservation: Reservation | null
  }
}

/**
 * Returns the reserved resources of the request. MUST be called only for a request that is authenticated or refused.
 */
export function reservationOf(request: FastifyRequest, reply: FastifyReply): Reservation {
  request.reservation ??= new Reservation(request, reply)
  return request.reservation
}

/**
 * The reserved resources of a request: its slot among the requests under way, and bytes. The bytes are reserved until
 * the response closes, which happens when the client has read the response or has disconnected. Each request has one
 * object, with one owner and one listener.
 */
export class Reservation {
  readonly #kind: RequestKind
  readonly #owner: string
  readonly #shares: ReservedBytes[] = []
  #admission: Admission | null = null
  #isOver: boolean

  constructor(request: FastifyRequest, { raw }: FastifyReply) {
    this.#kind = kindOf(request.method)
    this.#owner = ownerOf(request)
    this.#isOver = raw.destroyed
    raw.once('close', () => this.#giveBack())
  }

  /** True when the response has closed. Then nothing is reserved, and the caller MUST NOT reserve anything. */
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

  /** Reserves the bytes, even if the limit is reached. */
  take(budget: Shares, bytes: number): ReservedBytes {
    const share = new ReservedBytes(budget, this.#owner, bytes)
    this.#shares.push(share)
    return share
  }

  #giveBack(): void {
    this.#isOver = true
    for (const share of this.#shares) share.resize(0)
    // If the client disconnects, the work for its request continues, and the request keeps its slot until the work is
    // done. Otherwise clients that give up and retry would start more and more work. If the handler never sends an
    // answer, the slot is released after REQUEST_ABANDONED_MS_MAX.
    if (this.#admission) setTimeout(() => this.leave(), REQUEST_ABANDONED_MS_MAX).unref()
  }
}

/** Bytes that are reserved in one budget for one purpose. */
export class ReservedBytes {
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
