import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LatencySummary, makeLatencies, summarize } from '../../cli/preflight/latencies.ts'
import type { Times, WindowEdge } from './job.ts'

export type LoadResult = {
  readonly pace: 'closed loop' | 'arrival rate, corrected for coordinated omission'
  readonly measuredMs: number
  /**
   * Number of units that were due within the measured window. In a closed loop, number of units that were sent within
   * the window. A unit is a request, or a gated record from creation to verdict.
   */
  readonly offered: number
  readonly achieved: number
  readonly achievedPerSecond: number
  readonly itemsPerSecond: number
  /**
   * Latency in nanoseconds since the unit was due (arrival rate) or sent (closed loop). Counts answers with the
   * expected status, and requests without an answer.
   */
  readonly latency: LatencySummary
  /**
   * Latency in nanoseconds since the request was sent. A generator with coordinated omission would report this value.
   */
  readonly service: LatencySummary
  readonly refusedPerSecond: number
  readonly refusals: LatencySummary
  readonly refusalsService: LatencySummary
  /** Number of acknowledged records in the whole run, with warm-up and drain. An audit must find all of them. */
  readonly acknowledged: number
  readonly acknowledgedItems: number
  readonly sent: number
  /**
   * Number of records that were sent but never answered. The load generator does not know whether they were committed.
   */
  readonly unanswered: number
  readonly dropped: number
  readonly backlogHighest: number
  readonly statuses: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
  readonly samples: readonly Sample[]
  readonly cpu: { readonly microsPerRequest: number; readonly coreShare: number }
}

export type Sample = { readonly status: number; readonly body: string }

type Generator = {
  start(): void | Promise<void>
  onMeasure?(): void
  stop(): void
  /** Waits at most `msMax` for requests in progress. */
  drain(msMax: number): Promise<void>
}

const SAMPLES_MAX = 2_000
const FAILED_SAMPLES_MAX = 5
const IDLE_POLL_MS = 5

/** Runs a generator to its end: warm-up, duration and drain. */
export async function measure(
  tally: Tally,
  generator: Generator,
  { warmUpMs, durationMs, drainMsMax }: Times,
  onEdge: (edge: WindowEdge) => void,
): Promise<void> {
  await generator.start()
  await sleep(warmUpMs)
  generator.onMeasure?.()
  tally.begin()
  onEdge('measure')
  await sleep(durationMs)
  tally.end()
  generator.stop()
  onEdge('measured')
  await generator.drain(drainMsMax)
}

export async function untilIdle(isBusy: () => boolean, msMax: number): Promise<void> {
  const deadline = performance.now() + msMax
  while (isBusy() && performance.now() < deadline) await sleep(IDLE_POLL_MS)
}

/** Counts of one run. Every generator uses this class. Times are milliseconds of `performance.now()`. */
export class Tally {
  readonly latency = makeLatencies()
  readonly service = makeLatencies()
  readonly refusals = makeLatencies()
  readonly refusalsService = makeLatencies()
  readonly statuses: Record<string, number> = {}
  readonly errors: Record<string, number> = {}
  sent = 0
  acknowledged = 0
  acknowledgedItems = 0
  unanswered = 0
  readonly measured = { offered: 0, answered: 0, achieved: 0, items: 0, refused: 0 }
  readonly #samples: Sample[] = []
  #failedSamples = 0
  #beganAt = Number.POSITIVE_INFINITY
  #endedAt = Number.POSITIVE_INFINITY
  #cpuMicros = 0

  begin(): void {
    this.#cpuMicros = processCpuMicros()
    this.#beganAt = performance.now()
  }

  end(): void {
    this.#endedAt = performance.now()
    this.#cpuMicros = processCpuMicros() - this.#cpuMicros
  }

  get isMeasuring(): boolean {
    return this.#beganAt !== Number.POSITIVE_INFINITY && this.#endedAt === Number.POSITIVE_INFINITY
  }

  get seconds(): number {
    return (this.#endedAt - this.#beganAt) / 1000
  }

  /** Returns true for units that were due within the window, however late they end. */
  isMeasured(dueAt: number): boolean {
    return dueAt >= this.#beganAt && dueAt < this.#endedAt
  }

  answer(status: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    if (this.isMeasuring) this.measured.answered++
  }

  acknowledge(items: number): void {
    this.acknowledged++
    this.acknowledgedItems += items
  }

  achieve(items: number): void {
    if (!this.isMeasuring) return
    this.measured.achieved++
    this.measured.items += items
  }

  /** Counts a refused unit. If it was due in the window but refused later, it counts only for the latencies. */
  refuse({ dueAt, sentAt }: { readonly dueAt: number; readonly sentAt: number }, now: number): void {
    if (this.isMeasuring) this.measured.refused++
    if (!this.isMeasured(dueAt)) return
    this.refusals.record(now - dueAt)
    this.refusalsService.record(now - sentAt)
  }

  lose(wasInFlight: boolean, code: string): void {
    this.errors[code] = (this.errors[code] ?? 0) + 1
    if (wasInFlight) this.unanswered++
  }

  addSample(status: number, body: string, expected: boolean): void {
    if (!expected && this.#failedSamples++ >= FAILED_SAMPLES_MAX) return
    if (this.#samples.length < SAMPLES_MAX) this.#samples.push({ status, body })
  }

  result(
    pace: LoadResult['pace'],
    { dropped, backlogHighest } = { dropped: 0, backlogHighest: 0 },
  ): LoadResult {
    const { seconds } = this
    const { offered, answered, achieved, items, refused } = this.measured
    return {
      pace,
      measuredMs: seconds * 1000,
      offered,
      achieved,
      achievedPerSecond: achieved / seconds,
      itemsPerSecond: items / seconds,
      latency: summarize(this.latency),
      service: summarize(this.service),
      refusedPerSecond: refused / seconds,
      refusals: summarize(this.refusals),
      refusalsService: summarize(this.refusalsService),
      acknowledged: this.acknowledged,
      acknowledgedItems: this.acknowledgedItems,
      sent: this.sent,
      unanswered: this.unanswered,
      dropped,
      backlogHighest,
      statuses: this.statuses,
      errors: this.errors,
      samples: this.#samples,
      cpu: {
        microsPerRequest: answered === 0 ? 0 : this.#cpuMicros / answered,
        coreShare: this.#cpuMicros / 1e6 / seconds,
      },
    }
  }
}

function processCpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
