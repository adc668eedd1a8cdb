import type pg from 'pg'
import { isUnreadable } from '../../db/connect/archive.ts'
import type { LedgerEnds } from '../../db/events/read-events.ts'
import {
  type Endpoint,
  type EndpointState,
  endDelivery,
  moveRecovery,
  type WebhookLease,
} from '../../db/events/webhook-leases.ts'
import { type Attempt, countOpen, type WrittenDelivery } from '../../db/events/webhook-work.ts'
import type { Shares } from '../../load/shares.ts'
import type { Uuid } from '../../proof/ids.ts'
import { type AttemptDeps, type AttemptResult, attemptDelivery, type DeliveryObserver } from './attempt.ts'
import { afterAttempt, type Delivery } from './delivery.ts'
import { EndpointHealth } from './health.ts'
import {
  WEBHOOK_ARCHIVE_PAUSE_MS,
  WEBHOOK_GATED_PAUSE_MS,
  WEBHOOK_LEASE_USE_MS_MAX,
  WEBHOOK_LINGER_MS,
  WEBHOOK_OPEN_MAX,
  WEBHOOK_PAUSE_MS,
  WEBHOOK_ROWS_PER_WRITE,
  WEBHOOK_STRAGGLER_MS,
  WEBHOOK_WRITE_AFTER_MS,
} from './limits.ts'
import type { DeliveryLoader } from './load.ts'
import { retryAfterMs, retryDelayMs } from './schedule.ts'
import type { WebhookSigner } from './secrets.ts'
import { isDownStatus } from './statuses.ts'
import { type StopDeps, stopEndpoint } from './stop-endpoint.ts'
import { DeliveryWindow, type Task } from './window.ts'
import {
  mayRelease,
  type RedeliveredEvent,
  type SettledDelivery,
  toRow,
  writeOutcomes,
} from './write-outcomes.ts'

export type EndpointSenderDeps = AttemptDeps &
  StopDeps & {
    readonly pool: pg.Pool
    /** Divides the requests that this process may have under way among its endpoints. */
    readonly requests: Shares
    readonly observeDelivery: DeliveryObserver
    /** Makes the follower verify the ledger at once. */
    readonly requestVerification: (ledgerId: Uuid) => void
  }

/**
 * Delivers to one endpoint during one lease: reads deliveries, sends them, and writes their outcomes. The number of
 * concurrent requests depends on how well the endpoint answers.
 *
 * Sending continues during a query. Only one read or write runs at a time, so that no row is read while its outcome is
 * being written. Successful deliveries are gathered before they are written, and the stream is read meanwhile. A
 * delivery is written at once if it must be retried or if other deliveries wait for it, because its row decides what
 * may be sent next.
 */
export class EndpointSender {
  readonly lease: WebhookLease
  readonly #deps: EndpointSenderDeps
  readonly #endpoint: Endpoint
  readonly #signers: readonly WebhookSigner[]
  readonly #loader: DeliveryLoader
  readonly #window: DeliveryWindow<Delivery, SettledDelivery>
  readonly #health: EndpointHealth
  readonly #ended = Promise.withResolvers<void>()
  readonly #startedAt = performance.now()
  readonly #cut = new AbortController()
  #ends: LedgerEnds
  #recover: Endpoint['recover']
  #mayHaveDue: boolean
  /** The cursor's due time, as it was when due deliveries were last read. */
  #dueSeen: string | null = null
  #retryAtMs = Number.POSITIVE_INFINITY
  #mayHaveMore = true
  /**
   * True if the stream's next event is a settlement that waits for the ledger's verified size. All later events wait
   * too. `#isDueGated`: true if some due deliveries are such settlements.
   */
  #isStreamGated = false
  #isDueGated = false
  /** True if the archive did not return the next event of the stream, or the events to recover. */
  #isArchiveAway = false
  /** True if the sender starts nothing more and waits for the deliveries under way. */
  #closing = false
  /** True if another job has the lease. Then this sender writes nothing more. */
  #isLeaseLost = false
  #busy = false
  /**
   * True if a write is needed at once: other deliveries depend on an outcome, the position has moved past unwanted
   * events only, or a pause begins.
   */
  #mustWrite = false
  /**
   * Time by `performance.now()` since which outcomes wait to be written. null if none wait. `#idleSince`: time since
   * which there is nothing to do. null if there is work.
   */
  #unwrittenSince: number | null = null
  #idleSince: number | null = null
  /**
   * Upper bound of the number of pending and waiting deliveries. Other processes only lower the number, except when a
   * caller requests redelivery.
   */
  #open: number
  readonly #mayLinger: () => boolean

  constructor(
    deps: EndpointSenderDeps,
    lease: WebhookLease,
    endpoint: Endpoint,
    about: {
      readonly loader: DeliveryLoader
      readonly signers: readonly WebhookSigner[]
      /** Returns true if an endpoint without work may keep its lease for a short time. */
      readonly mayLinger: () => boolean
    },
  ) {
    this.lease = lease
    this.#deps = deps
    this.#endpoint = endpoint
    this.#loader = about.loader
    this.#signers = about.signers
    this.#mayLinger = about.mayLinger
    this.#ends = endpoint.ends
    this.#open = endpoint.open
    this.#mayHaveDue = endpoint.hasDue
    this.#recover = endpoint.recover
    this.#health = new EndpointHealth(endpoint, deps.now())
    this.#window = new DeliveryWindow({
      seq: endpoint.nextSeq,
      eventsDelivered: 0,
      checkpoint: endpoint.checkpointSize,
    })
  }

  get queued(): number {
    return this.#window.queued
  }

  /**
   * Delivers until there is nothing to do or the lease is over. Throws database errors. After such an error another job
   * takes the lease.
   */
  async run(): Promise<void> {
    this.#pump()
    await this.#ended.promise
    if (this.#isLeaseLost) return
    const stop = this.#health.stopOf(this.#deps.now())
    if (stop) await stopEndpoint(this.#deps, this.#endpoint, stop)
    await endDelivery(this.#deps.pool, this.lease, this.#pauseMs)
  }

  get #pauseMs(): number | null {
    if (this.#isArchiveAway) return WEBHOOK_PAUSE_MS
    return this.#isGated ? WEBHOOK_GATED_PAUSE_MS : null
  }

  applyState({ isOurs, version, dueAt, isDue, ends }: EndpointState): void {
    if (!isOurs) this.#isLeaseLost = true
    if (!isOurs || version !== this.#endpoint.version) this.#closing = true
    if ((isDue && dueAt !== this.#dueSeen) || this.#deps.now() >= this.#retryAtMs) {
      this.#mayHaveDue = true
      this.#dueSeen = dueAt
    }
    const { size, checkpoint, verifiedSize } = this.#ends
    this.#ends = ends
    if (ends.size > size || ends.checkpoint > checkpoint) this.#mayHaveMore ||= !this.#isStreamGated
    // The verified size has fallen, so a fault was found. The lease ends, and deliveries that were read but not sent
    // are read again later.
    if (ends.verifiedSize < verifiedSize) this.#closing = true
    if (ends.verifiedSize > verifiedSize) this.#openGate()
    else if (this.#isGated) this.#deps.requestVerification(this.#endpoint.ledgerId)
    this.#pump()
  }

  close(): void {
    this.#closing = true
    this.#pump()
  }

  /** Aborts the requests under way. The next worker sends their deliveries again. */
  cut(): void {
    this.#closing = true
    this.#cut.abort()
    this.#pump()
  }

  #pump(): void {
    if (performance.now() - this.#startedAt > WEBHOOK_LEASE_USE_MS_MAX) this.#closing = true
    this.#send()
    if (this.#busy) return
    const step = this.#nextStep()
    if (step === null) {
      if (this.#isOver()) this.#end()
      return
    }
    this.#busy = true
    step().then(() => {
      this.#busy = false
      this.#pump()
    }, this.#fail)
  }

  /**
   * Ends the lease. A poll that is still running must not start anything, because another worker would send the same
   * deliveries too.
   */
  #end(): void {
    this.#closing = true
    this.#ended.resolve()
  }

  /**
   * Returns true if the lease is over. An endpoint with a steady flow of events keeps its lease, because a new lease
   * for each event would cost more than the event.
   */
  #isOver(): boolean {
    if (this.#window.underWay > 0) return false
    if (this.#isLeaseLost || !this.#maySend()) return true
    if (this.#window.queued > 0) return false
    const nowMs = performance.now()
    this.#idleSince ??= nowMs
    return nowMs - this.#idleSince >= WEBHOOK_LINGER_MS || !this.#mayLinger()
  }

  /** Returns the next read or write of the database. Returns null if nothing is to be read or written. */
  #nextStep(): (() => Promise<void>) | null {
    if (this.#isLeaseLost) return null
    if (this.#mustWrite || this.#isWriteDue()) return () => this.#write()
    if (!this.#maySend() || this.#window.queued >= Math.min(this.#health.requestsMax, this.#loader.perLoad))
      return null
    const isNextOnly = !this.#mayHaveDue && !this.#recover
    if (this.#mayHaveMore && (isNextOnly || this.#health.isNewFirst)) return () => this.#loadNext()
    if (isNextOnly) return null
    // Writes outcomes first, because the following read relies on the written rows.
    if (this.#window.writes > 0) return () => this.#write()
    return this.#mayHaveDue ? () => this.#loadDue() : () => this.#loadRecovery(this.#recover!)
  }

  #isWriteDue(): boolean {
    const { writes, underWay } = this.#window
    if (writes === 0) return false
    const nowMs = performance.now()
    this.#unwrittenSince ??= nowMs
    const isOld = nowMs - this.#unwrittenSince >= WEBHOOK_WRITE_AFTER_MS
    const mayHaveMore = this.#mayHaveMore && this.#maySend()
    return writes >= WEBHOOK_ROWS_PER_WRITE || isOld || (underWay === 0 && !mayHaveMore)
  }

  #maySend(): boolean {
    return !this.#closing && !this.#health.mustWait(this.#deps.now())
  }

  #send(): void {
    const { requests, now } = this.#deps
    const { webhookId } = this.lease
    while (this.#maySend() && this.#window.queued > 0 && this.#window.underWay < this.#health.requestsMax) {
      if (!requests.hasRoom(webhookId)) return
      const task = this.#window.next(now())
      if (task === null) return
      requests.take(webhookId)
      this.#deliver(task)
        .finally(() => requests.release(webhookId))
        .then(() => this.#pump(), this.#fail)
    }
  }

  readonly #fail = (error: unknown): void => {
    this.#isLeaseLost = this.#closing = true
    this.#cut.abort()
    this.#ended.reject(error)
  }

  async #deliver(task: Task<Delivery>): Promise<void> {
    const { body } = task.content
    if (body === null) {
      this.#postpone(task)
      return
    }
    if (typeof body !== 'string') {
      this.#giveUp(task, body.error)
      return
    }
    this.#idleSince = null
    const endpoint = { ...this.#endpoint, signers: this.#signers }
    const delivery = { ...task.content, body }
    this.#settle(task, await attemptDelivery(this.#deps, endpoint, delivery, this.#cut.signal))
  }

  #settle(task: Task<Delivery>, { outcome, attempt, retryAfterMs: askedMs }: AttemptResult): void {
    const delivery = afterAttempt(task.content, attempt)
    if (outcome === 'aborted') {
      this.#window.drop(task)
    } else if (outcome === 'delivered') {
      this.#succeed(task, delivery, attempt)
    } else {
      const waitMs = retryAfterMs(askedMs)
      const isDown = attempt.status === null || isDownStatus(attempt.status)
      this.#health.fail(this.#deps.now(), { isDown, isGone: outcome === 'gone', waitMs })
      this.#retry(task, delivery, { attempt, waitMs })
    }
  }

  #succeed(task: Task<Delivery>, delivery: Delivery, attempt: Attempt): void {
    const nowMs = this.#deps.now()
    this.#health.succeed(nowMs)
    const { happenedAtMs } = delivery
    const lagMs = happenedAtMs === null ? null : nowMs - happenedAtMs
    this.#deps.observeDelivery({ ...attempt, outcome: 'delivered', lagMs })
    this.#window.settle(task, 'delivered', { delivery, dueInMs: null })
  }

  /** Retries the delivery after `waitMs` at the earliest, or gives the delivery up after its last attempt. */
  #retry(
    task: Task<Delivery>,
    delivery: Delivery,
    { attempt, waitMs }: { readonly attempt: Attempt; readonly waitMs: number },
  ): void {
    this.#mustWrite = true
    const delayMs = retryDelayMs(delivery.tries)
    this.#deps.observeDelivery({ ...attempt, outcome: delayMs === null ? 'dead' : 'failed', lagMs: null })
    if (delayMs === null) {
      this.#window.settle(task, 'dead', { delivery, dueInMs: null })
      return
    }
    const dueInMs = Math.max(delayMs, waitMs)
    this.#retryAtMs = Math.min(this.#retryAtMs, this.#deps.now() + dueInMs)
    this.#window.settle(task, 'retry', { delivery, dueInMs })
  }

  /**
   * Postpones a delivery whose event the archive did not return. This counts neither as an attempt nor as a failure
   * of the endpoint.
   */
  #postpone(task: Task<Delivery>): void {
    this.#mustWrite = true
    this.#retryAtMs = Math.min(this.#retryAtMs, this.#deps.now() + WEBHOOK_ARCHIVE_PAUSE_MS)
    this.#window.settle(task, 'retry', { delivery: task.content, dueInMs: WEBHOOK_ARCHIVE_PAUSE_MS })
  }

  #giveUp(task: Task<Delivery>, error: string): void {
    const at = new Date(this.#deps.now()).toISOString()
    const attempt = { at, durationMs: 0, status: null, error, reason: null, excerpt: null }
    this.#mustWrite = true
    this.#deps.observeDelivery({ outcome: 'dead', status: null, error, durationMs: null, lagMs: null })
    this.#window.settle(task, 'dead', { delivery: afterAttempt(task.content, attempt), dueInMs: null })
  }

  async #loadDue(): Promise<void> {
    this.#mayHaveDue = false
    this.#retryAtMs = Number.POSITIVE_INFINITY
    const ends = this.#ends
    const { tasks, full, isGated } = await this.#loader.due(this.#window.ids(), ends)
    this.#isDueGated = isGated
    this.#checkGate(ends)
    for (const task of tasks) this.#mayHaveDue = !this.#window.add(task, false) || this.#mayHaveDue
    this.#mayHaveDue ||= full
  }

  async #loadNext(): Promise<void> {
    this.#mayHaveMore = false
    // Limits the number of rows of an endpoint that never answers. New events wait in the chain, which costs nothing.
    if (this.#open >= WEBHOOK_OPEN_MAX)
      this.#open = await countOpen(this.#deps.pool, this.#endpoint, WEBHOOK_OPEN_MAX)
    if (this.#open >= WEBHOOK_OPEN_MAX) {
      // Sending due deliveries makes room, so they are read first. Without this line the sender would pause. An
      // endpoint whose lease begins with a new delivery would then never get its due deliveries.
      if (this.#mayHaveDue) return
      this.#health.pause(this.#deps.now())
      this.#mustWrite = true
      return
    }
    const ends = this.#ends
    const read = await this.#unlessUnreadable(this.#loader.next(this.#window.read, ends))
    if (read === null) return
    const { tasks, openRecords, position, more, isGated } = read
    this.#isStreamGated = isGated
    this.#checkGate(ends)
    for (const task of tasks) {
      const isRecordOpen = task.record !== null && openRecords.has(task.record)
      this.#window.add(task, isRecordOpen)
      this.#mustWrite ||= isRecordOpen
    }
    this.#window.readTo(position)
    this.#mustWrite ||= tasks.length === 0
    this.#mayHaveMore ||= more
  }

  /** Awaits a read. Returns null if the archive did not return the data. */
  async #unlessUnreadable<T>(loaded: Promise<T>): Promise<T | null> {
    try {
      return await loaded
    } catch (error) {
      if (!isUnreadable(error)) throw error
      this.#isArchiveAway = true
      return null
    }
  }

  get #isGated(): boolean {
    return this.#isStreamGated || this.#isDueGated
  }

  /**
   * Lets gated deliveries continue if the verified size has risen above the size that the read used (`ends`). Otherwise
   * requests verification.
   */
  #checkGate(ends: LedgerEnds): void {
    if (!this.#isGated) return
    if (this.#ends.verifiedSize > ends.verifiedSize) this.#openGate()
    else this.#deps.requestVerification(this.#endpoint.ledgerId)
  }

  #openGate(): void {
    this.#mayHaveMore ||= this.#isStreamGated
    this.#mayHaveDue ||= this.#isDueGated
    this.#isStreamGated = this.#isDueGated = false
  }

  async #loadRecovery(recover: NonNullable<Endpoint['recover']>): Promise<void> {
    const read = await this.#unlessUnreadable(this.#loader.recovery(recover))
    if (read === null) {
      // The recovery is still in the stored cursor, so a later lease continues the recovery.
      this.#recover = null
      return
    }
    const { fresh, again, from } = read
    await this.#write(fresh, again)
    await moveRecovery(this.#deps.pool, this.lease, from)
    this.#recover = from === null ? null : { ...recover, from }
    this.#mayHaveDue = true
  }

  /** Writes outcomes and the rows of `more` in one statement. `again`: settled deliveries that are sent again. */
  async #write(
    more: readonly WrittenDelivery[] = [],
    again: readonly RedeliveredEvent[] = [],
  ): Promise<void> {
    this.#mustWrite = false
    this.#unwrittenSince = null
    const nowMs = this.#deps.now()
    const { writes, position } = this.#window.takeWrites(nowMs - WEBHOOK_STRAGGLER_MS)
    const rows = [...writes.map(toRow), ...more]
    const progress = {
      nextSeq: position.seq,
      checkpointSize: position.checkpoint,
      health: this.#health.toWrite(nowMs),
      rows,
    }
    this.#open += rows.filter(({ state }) => state === 'pending' || state === 'held').length
    const letsGo = [...writes.filter(mayRelease).map(toRow), ...more, ...again]
    const of = { lease: this.lease, endpoint: this.#endpoint }
    const { isOurs, released } = await writeOutcomes(this.#deps.pool, of, progress, again, letsGo)
    if (!isOurs) {
      this.#isLeaseLost = this.#closing = true
      return
    }
    this.#mayHaveDue ||= released > 0
    this.#window.confirm(writes)
  }
}
