import { performance } from 'node:perf_hooks'
import { type Answer, LoadConnection, type Target } from './connection.ts'
import { makeJob, type Times, type WindowEdge } from './job.ts'
import { makeArrivals, makeClosedLoop, type Pacer } from './pacers.ts'
import { expectedStatus, makeRequests, type RequestShape } from './requests.ts'
import { type LoadResult, measure, Tally, untilIdle } from './tally.ts'

export type LoadPlan = Times & {
  /** The servers that are measured. Connections are spread over them, round-robin. */
  readonly targets: readonly Target[]
  readonly request: RequestShape
  readonly connections: number
  readonly pace: Pace
  /** Every n-th answer is stored whole. With 0, no answer is stored. */
  readonly sampleEvery: number
}

/**
 * How requests are timed.
 *
 * - `closed`: a connection sends its next request as soon as the last one is answered. A slow server therefore gets
 *   less load, and the percentiles leave out requests that would have waited.
 * - `arrival`: requests are due at a constant rate, however the server behaves. Latency counts from the time when a
 *   request was *due* (corrected for coordinated omission). A request that is due while every connection is busy waits
 *   in a backlog. Above `backlogMax` it is dropped and counted.
 */
export type Pace =
  | { readonly kind: 'closed' }
  | { readonly kind: 'arrival'; readonly perSecond: number; readonly backlogMax: number }

const REFUSED = 503
const RECONNECT_DELAY_MS = 50
/** Maximum number of reconnects. Without it, a server that refuses connections causes a busy loop. */
const RECONNECTS_MAX = 10_000

/** Runs one plan to its end. An error of the server is counted and never thrown. */
export async function generateLoad(
  plan: LoadPlan,
  onEdge: (edge: WindowEdge) => void = () => {},
): Promise<LoadResult> {
  const tally = new Tally()
  const run = new LoadRun(plan, tally)
  await measure(tally, run, plan, onEdge)
  return run.result()
}

class LoadRun {
  readonly #plan: LoadPlan
  readonly #tally: Tally
  readonly #status: number
  readonly #connections: LoadConnection[] = []
  readonly #pacer: Pacer
  #reconnects = 0

  constructor(plan: LoadPlan, tally: Tally) {
    this.#plan = plan
    this.#tally = tally
    this.#status = expectedStatus(plan.request)
    this.#pacer = plan.pace.kind === 'closed' ? makeClosedLoop() : makeArrivals(plan.pace)
  }

  async start(): Promise<void> {
    const { targets, connections, request } = this.#plan
    for (let i = 0; i < connections; i++) {
      const connection = new LoadConnection(targets[i % targets.length]!, makeRequests(request, i), {
        onAnswer: (answer) => this.#onAnswer(connection, answer),
        onLost: (wasInFlight, code) => this.#onLost(connection, wasInFlight, code),
      })
      this.#connections.push(connection)
    }
    await Promise.all(this.#connections.map((connection) => connection.open()))
    this.#pacer.start((connection, dueAt) => this.#send(connection, dueAt), this.#connections)
  }

  onMeasure(): void {
    this.#pacer.resetCounts()
  }

  stop(): void {
    this.#pacer.stop()
    this.#tally.measured.offered = this.#pacer.offered
  }

  async drain(msMax: number): Promise<void> {
    const isBusy = () => this.#pacer.backlog > 0 || this.#connections.some(({ inFlight }) => inFlight)
    await untilIdle(isBusy, msMax)
    for (const connection of this.#connections) {
      // This request has no answer yet. The time until now is a lower bound of its latency. Leaving it out would be
      // coordinated omission.
      if (connection.inFlight) this.#record(connection, performance.now())
      if (connection.inFlight) this.#tally.unanswered++
      connection.close()
    }
  }

  #send(connection: LoadConnection, dueAt: number): void {
    const sent = ++this.#tally.sent
    const { sampleEvery } = this.#plan
    connection.send(dueAt, performance.now(), sampleEvery > 0 && sent % sampleEvery === 0)
  }

  #onAnswer(connection: LoadConnection, { status, body }: Answer): void {
    const now = performance.now()
    const tally = this.#tally
    const { items } = this.#plan.request
    const expected = status === this.#status
    tally.answer(status)
    if (expected) {
      tally.acknowledge(items)
      tally.achieve(items)
      this.#record(connection, now)
    } else if (status === REFUSED) tally.refuse(connection, now)
    if (body !== null) tally.addSample(status, body, expected)
    this.#pacer.onFree(connection)
  }

  #record({ dueAt, sentAt }: LoadConnection, now: number): void {
    if (!this.#tally.isMeasured(dueAt)) return
    this.#tally.latency.record(now - dueAt)
    this.#tally.service.record(now - sentAt)
  }

  #onLost(connection: LoadConnection, wasInFlight: boolean, code: string): void {
    this.#tally.lose(wasInFlight, code)
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
    const isClosed = this.#plan.pace.kind === 'closed'
    const pace = isClosed ? 'closed loop' : 'arrival rate, corrected for coordinated omission'
    return this.#tally.result(pace, this.#pacer)
  }
}

export const runLoad = makeJob(import.meta.url, generateLoad)
