import { performance } from 'node:perf_hooks'
import { type LatencySummary, makeLatencies, summarize } from '../../cli/preflight/latencies.ts'
import type { Answer, Target } from './connection.ts'
import { makeJob, type Times, type WindowEdge } from './job.ts'
import { type CompleteRecord, LifecycleClient, type LifecycleEvents } from './lifecycle-client.ts'
import {
  type Gate,
  LIFECYCLE_STEPS,
  type LifecycleShape,
  type LifecycleStep,
  makeLifecycleRequests,
} from './requests.ts'
import { type LoadResult, measure, Tally, untilIdle } from './tally.ts'

export type LifecyclePlan = Times & {
  readonly targets: readonly Target[]
  readonly request: LifecycleShape
  /** Number of clients. Each client has its own connection, and one record in progress. */
  readonly clients: number
  readonly sampleEvery: number
}

/**
 * `load`: figures of whole records, in nanoseconds. Counts only records that started within the measured window. The
 * figures of requests count only requests that were answered within the window.
 */
type LifecycleResult = {
  readonly load: LoadResult
  readonly requestsPerSecond: number
  readonly steps: Readonly<Record<LifecycleStep, LatencySummary>>
  /** Time from the completion's answer to the end of the poll that saw the completion verified. */
  readonly wait: LatencySummary
  readonly looksPerRecord: number
  readonly complete: number
  readonly abandoned: number
}

export type LifecycleFigures = Omit<LifecycleResult, 'load'> & { readonly gate: Gate }

/**
 * Runs clients in a closed loop: a client starts its next record after the last record is complete, so a slow server
 * gets less load. An error of the server is counted and never thrown.
 */
export async function generateLifecycles(
  plan: LifecyclePlan,
  onEdge: (edge: WindowEdge) => void = () => {},
): Promise<LifecycleResult> {
  const tally = new Tally()
  const run = new LifecycleRun(plan, tally)
  await measure(tally, run, plan, onEdge)
  return run.result()
}

class LifecycleRun implements LifecycleEvents {
  readonly #plan: LifecyclePlan
  readonly #tally: Tally
  readonly #clients: LifecycleClient[]
  readonly #wait = makeLatencies()
  readonly #steps = Object.fromEntries(LIFECYCLE_STEPS.map((step) => [step, makeLatencies()])) as Record<
    LifecycleStep,
    ReturnType<typeof makeLatencies>
  >
  #complete = 0
  #abandoned = 0
  #measuredLooks = 0

  constructor(plan: LifecyclePlan, tally: Tally) {
    this.#plan = plan
    this.#tally = tally
    const { targets, request, clients } = plan
    this.#clients = Array.from({ length: clients }, (_, i) => {
      const requests = makeLifecycleRequests(request, i)
      return new LifecycleClient(targets[i % targets.length]!, request.gate, requests, this)
    })
  }

  async start(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.open()))
    for (const client of this.#clients) client.begin()
  }

  stop(): void {
    for (const client of this.#clients) client.stop()
  }

  async drain(msMax: number): Promise<void> {
    await untilIdle(() => this.#clients.some((client) => client.isBusy), msMax)
    for (const client of this.#clients) {
      if (client.isBusy) this.#abandoned++
      if (client.inFlight) this.#tally.unanswered++
      client.close()
    }
  }

  onBegin(): void {
    if (this.#tally.isMeasuring) this.#tally.measured.offered++
  }

  onAnswer(step: LifecycleStep, ms: number, { status, body }: Answer, expected: boolean): void {
    const tally = this.#tally
    tally.answer(status)
    tally.sent++
    if (step === 'create' && expected) tally.acknowledge(1)
    if (tally.isMeasuring && expected) this.#steps[step].record(ms)
    const { sampleEvery } = this.#plan
    const isSample = sampleEvery > 0 && tally.sent % sampleEvery === 0
    if (body !== null && (isSample || !expected)) tally.addSample(status, body, expected)
  }

  onComplete({ begunAt, deliveredAt, verifiedAt, looks }: CompleteRecord): void {
    const tally = this.#tally
    const now = performance.now()
    this.#complete++
    tally.achieve(1)
    if (tally.isMeasuring) this.#measuredLooks += looks
    if (!tally.isMeasured(begunAt)) return
    tally.latency.record(now - begunAt)
    tally.service.record(now - begunAt)
    this.#wait.record(verifiedAt - deliveredAt)
  }

  onAbandoned(): void {
    this.#abandoned++
  }

  onLost(wasInFlight: boolean, code: string): void {
    this.#tally.lose(wasInFlight, code)
  }

  result(): LifecycleResult {
    const { seconds, measured, sent, unanswered } = this.#tally
    // `sent` contains only records with an answer, so records without an answer are added.
    this.#tally.sent = sent + unanswered
    return {
      load: this.#tally.result('closed loop'),
      requestsPerSecond: measured.answered / seconds,
      steps: Object.fromEntries(
        LIFECYCLE_STEPS.map((step) => [step, summarize(this.#steps[step])]),
      ) as LifecycleResult['steps'],
      wait: summarize(this.#wait),
      looksPerRecord: this.#measuredLooks / Math.max(1, measured.achieved),
      complete: this.#complete,
      abandoned: this.#abandoned,
    }
  }
}

export const runLifecycles = makeJob(import.meta.url, generateLifecycles)
