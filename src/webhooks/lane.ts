import type pg from 'pg'
import type { LedgerEnds } from '../db/read-events.ts'
import { fromUuid } from '../db/uuid.ts'
import {
  countOpen,
  type DeliveryRow,
  type Endpoint,
  type EndpointLook,
  endTurn,
  moveRecovery,
  releaseHeld,
  type WebhookTurn,
  writeProgress,
} from '../db/webhook-work.ts'
import {
  WEBHOOK_OPEN_MAX,
  WEBHOOK_STRAGGLER_DUE_MS,
  WEBHOOK_STRAGGLER_MS,
  WEBHOOK_TURN_MS_MAX,
} from '../limits.ts'
import { toHex } from '../proof/bytes.ts'
import { type AttemptDeps, type AttemptResult, attemptDelivery } from './attempt.ts'
import { afterAttempt, type Delivery, rowOf } from './delivery.ts'
import { EndpointHealth } from './health.ts'
import type { DeliveryLoader } from './load.ts'
import { retryAfterMs, retryDelayMs } from './schedule.ts'
import type { WebhookSigner } from './secrets.ts'
import { type StopDeps, stopEndpoint } from './stop-endpoint.ts'
import { DeliveryWindow, type Task, type Write } from './window.ts'

/** Hears of each attempt; `ms`: since the event happened, where it was delivered at last. */
export type DeliveryObserver = (outcome: 'delivered' | 'failed' | 'dead', ms: number | null) => void

export type LaneDeps = AttemptDeps &
  StopDeps & {
    readonly pool: pg.Pool
    readonly permits: Permits
    readonly observeDelivery: DeliveryObserver
  }

/** Requests that may be under way at a time, of all lanes of a process. */
export type Permits = { tryTake(): boolean; release(): void }

type Settled = { readonly delivery: Delivery; readonly dueInMs: number | null }

/**
 * One endpoint's turn: sends it what it is to hear, as much at a time as it answers well, and writes down what became of it.
 *
 * Sending goes on while the database is asked; of reading and writing there is one at a time, so that a row that is read is
 * never one whose outcome is on its way.
 */
export class Lane {
  readonly turn: WebhookTurn
  readonly #deps: LaneDeps
  readonly #endpoint: Endpoint
  readonly #signers: readonly WebhookSigner[]
  readonly #loader: DeliveryLoader
  readonly #window: DeliveryWindow<Delivery, Settled>
  readonly #health: EndpointHealth
  readonly #ended = Promise.withResolvers<void>()
  readonly #startedAt = performance.now()
  readonly #cut = new AbortController()
  #ends: LedgerEnds
  #recover: Endpoint['recover']
  #mayHaveDue = true
  /** As the cursor had it when what is due was read; and when something that was retried here is due. */
  #dueSeen: string | null = null
  #retryAtMs = Number.POSITIVE_INFINITY
  #mayHaveMore = true
  /** Nothing more is begun; what is under way is awaited. */
  #closing = false
  /** It is another's turn: nothing is written any more. */
  #lost = false
  #busy = false
  /** What nobody wanted was passed over, or there is to be a rest, and the cursor does not say so yet. */
  #mustWrite = false

  constructor(
    deps: LaneDeps,
    turn: WebhookTurn,
    endpoint: Endpoint,
    about: { loader: DeliveryLoader; signers: readonly WebhookSigner[]; ends: LedgerEnds },
  ) {
    this.turn = turn
    this.#deps = deps
    this.#endpoint = endpoint
    this.#loader = about.loader
    this.#signers = about.signers
    this.#ends = about.ends
    this.#recover = endpoint.recover
    this.#health = new EndpointHealth(endpoint)
    this.#window = new DeliveryWindow({
      seq: endpoint.nextSeq,
      told: 0,
      checkpoint: endpoint.checkpointSize,
    })
  }

  /** Until there is nothing to do, or the turn is over. Throws what the database throws; others then take the turn. */
  async run(): Promise<void> {
    this.#pump()
    await this.#ended.promise
    if (this.#lost) return
    const stop = this.#health.stopOf(this.#deps.now())
    if (stop) await stopEndpoint(this.#deps, this.#endpoint, stop)
    await endTurn(this.#deps.pool, this.turn)
  }

  /** What has changed since the last look. */
  look({ isOurs, version, dueAt, isDue, size, checkpoint }: EndpointLook): void {
    if (!isOurs) this.#lost = true
    if (!isOurs || version !== this.#endpoint.version) this.#closing = true
    if ((isDue && dueAt !== this.#dueSeen) || this.#deps.now() >= this.#retryAtMs) {
      this.#mayHaveDue = true
      this.#dueSeen = dueAt
    }
    if (size > this.#ends.size || checkpoint > this.#ends.checkpoint) {
      this.#ends = { size, checkpoint }
      this.#mayHaveMore = true
    }
    this.#pump()
  }

  /** Begins nothing more. */
  close(): void {
    this.#closing = true
    this.#pump()
  }

  /** Cuts what is under way; it is sent again by whoever goes on. */
  cut(): void {
    this.#closing = true
    this.#cut.abort()
    this.#pump()
  }

  #pump(): void {
    if (performance.now() - this.#startedAt > WEBHOOK_TURN_MS_MAX) this.#closing = true
    this.#send()
    if (this.#busy) return
    const step = this.#nextStep()
    if (step === null) {
      const isIdle = this.#window.underWay === 0
      if (isIdle && (this.#window.queued === 0 || !this.#maySend())) this.#ended.resolve()
      return
    }
    this.#busy = true
    step().then(() => {
      this.#busy = false
      this.#pump()
    }, this.#fail)
  }

  /** What the database is to be asked next; null: nothing. */
  #nextStep(): (() => Promise<void>) | null {
    if (this.#lost) return null
    if (this.#window.writes > 0 || this.#mustWrite) return () => this.#write()
    if (!this.#maySend() || this.#window.queued >= this.#health.requestsMax) return null
    if (this.#mayHaveDue) return () => this.#loadDue()
    if (this.#recover) return () => this.#loadRecovery(this.#recover!)
    if (this.#mayHaveMore) return () => this.#loadNext()
    return null
  }

  #maySend(): boolean {
    return !this.#closing && !this.#health.mustWait(this.#deps.now())
  }

  #send(): void {
    const { permits, now } = this.#deps
    while (this.#maySend() && this.#window.queued > 0 && this.#window.underWay < this.#health.requestsMax) {
      if (!permits.tryTake()) return
      const task = this.#window.next(now())
      if (task === null) {
        permits.release()
        return
      }
      this.#deliver(task).then(() => {
        permits.release()
        this.#pump()
      }, this.#fail)
    }
  }

  readonly #fail = (error: unknown): void => {
    this.#lost = this.#closing = true
    this.#cut.abort()
    this.#ended.reject(error)
  }

  async #deliver(task: Task<Delivery>): Promise<void> {
    const { body } = task.content
    if (typeof body !== 'string') {
      this.#giveUp(task, body.error)
      return
    }
    const message = { eventId: task.content.eventId, body }
    const endpoint = { url: this.#endpoint.url, signers: this.#signers }
    this.#settle(task, await attemptDelivery(this.#deps, endpoint, message, this.#cut.signal))
  }

  #settle(task: Task<Delivery>, { outcome, attempt, retryAfterMs: askedMs }: AttemptResult): void {
    const delivery = afterAttempt(task.content, attempt)
    if (outcome === 'aborted') {
      this.#window.drop(task)
    } else if (outcome === 'delivered') {
      this.#succeed(task, delivery)
    } else {
      const waitMs = retryAfterMs(askedMs)
      this.#health.fail(this.#deps.now(), { isGone: outcome === 'gone', waitMs })
      this.#retry(task, delivery, waitMs)
    }
  }

  #succeed(task: Task<Delivery>, delivery: Delivery): void {
    const nowMs = this.#deps.now()
    this.#health.succeed(nowMs)
    const { happenedAtMs } = delivery
    this.#deps.observeDelivery('delivered', happenedAtMs === null ? null : nowMs - happenedAtMs)
    this.#window.settle(task, 'delivered', { delivery, dueInMs: null })
  }

  /** Not before `waitMs`, if ever. */
  #retry(task: Task<Delivery>, delivery: Delivery, waitMs: number): void {
    const delayMs = retryDelayMs(delivery.tries)
    this.#deps.observeDelivery(delayMs === null ? 'dead' : 'failed', null)
    if (delayMs === null) {
      this.#window.settle(task, 'dead', { delivery, dueInMs: null })
      return
    }
    const dueInMs = Math.max(delayMs, waitMs)
    this.#retryAtMs = Math.min(this.#retryAtMs, this.#deps.now() + dueInMs)
    this.#window.settle(task, 'retry', { delivery, dueInMs })
  }

  /** What must not be sent. */
  #giveUp(task: Task<Delivery>, error: string): void {
    const at = new Date(this.#deps.now()).toISOString()
    const attempt = { at, durationMs: 0, status: null, error, excerpt: null }
    this.#deps.observeDelivery('dead', null)
    this.#window.settle(task, 'dead', { delivery: afterAttempt(task.content, attempt), dueInMs: null })
  }

  async #loadDue(): Promise<void> {
    this.#mayHaveDue = false
    this.#retryAtMs = Number.POSITIVE_INFINITY
    const { tasks, full } = await this.#loader.due(this.#window.ids().map(fromUuid))
    for (const task of tasks) this.#window.add(task)
    this.#mayHaveDue ||= full
  }

  async #loadNext(): Promise<void> {
    this.#mayHaveMore = false
    // An endpoint that answers nothing fills its rows: what is new waits in the chain, which costs nothing.
    if ((await countOpen(this.#deps.pool, this.#endpoint, WEBHOOK_OPEN_MAX)) >= WEBHOOK_OPEN_MAX) {
      this.#health.rest(this.#deps.now())
      this.#mustWrite = true
      return
    }
    const { tasks, openRecords, position, more } = await this.#loader.next(this.#window.read, this.#ends)
    for (const task of tasks) {
      if (task.record !== null && openRecords.has(task.record)) this.#window.hold(task)
      else this.#window.add(task)
    }
    this.#window.readTo(position)
    this.#mustWrite = tasks.length === 0
    this.#mayHaveMore ||= more
  }

  async #loadRecovery(recover: NonNullable<Endpoint['recover']>): Promise<void> {
    const { rows, from } = await this.#loader.recovery(recover)
    await this.#write(rows)
    await moveRecovery(this.#deps.pool, this.turn, from)
    this.#recover = from === null ? null : { ...recover, from }
    this.#mayHaveDue = true
  }

  /** What became of deliveries, and `more` rows, in one statement. */
  async #write(more: readonly DeliveryRow[] = []): Promise<void> {
    this.#mustWrite = false
    const nowMs = this.#deps.now()
    const { writes, position } = this.#window.takeWrites(nowMs - WEBHOOK_STRAGGLER_MS)
    const progress = {
      nextSeq: position.seq,
      checkpointSize: position.checkpoint,
      health: this.#health.toWrite(nowMs),
      rows: [...writes.map(toRow), ...more],
    }
    if (!(await writeProgress(this.#deps.pool, this.turn, progress))) {
      this.#lost = this.#closing = true
      return
    }
    this.#window.confirm(writes)
    await this.#release([...writes.filter(mayRelease).map(toRow), ...more])
  }

  /** Lets go what was held by these, or is held since. */
  async #release(rows: readonly DeliveryRow[]): Promise<void> {
    const records = new Map(rows.flatMap(({ recordId }) => (recordId ? [[toHex(recordId), recordId]] : [])))
    if (records.size === 0) return
    if ((await releaseHeld(this.#deps.pool, this.#endpoint, [...records.values()])) > 0)
      this.#mayHaveDue = true
  }
}

function toRow({ task, outcome, result }: Write<Delivery, Settled>): DeliveryRow {
  const { delivery, dueInMs } = result ?? { delivery: task.content, dueInMs: null }
  if (outcome === null) return rowOf(delivery, 'pending', WEBHOOK_STRAGGLER_DUE_MS)
  if (outcome === 'retry') return rowOf(delivery, 'pending', dueInMs)
  return rowOf(delivery, outcome, null)
}

/** What has just been held may have been waiting for what is just done. */
function mayRelease({ outcome, stored }: Write<Delivery, Settled>): boolean {
  return outcome === 'held' || (stored && (outcome === 'delivered' || outcome === 'dead'))
}
