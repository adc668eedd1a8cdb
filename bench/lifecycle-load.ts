import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LatencySummary, makeLatencies, summarize } from '../cli/preflight/latencies.ts'
import { runJob, serveJob, type WindowEdge, type WindowEvents } from './child.ts'
import { type CompleteRecord, LifecycleClient, type LifecycleEvents } from './lifecycle-client.ts'
import {
  type Gate,
  LIFECYCLE_STEPS,
  type LifecycleShape,
  type LifecycleStep,
  makeLifecycleRequests,
} from './lifecycle-requests.ts'
import { type LoadResult, processCpuMicros, type Sample } from './load.ts'
import type { Answer, Target } from './load-connection.ts'

export type LifecyclePlan = {
  readonly targets: readonly Target[]
  readonly request: LifecycleShape
  /** Each has a connection of its own, and one record under way. */
  readonly clients: number
  readonly warmUpMs: number
  readonly durationMs: number
  /** How long to wait, after the window, for records that are under way. */
  readonly drainMsMax: number
  readonly sampleEvery: number
}

/** `load`: of whole records. Nanoseconds; of records that began, and requests that were answered, within the window. */
type LifecycleResult = {
  readonly load: LoadResult
  readonly requestsPerSecond: number
  readonly steps: Readonly<Record<LifecycleStep, LatencySummary>>
  /** From the completion's answer to the end of the look that saw it verified. */
  readonly wait: LatencySummary
  readonly looksPerRecord: number
  readonly complete: number
  readonly abandoned: number
}

const SAMPLES_MAX = 500
const FAILED_SAMPLES_MAX = 5
/** Past the plan's own bounds the process hangs. */
const GRACE_MS = 15_000

/** `generateLifecycles` in a process of its own. */
export function runLifecycles(plan: LifecyclePlan, events: WindowEvents = {}): Promise<LifecycleResult> {
  return runJob(import.meta.url, plan, plan.warmUpMs + plan.durationMs + plan.drainMsMax + GRACE_MS, events)
}

/**
 * A closed loop: a client begins its next record when the last one is complete, so a slow server is asked less. Bounded by
 * warm-up + duration + drain; never throws for what a server does.
 */
export async function generateLifecycles(
  plan: LifecyclePlan,
  onEdge: (edge: WindowEdge) => void = () => {},
): Promise<LifecycleResult> {
  const run = new LifecycleRun(plan)
  await run.start()
  await sleep(plan.warmUpMs)
  run.beginMeasuring()
  onEdge('measure')
  await sleep(plan.durationMs)
  run.endMeasuring()
  onEdge('measured')
  await run.drain()
  return run.result()
}

class LifecycleRun implements LifecycleEvents {
  readonly #plan: LifecyclePlan
  readonly #clients: LifecycleClient[]
  readonly #record = makeLatencies()
  readonly #wait = makeLatencies()
  readonly #steps = Object.fromEntries(LIFECYCLE_STEPS.map((step) => [step, makeLatencies()])) as Record<
    LifecycleStep,
    ReturnType<typeof makeLatencies>
  >
  readonly #statuses: Record<string, number> = {}
  readonly #errors: Record<string, number> = {}
  readonly #samples: Sample[] = []
  #failedSamples = 0
  #created = 0
  #complete = 0
  #abandoned = 0
  #unanswered = 0
  #answered = 0
  #measured = { begun: 0, complete: 0, answered: 0, looks: 0 }
  #beganAt = Number.POSITIVE_INFINITY
  #endedAt = Number.POSITIVE_INFINITY
  #cpuMicros = 0

  constructor(plan: LifecyclePlan) {
    this.#plan = plan
    const { targets, request, clients } = plan
    this.#clients = Array.from(
      { length: clients },
      (_, i) =>
        new LifecycleClient(
          targets[i % targets.length]!,
          request.gate,
          makeLifecycleRequests(request, i),
          this,
        ),
    )
  }

  async start(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.open()))
    for (const client of this.#clients) client.begin()
  }

  beginMeasuring(): void {
    this.#cpuMicros = processCpuMicros()
    this.#beganAt = performance.now()
  }

  endMeasuring(): void {
    this.#endedAt = performance.now()
    this.#cpuMicros = processCpuMicros() - this.#cpuMicros
    for (const client of this.#clients) client.stop()
  }

  async drain(): Promise<void> {
    const deadline = performance.now() + this.#plan.drainMsMax
    while (this.#clients.some((client) => client.isBusy) && performance.now() < deadline) await sleep(5)
    for (const client of this.#clients) {
      if (client.isBusy) this.#abandoned++
      if (client.inFlight) this.#unanswered++
      client.close()
    }
  }

  onBegin(): void {
    if (this.#isMeasuring()) this.#measured.begun++
  }

  onAnswer(step: LifecycleStep, ms: number, { status, body }: Answer, expected: boolean): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
    this.#answered++
    if (step === 'create' && expected) this.#created++
    if (this.#isMeasuring()) {
      this.#measured.answered++
      if (expected) this.#steps[step].record(ms)
    }
    const { sampleEvery } = this.#plan
    const isSample =
      sampleEvery > 0 && this.#answered % sampleEvery === 0 && this.#samples.length < SAMPLES_MAX
    if (body !== null && (expected ? isSample : this.#failedSamples++ < FAILED_SAMPLES_MAX))
      this.#samples.push({ status, body })
  }

  onComplete({ begunAt, deliveredAt, verifiedAt, looks }: CompleteRecord): void {
    const now = performance.now()
    this.#complete++
    if (this.#isMeasuring()) {
      this.#measured.complete++
      this.#measured.looks += looks
    }
    // However late it ended: leaving those out would leave out the slow ones.
    if (begunAt < this.#beganAt || begunAt >= this.#endedAt) return
    this.#record.record(now - begunAt)
    this.#wait.record(verifiedAt - deliveredAt)
  }

  onAbandoned(): void {
    this.#abandoned++
  }

  onLost(wasInFlight: boolean, code: string): void {
    this.#errors[code] = (this.#errors[code] ?? 0) + 1
    if (wasInFlight) this.#unanswered++
  }

  #isMeasuring(): boolean {
    const now = performance.now()
    return now >= this.#beganAt && now < this.#endedAt
  }

  result(): LifecycleResult {
    const seconds = (this.#endedAt - this.#beganAt) / 1000
    const { answered, complete, looks } = this.#measured
    return {
      load: this.#load(seconds),
      requestsPerSecond: answered / seconds,
      steps: Object.fromEntries(
        LIFECYCLE_STEPS.map((step) => [step, summarize(this.#steps[step])]),
      ) as LifecycleResult['steps'],
      wait: summarize(this.#wait),
      looksPerRecord: looks / Math.max(1, complete),
      complete: this.#complete,
      abandoned: this.#abandoned,
    }
  }

  #load(seconds: number): LoadResult {
    const { begun, complete, answered } = this.#measured
    const latency = summarize(this.#record)
    return {
      pace: 'closed loop',
      measuredMs: seconds * 1000,
      offered: begun,
      achieved: complete,
      achievedPerSecond: complete / seconds,
      itemsPerSecond: complete / seconds,
      latency,
      service: latency,
      refusals: summarize(makeLatencies()),
      refusalsService: summarize(makeLatencies()),
      acknowledged: this.#created,
      acknowledgedItems: this.#created,
      sent: this.#answered + this.#unanswered,
      unanswered: this.#unanswered,
      dropped: 0,
      backlogHighest: 0,
      statuses: this.#statuses,
      errors: this.#errors,
      samples: this.#samples,
      cpu: {
        microsPerRequest: this.#cpuMicros / Math.max(1, answered),
        coreShare: this.#cpuMicros / 1e6 / seconds,
      },
    }
  }
}

serveJob<LifecyclePlan, LifecycleResult>(import.meta.url, generateLifecycles)

/** Figures of a phase of gated records, beyond those of every phase. */
export type LifecycleFigures = Omit<LifecycleResult, 'load'> & { readonly gate: Gate }
