import { FairQueue } from './fair-queue.ts'
import {
  READS_UNDER_WAY_MAX,
  READS_WAIT_MS_MAX,
  REQUESTS_BURST_MAX,
  REQUESTS_BURST_PER_SECOND,
  REQUESTS_PER_SLICE_MAX,
  REQUESTS_UNDER_WAY_MAX,
  SLICE_BYTES_MAX,
  UNPROVEN_BURST_MAX,
  UNPROVEN_BURST_PER_SECOND,
  UNPROVEN_UNDER_WAY_MAX,
} from './limits.ts'
import { RequestSlots } from './request-slots.ts'
import { UNPROVEN } from './unproven.ts'

export type RequestKind = 'reads' | 'writes'

const LIMITS = {
  underWayMax: REQUESTS_UNDER_WAY_MAX,
  reads: { max: READS_UNDER_WAY_MAX, waitMs: READS_WAIT_MS_MAX },
  burstMax: REQUESTS_BURST_MAX,
  burstPerSecond: REQUESTS_BURST_PER_SECOND,
  unproven: {
    underWayMax: UNPROVEN_UNDER_WAY_MAX,
    burstMax: UNPROVEN_BURST_MAX,
    burstPerSecond: UNPROVEN_BURST_PER_SECOND,
  },
  perSliceMax: REQUESTS_PER_SLICE_MAX,
  sliceBytesMax: SLICE_BYTES_MAX,
}

/** Number of refusals that take as much CPU as serving one request. A refusal takes about 30 µs, a request 150 µs. */
const REFUSALS_PER_REQUEST = 5

type WaitingRequest = {
  readonly owner: string
  readonly kind: RequestKind
  readonly bytes: number
  readonly sinceMs: number
  readonly begin: () => void
}

/** Callbacks for metrics. They MUST NOT throw. */
export type AdmissionObserver = {
  /** Called for each request that begins. `ms` is the time that the request has waited. */
  begun(ms: number): void
  /**
   * Called with the time in ms for which one kind of work used the event loop. `begin`: beginning the requests of a
   * slice, with the work that they start at once. `read`: from the first request that was read until requests began.
   * There is no `read` if requests were still waiting from the slice before.
   */
  slice(work: 'read' | 'begin', ms: number): void
}

/**
 * Limits how many requests a process works on, and decides when each request begins.
 *
 * A request beyond REQUESTS_UNDER_WAY_MAX would wait for the processor, and would delay all other requests by the same
 * time. Without a limit, every request would take as long as clients are willing to wait. So further requests are
 * refused at once, except for bursts (request-slots.ts). Reads have a limit of their own. It grows while reads are
 * cheap. A read takes a fraction of a write's time, so a server at its limit of writes can still answer reads.
 *
 * In each slice of the event loop, only a few of the accepted requests begin. New requests, some of which must be
 * refused, are seen only after the slice. If 256 requests began at once, a slice would take 50 ms. Requests begin
 * round-robin by owner. So the request of an owner with few requests begins in the next slice, however many requests of
 * another owner wait.
 *
 * An owner is a ledger, the operator, or all peers of a ledger, if the sender has proved it
 * (src/http/connections/prove.ts). All other requests belong to UNPROVEN, which has limits of its own. An unproven
 * request never causes the refusal of a proven request.
 */
export class Admission {
  readonly #slots: Readonly<Record<RequestKind, RequestSlots>>
  readonly #unproven: RequestSlots
  readonly #now: () => number
  readonly #limits: typeof LIMITS
  readonly #observer: AdmissionObserver | null
  readonly #waiting = new FairQueue<WaitingRequest>()
  /** Number of waiting requests of proven owners. */
  readonly #waitingOf: Record<RequestKind, number> = { reads: 0, writes: 0 }
  #refusedBefore = 0
  /** Time at which the first waiting request came. 0 if a slice has begun since then. */
  #comingSinceMs = 0
  #sliceSinceMs = 0

  constructor(now: () => number, limits = LIMITS, observer: AdmissionObserver | null = null) {
    this.#now = now
    this.#limits = limits
    this.#observer = observer
    this.#slots = {
      reads: new RequestSlots(now, { ...limits, fast: limits.reads }),
      writes: new RequestSlots(now, limits),
    }
    this.#unproven = new RequestSlots(now, limits.unproven)
  }

  /**
   * Returns true if one more request is accepted. The caller MUST then call `begin`. `owner`: a proven owner, or
   * UNPROVEN.
   */
  admits(kind: RequestKind, owner: string): boolean {
    return this.#slotsOf(kind, owner).admits(owner)
  }

  /**
   * Queues the request, and calls `begin` in one of the next slices of the event loop. `bytes`: size in bytes of the
   * request's body, as far as it is known.
   */
  begin(kind: RequestKind, bytes: number, owner: string, begin: () => void): void {
    this.#slotsOf(kind, owner).enter(owner)
    const isFirst = this.#waiting.size === 0
    this.#waiting.add(owner, { owner, kind, bytes, sinceMs: this.#now(), begin })
    if (owner !== UNPROVEN) this.#waitingOf[kind]++
    if (!isFirst) return
    this.#comingSinceMs = this.#now()
    this.#beginSoon()
  }

  /**
   * Counts a request as under way. Its body has arrived completely, and its caller has been authenticated. The caller
   * of this function MUST call `leave` once afterwards.
   */
  enter(kind: RequestKind, owner: string): void {
    this.#slotsOf(kind, owner).enter(owner)
  }

  leave(kind: RequestKind, owner: string): void {
    const slots = this.#slotsOf(kind, owner)
    slots.leave(owner)
    slots.answer()
  }

  /** Number of requests that are being served or will begin soon. */
  get underWay(): number {
    return this.#slots.reads.taken + this.#slots.writes.taken + this.#unproven.taken
  }

  /** Number of requests of proven owners that were accepted and have not begun. */
  waiting(kind: RequestKind): number {
    return this.#waitingOf[kind]
  }

  get refused(): number {
    return this.#slots.reads.refused + this.#slots.writes.refused + this.#unproven.refused
  }

  get refusedUnproven(): number {
    return this.#unproven.refused
  }

  #slotsOf(kind: RequestKind, owner: string): RequestSlots {
    return owner === UNPROVEN ? this.#unproven : this.#slots[kind]
  }

  /** Schedules a slice. Between the two functions, Node runs the work that the begun requests have started. */
  #beginSoon(): void {
    setImmediate(this.#beginSome)
    if (this.#observer) setImmediate(this.#endSlice)
  }

  readonly #endSlice = (): void => {
    this.#observer!.slice('begin', this.#now() - this.#sliceSinceMs)
  }

  readonly #beginSome = (): void => {
    this.#sliceSinceMs = this.#now()
    if (this.#comingSinceMs > 0) this.#observer?.slice('read', this.#sliceSinceMs - this.#comingSinceMs)
    this.#comingSinceMs = 0
    let bytes = 0
    // Refusals since the last slice have taken time from accepted requests. So this slice begins additional requests,
    // as many as could have been served in that time.
    const { refused } = this
    const max = this.#limits.perSliceMax + Math.floor((refused - this.#refusedBefore) / REFUSALS_PER_REQUEST)
    this.#refusedBefore = refused
    for (let i = 0; i < max && bytes < this.#limits.sliceBytesMax; i++) {
      const next = this.#waiting.next()
      if (!next) return
      this.#begin(next)
      bytes += next.bytes
    }
    if (this.#waiting.size > 0) this.#beginSoon()
  }

  #begin({ owner, kind, sinceMs, begin }: WaitingRequest): void {
    if (owner !== UNPROVEN) this.#waitingOf[kind]--
    this.#slotsOf(kind, owner).leave(owner)
    this.#observer?.begun(this.#now() - sinceMs)
    begin()
  }
}
