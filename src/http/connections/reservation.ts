import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Admission, RequestKind } from '../../load/admission.ts'
import type { Shares } from '../../load/shares.ts'
import { REQUEST_ABANDONED_MS_MAX } from '../limits.ts'
import { kindOf, ownerOf } from './owner.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null until `reservationOf` is called. MUST be read by `reservationOf`. */
    reservation: Reservation | null
  }
}

/**
 * Returns the resources of the request. MUST NOT be called before the request is authenticated, unless it is refused.
 */
export function reservationOf(request: FastifyRequest, reply: FastifyReply): Reservation {
  request.reservation ??= new Reservation(request, reply)
  return request.reservation
}

/**
 * Resources of a request: its slot among the requests under way, and bytes. They are reserved until the response
 * closes, because the client has read it or has gone. One object per request, with one owner and one listener.
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

  /** True when the response has closed. Nothing is reserved, and nothing MUST be reserved any more. */
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

  /** Reserves the bytes, whether there is room or not. */
  take(budget: Shares, bytes: number): ReservedBytes {
    const share = new ReservedBytes(budget, this.#owner, bytes)
    this.#shares.push(share)
    return share
  }

  #giveBack(): void {
    this.#isOver = true
    for (const share of this.#shares) share.resize(0)
    // The work of a client that goes away continues, and keeps its slot until it is done. Otherwise clients that give
    // up and retry would start more and more work. A handler that then sends nothing keeps the slot for a while.
    if (this.#admission) setTimeout(() => this.leave(), REQUEST_ABANDONED_MS_MAX).unref()
  }
}

/** Bytes of one budget, reserved for one purpose. */
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
