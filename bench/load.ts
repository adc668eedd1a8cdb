import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LatencySummary, makeLatencies, summarize } from '../cli/preflight/latencies.ts'
import type { WindowEdge } from './child.ts'
import { type Answer, LoadConnection, type Target } from './load-connection.ts'
import { makeArrivals, makeClosedLoop, type Pacer } from './load-pacers.ts'
import { makeRequests, type RequestShape } from './requests.ts'

export type LoadPlan = {
  /** Connections are spread over them in turn. */
  readonly targets: readonly Target[]
  readonly request: RequestShape
  /** Keep-alive connections, one request in flight on each. */
  readonly connections: number
  readonly pace: Pace
  /** Answers of the warm-up are counted as acknowledged, but not measured. */
  readonly warmUpMs: number
  readonly durationMs: number
  /** How long to wait, after the last request was due, for what is still unanswered. */
  readonly drainMsMax: number
  /** Every n-th answer is kept whole; 0: none. */
  readonly sampleEvery: number
}

/**
 * `closed`: a connection sends as soon as it was answered, so a slow server is asked less, and the percentiles
 * leave out who would have waited. `arrival`: requests are due at a constant rate whatever the server does, and
 * latency counts from when a request was *due* (corrected for coordinated omission). A request that is due while every
 * connection is busy waits in a backlog; past `backlogMax` it is dropped and counted.
 */
export type Pace =
  | { readonly kind: 'closed' }
  | { readonly kind: 'arrival'; readonly perSecond: number; readonly backlogMax: number }

export type LoadResult = {
  readonly pace: 'closed loop' | 'arrival rate, corrected for coordinated omission'
  readonly measuredMs: number
  /** Requests that were due within the measured window (closed loop: sent). */
  readonly offered: number
  /** Answers with the expected status within the measured window. */
  readonly achieved: number
  readonly achievedPerSecond: number
  readonly itemsPerSecond: number
  /** Nanoseconds; from when it was due (arrival rate) or sent (closed loop). Only answers with the expected status, and what was never answered. */
  readonly latency: LatencySummary
  /** Nanoseconds from the moment of sending: what a generator that omits waiting would report. */
  readonly service: LatencySummary
  /** The same as `latency`, of answers that refused: 503. */
  readonly refusals: LatencySummary
  /** The same as `service`, of answers that refused. */
  readonly refusalsService: LatencySummary
  /** Whole run, warm-up and drain included: what an audit must find. */
  readonly acknowledged: number
  readonly acknowledgedItems: number
  readonly sent: number
  /** Sent but never answered: committed or not, nobody here knows. */
  readonly unanswered: number
  readonly dropped: number
  readonly backlogHighest: number
  readonly statuses: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
  readonly samples: readonly Sample[]
  readonly cpu: { readonly microsPerRequest: number; readonly coreShare: number }
}

export type Sample = { readonly status: number; readonly body: string }

const REFUSED = 503
const SAMPLES_MAX = 2_000
const FAILED_SAMPLES_MAX = 5
const RECONNECT_DELAY_MS = 50
/** A server that refuses connections must not turn the generator into a busy loop. */
const RECONNECTS_MAX = 10_000

/** Runs one plan to its end, which is bounded: warm-up + duration + drain. Never throws for what a server does. */
export async function generateLoad(
  plan: LoadPlan,
  onEdge: (edge: WindowEdge) => void = () => {},
): Promise<LoadResult> {
  const run = new LoadRun(plan)
  await run.connect()
  run.start()
  await sleep(plan.warmUpMs)
  run.beginMeasuring()
  onEdge('measure')
  await sleep(plan.durationMs)
  run.endMeasuring()
  onEdge('measured')
  await run.drain()
  return run.result()
}

class LoadRun {
  readonly #plan: LoadPlan
  readonly #connections: LoadConnection[] = []
  readonly #pacer: Pacer
  readonly #latency = makeLatencies()
  readonly #service = makeLatencies()
  readonly #refusals = makeLatencies()
  readonly #refusalsService = makeLatencies()
  readonly #statuses: Record<string, number> = {}
  readonly #errors: Record<string, number> = {}
  readonly #samples: Sample[] = []
  #failedSamples = 0
  #reconnects = 0
  #sent = 0
  #acknowledged = 0
  #achieved = 0
  #unanswered = 0
  #offered = 0
  #beganAt = 0
  #measuring = false
  #measuredMs = 0
  #cpuMicros = 0
  #answeredMeasured = 0

  constructor(plan: LoadPlan) {
    this.#plan = plan
    this.#pacer = plan.pace.kind === 'closed' ? makeClosedLoop() : makeArrivals(plan.pace)
  }

  async connect(): Promise<void> {
    const { targets, connections, request } = this.#plan
    for (let i = 0; i < connections; i++) {
      const connection = new LoadConnection(targets[i % targets.length]!, makeRequests(request, i), {
        onAnswer: (answer) => this.#onAnswer(connection, answer),
        onLost: (wasInFlight, code) => this.#onLost(connection, wasInFlight, code),
      })
      this.#connections.push(connection)
    }
    await Promise.all(this.#connections.map((connection) => connection.open()))
  }

  start(): void {
    this.#pacer.start((connection, dueAt) => this.#send(connection, dueAt), this.#connections)
  }

  beginMeasuring(): void {
    this.#pacer.resetCounts()
    this.#beganAt = performance.now()
    this.#cpuMicros = processCpuMicros()
    this.#measuring = true
  }

  endMeasuring(): void {
    this.#measuring = false
    this.#measuredMs = performance.now() - this.#beganAt
    this.#cpuMicros = processCpuMicros() - this.#cpuMicros
    this.#pacer.stop()
    this.#offered = this.#pacer.offered
  }

  async drain(): Promise<void> {
    const deadline = performance.now() + this.#plan.drainMsMax
    const busy = () => this.#pacer.backlog > 0 || this.#connections.some((connection) => connection.inFlight)
    while (busy() && performance.now() < deadline) await sleep(5)
    for (const connection of this.#connections) {
      // A lower bound of its latency: leaving it out would be the omission that this generator avoids.
      if (connection.inFlight) this.#record(connection, performance.now())
      if (connection.inFlight) this.#unanswered++
      connection.close()
    }
  }

  #send(connection: LoadConnection, dueAt: number): void {
    this.#sent++
    const { sampleEvery } = this.#plan
    connection.send(dueAt, performance.now(), sampleEvery > 0 && this.#sent % sampleEvery === 0)
  }

  #onAnswer(connection: LoadConnection, answer: Answer): void {
    const now = performance.now()
    this.#statuses[answer.status] = (this.#statuses[answer.status] ?? 0) + 1
    const expected = answer.status === this.#plan.request.expectedStatus
    if (expected) this.#acknowledged++
    if (this.#measuring) this.#answeredMeasured++
    if (expected && this.#measuring) this.#achieved++
    if (expected) this.#record(connection, now)
    else if (answer.status === REFUSED && this.#isMeasured(connection)) {
      this.#refusals.record(now - connection.dueAt)
      this.#refusalsService.record(now - connection.sentAt)
    }
    if (answer.body !== null) this.#keep(answer.status, answer.body, expected)
    this.#pacer.onFree(connection)
  }

  /** A request due within the window counts, however late it was answered. */
  #record(connection: LoadConnection, now: number): void {
    if (!this.#isMeasured(connection)) return
    this.#latency.record(now - connection.dueAt)
    this.#service.record(now - connection.sentAt)
  }

  #isMeasured({ dueAt }: LoadConnection): boolean {
    if (this.#beganAt === 0 || dueAt < this.#beganAt) return false
    return this.#measuring || dueAt < this.#beganAt + this.#measuredMs
  }

  #keep(status: number, body: string, expected: boolean): void {
    if (!expected && this.#failedSamples++ >= FAILED_SAMPLES_MAX) return
    if (this.#samples.length < SAMPLES_MAX) this.#samples.push({ status, body })
  }

  #onLost(connection: LoadConnection, wasInFlight: boolean, code: string): void {
    this.#errors[code] = (this.#errors[code] ?? 0) + 1
    if (wasInFlight) this.#unanswered++
    this.#pacer.onLost(connection)
    if (this.#pacer.stopped || this.#reconnects++ >= RECONNECTS_MAX) return
    setTimeout(() => {
      connection.open().then(
        () => this.#pacer.onFree(connection),
        () => {},
      )
    }, RECONNECT_DELAY_MS).unref()
  }

  result(): LoadResult {
    const { pace, request } = this.#plan
    const perSecond = this.#achieved / (this.#measuredMs / 1000)
    return {
      pace: pace.kind === 'closed' ? 'closed loop' : 'arrival rate, corrected for coordinated omission',
      measuredMs: this.#measuredMs,
      offered: this.#offered,
      achieved: this.#achieved,
      achievedPerSecond: perSecond,
      itemsPerSecond: perSecond * request.items,
      latency: summarize(this.#latency),
      service: summarize(this.#service),
      refusals: summarize(this.#refusals),
      refusalsService: summarize(this.#refusalsService),
      acknowledged: this.#acknowledged,
      acknowledgedItems: this.#acknowledged * request.items,
      sent: this.#sent,
      unanswered: this.#unanswered,
      dropped: this.#pacer.dropped,
      backlogHighest: this.#pacer.backlogHighest,
      statuses: this.#statuses,
      errors: this.#errors,
      samples: this.#samples,
      cpu: {
        microsPerRequest: this.#answeredMeasured === 0 ? 0 : this.#cpuMicros / this.#answeredMeasured,
        coreShare: this.#measuredMs === 0 ? 0 : this.#cpuMicros / 1000 / this.#measuredMs,
      },
    }
  }
}

export function processCpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
