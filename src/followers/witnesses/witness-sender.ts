import { setTimeout as sleep } from 'node:timers/promises'
import { Counts } from '../../load/shares.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import {
  WITNESS_EVERY_MS,
  WITNESS_LEDGERS_PER_ROUND,
  WITNESS_LEDGERS_WAITING_MAX,
  WITNESS_PAUSE_MS_MAX,
  WITNESS_PAUSE_MS_MIN,
  WITNESS_POSTS_PER_LEDGER_MAX,
  WITNESS_ROUND_MS_MAX,
  WITNESS_SWEEP_AGE_MS,
  WITNESS_SWEEP_EVERY_MS,
} from '../limits.ts'
import type { Follower } from '../loop.ts'
import { Waker } from '../waker.ts'
import { type SendDeps, WitnessError, type WitnessFailure } from './send-checkpoint.ts'

export type WitnessOutcome = 'cosigned' | WitnessFailure

type WitnessSenderDeps = Pick<SendDeps, 'log'> & {
  readonly stopping: AbortSignal
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  readonly observe: (witness: string, outcome: WitnessOutcome) => void
}

/**
 * A ledger whose newest checkpoint lacks a cosignature. `peerId`: the peer whose cosignature is missing. null if the
 * cosignature of a configured witness is missing.
 */
export type Uncosigned = { readonly ledgerId: Uuid; readonly peerId: Uuid | null }

/** The witnesses that one WitnessSender serves: one configured witness, or all peers of the deployment. */
export type WitnessTarget = {
  readonly name: string
  /** True if the target is a single server. A failure then pauses all requests of the sender. */
  readonly pausesAsOne: boolean
  readonly postsMax: number
  /** Returns the cosignatures that are missing in ledgers that have grown. */
  expand(ledgerIds: readonly Uuid[]): Promise<readonly Uncosigned[]>
  /**
   * Returns the cosignatures that are missing on checkpoints that are at least `ageMs` old. Returns at most `limit`.
   */
  sweep(ageMs: number, limit: number): Promise<readonly Uncosigned[]>
  /**
   * Sends a checkpoint and stores the cosignature. Returns false if there was nothing to cosign. Throws WitnessError.
   */
  send(uncosigned: Uncosigned): Promise<boolean>
}

/** A checkpoint that waits to be sent. `sinceMs`: time at which the checkpoint began to wait in this process. */
type WaitingCheckpoint = Uncosigned & {
  readonly sinceMs: number
  readonly dueMs: number
  readonly failures: number
}

/**
 * Sends checkpoints to one target. Each configured witness has a sender of its own, so that a slow or unreachable
 * witness does not delay the others. When checkpoints are published, the sender is only given the ids of ledgers that
 * have grown. For each waiting ledger only the newest checkpoint is sent.
 */
export class WitnessSender {
  readonly #deps: WitnessSenderDeps
  readonly #target: WitnessTarget
  readonly #waker = new Waker()
  /** Ledgers that have grown since the last round. */
  readonly #grown = new Set<Uuid>()
  readonly #waiting = new Map<string, WaitingCheckpoint>()
  readonly #underWay = new Map<string, Promise<void>>()
  readonly #posts = new Counts()
  /** Error of a request, if it is not a WitnessError. The next round throws it. */
  #failure: { readonly error: unknown } | null = null
  /** Time until which nothing is sent because the witness did not answer. The pause grows with each failure. */
  #restUntilMs = 0
  #failures = 0
  #sweepAtMs = 0

  constructor(deps: WitnessSenderDeps, target: WitnessTarget) {
    this.#deps = deps
    this.#target = target
  }

  get name(): string {
    return this.#target.name
  }

  /** Longest time in seconds that a ledger has been waiting. 0 if no ledger is waiting. */
  get waitingSeconds(): number {
    const sinceMs = Math.min(...[...this.#waiting.values()].map((each) => each.sinceMs))
    return Number.isFinite(sinceMs) ? (this.#deps.now() - sinceMs) / 1_000 : 0
  }

  add(ledgerId: Uuid): void {
    if (this.#grown.size >= WITNESS_LEDGERS_WAITING_MAX) return
    this.#grown.add(ledgerId)
    this.#waker.wake()
  }

  #wait(uncosigned: readonly Uncosigned[], nowMs: number): void {
    for (const each of uncosigned) {
      const key = keyOf(each)
      if (this.#waiting.has(key) || this.#waiting.size >= WITNESS_LEDGERS_WAITING_MAX) continue
      this.#waiting.set(key, { ...each, sinceMs: nowMs, dueMs: nowMs, failures: 0 })
    }
  }

  get follower(): Follower {
    return {
      name: 'witness',
      everyMs: WITNESS_EVERY_MS,
      waker: this.#waker,
      step: () => this.step(),
    }
  }

  /**
   * Sends the checkpoints that are due, a few at a time. A round does not wait for a slow witness: unfinished requests
   * continue while later rounds send checkpoints of other ledgers. Returns true if there is more to send.
   */
  async step(): Promise<boolean> {
    const nowMs = this.#deps.now()
    await this.#expand(nowMs)
    if (nowMs < this.#restUntilMs) return false
    if (nowMs >= this.#sweepAtMs) await this.#sweep(nowMs)
    const round = new AbortController()
    const end = sleep(WITNESS_ROUND_MS_MAX, undefined, { signal: round.signal }).then(() => round.abort())
    for (let left = WITNESS_LEDGERS_PER_ROUND; !round.signal.aborted; ) {
      for (let next = this.#next(nowMs); next && left > 0; next = this.#next(nowMs), left--) this.#begin(next)
      if (this.#underWay.size === 0) round.abort()
      await Promise.race([end.catch(() => {}), ...this.#underWay.values()])
    }
    const broken = this.#failure
    this.#failure = null
    if (broken) throw broken.error
    return this.#next(nowMs) !== null
  }

  /**
   * Returns a due checkpoint that may be sent now, or null if there is none. Ledgers without a request under way come
   * first, so that one ledger does not take all requests.
   */
  #next(nowMs: number): WaitingCheckpoint | null {
    if (this.#underWay.size >= this.#target.postsMax) return null
    if (this.#deps.now() < this.#restUntilMs || this.#deps.stopping.aborted) return null
    let second: WaitingCheckpoint | null = null
    for (const [key, waiting] of this.#waiting) {
      if (waiting.dueMs > nowMs || this.#underWay.has(key)) continue
      const posts = this.#posts.of(waiting.ledgerId)
      if (posts === 0) return waiting
      if (posts < WITNESS_POSTS_PER_LEDGER_MAX) second ??= waiting
    }
    return second
  }

  #begin(waiting: WaitingCheckpoint): void {
    const [key, { ledgerId }] = [keyOf(waiting), waiting]
    this.#posts.add(ledgerId, 1)
    const sent = this.#send(waiting)
      .catch((error) => {
        this.#failure ??= { error }
      })
      .finally(() => {
        this.#underWay.delete(key)
        this.#posts.add(ledgerId, -1)
        if (this.#failure || this.#next(this.#deps.now())) this.#waker.wake()
      })
    this.#underWay.set(key, sent)
  }

  async #expand(nowMs: number): Promise<void> {
    if (this.#grown.size === 0) return
    const ledgerIds = [...this.#grown]
    this.#wait(await this.#target.expand(ledgerIds), nowMs)
    for (const ledgerId of ledgerIds) this.#grown.delete(ledgerId)
  }

  /**
   * Finds ledgers that this process has not been told about: another worker published their checkpoint, or this worker
   * has just started.
   */
  async #sweep(nowMs: number): Promise<void> {
    const uncosigned = await this.#target.sweep(WITNESS_SWEEP_AGE_MS, WITNESS_LEDGERS_PER_ROUND)
    this.#sweepAtMs = nowMs + WITNESS_SWEEP_EVERY_MS
    this.#wait(uncosigned, nowMs)
  }

  /**
   * Sends one checkpoint. The ledger is first removed from the waiting ledgers. A newer checkpoint that is published
   * during the request can then add it again.
   */
  async #send(waiting: WaitingCheckpoint): Promise<void> {
    const { observe, log, now, stopping } = this.#deps
    const { ledgerId, peerId } = waiting
    this.#waiting.delete(keyOf(waiting))
    try {
      if (await this.#target.send(waiting)) observe(this.name, 'cosigned')
      this.#failures = 0
    } catch (error) {
      const failures = waiting.failures + 1
      const pauseMs = error instanceof WitnessError ? (error.retryAfterMs ?? 0) : 0
      this.#waiting.set(keyOf(waiting), {
        ...waiting,
        dueMs: now() + Math.min(WITNESS_PAUSE_MS_MAX, Math.max(pauseMs, pauseAfter(failures))),
        failures,
      })
      // The error comes from the database, or from a tree that does not verify. The witness has not caused it.
      if (!(error instanceof WitnessError)) throw error
      if (stopping.aborted) return
      observe(this.name, error.failure)
      // A peer that declines is not logged, because there is nothing to investigate.
      if (error.failure === 'declined') return
      if (error.failure === 'unreachable' && this.#target.pausesAsOne) this.#pause(pauseMs)
      log.error(
        {
          witness: this.name,
          ledger: formatId('led', ledgerId),
          ...(peerId && { peer: formatId('peer', peerId) }),
          failure: error.failure,
          failures,
        },
        `a witness has not cosigned a checkpoint: ${error.message}`,
      )
    }
  }

  #pause(askedMs: number): void {
    this.#failures++
    const pauseMs = Math.max(askedMs, pauseAfter(this.#failures))
    this.#restUntilMs = this.#deps.now() + Math.min(WITNESS_PAUSE_MS_MAX, pauseMs)
  }
}

function keyOf({ ledgerId, peerId }: Uncosigned): string {
  return `${ledgerId} ${peerId}`
}

/**
 * Returns the pause after failures in ms. The pause doubles with each failure. A random part of it, at most half, is
 * subtracted, so that workers do not all continue at the same moment.
 */
function pauseAfter(failures: number): number {
  const pauseMs = Math.min(WITNESS_PAUSE_MS_MAX, WITNESS_PAUSE_MS_MIN * 2 ** Math.min(failures - 1, 20))
  return pauseMs * (0.5 + Math.random() / 2)
}
