import { setTimeout as sleep } from 'node:timers/promises'
import { threadCpuMs } from '../verify/thread-cpu.ts'
import { POSTGRES_CPU_RATIO } from './limits.ts'
import { Waker } from './waker.ts'

/**
 * Background work that runs in rounds. `step` does one round. It returns true if the next round should start at once.
 */
export type Follower = {
  readonly name: string
  readonly everyMs: number
  readonly step: () => Promise<boolean>
  /** Maximum share of time that rounds may take. The rest is for other work on the machine. Default: 1. */
  readonly timeShareMax?: number
  /**
   * What `timeShareMax` limits.
   *
   * - `time` (default): elapsed time. For rounds that mainly query the database, because their CPU time cannot be
   *   measured here.
   * - `cpu`: CPU time of this thread and of `threadsCpuMs`, plus an estimate for Postgres. The CPU time of libuv's
   *   thread pool, for example for compression, is not counted.
   */
  readonly shareOf?: 'time' | 'cpu'
  /** Returns the CPU time in ms that the follower's own threads have used so far. */
  readonly threadsCpuMs?: () => number
  /**
   * Maximum pause after a failure. Default: FAILURE_PAUSE_MS_MAX. A shorter pause is for work that must continue as
   * soon as the database is available again.
   */
  readonly failurePauseMsMax?: number
  /** Starts the next round sooner when it is woken, but not sooner than `timeShareMax` allows. */
  readonly waker?: Waker
}

export type FollowerObserver = (follower: string, result: 'ok' | 'failed', ms: number) => void

/** Clock and CPU meter of the thread that runs the rounds. Tests pass their own implementation. */
export type RoundMeter = {
  nowMs(): number
  cpuMs(): number
  rest(ms: number, signal: AbortSignal): Promise<void>
}

type FollowerLog = { error(details: object, message: string): void }

/**
 * Maximum pause after a failure, for example while the database is unavailable. It is short, so that the follower
 * continues soon after the database is available again.
 */
const FAILURE_PAUSE_MS_MAX = 5_000

/**
 * Measures the CPU time of this thread. performance.eventLoopUtilization would be wrong on a busy machine: with six
 * busy processes on two cores, it reported 7,643 ms of work for a loop that used 508 ms of CPU. A follower would then
 * get a fifteenth of its share.
 *
 * A call takes 0.6 µs. Other work of this thread during a round is counted too. So the follower may get less than its
 * share, but never more.
 */
const THREAD_METER: RoundMeter = {
  nowMs: () => performance.now(),
  cpuMs: threadCpuMs,
  async rest(ms, signal) {
    await sleep(ms, undefined, { signal }).catch(() => {})
  },
}

/** Runs rounds until `signal` aborts. A round that has started is finished. Never throws. */
export async function runFollower(
  follower: Follower,
  log: FollowerLog,
  signal: AbortSignal,
  observe: FollowerObserver = () => {},
  meter = THREAD_METER,
): Promise<void> {
  const waker = follower.waker ?? new Waker()
  let failures = 0
  while (!signal.aborted) {
    const [startedAt, cpuBefore] = [meter.nowMs(), usedCpuMs(follower, meter)]
    let more = false
    try {
      more = await follower.step()
      failures = 0
    } catch (error) {
      failures++
      log.error({ err: error, follower: follower.name, failures }, 'a round failed')
    }
    const tookMs = meter.nowMs() - startedAt
    const usedMs = follower.shareOf === 'cpu' ? usedCpuMs(follower, meter) - cpuBefore : tookMs
    observe(follower.name, failures > 0 ? 'failed' : 'ok', tookMs)
    const restMs = failures > 0 ? failurePauseMs(follower, failures) : roundRestMs(follower, usedMs, tookMs)
    if (restMs > 0) await meter.rest(restMs, signal)
    if (failures === 0 && !more) await waker.pause(follower.everyMs - tookMs - restMs, signal)
  }
}

/** Returns the pause after a round in ms. Over any period, rounds then take at most their share, plus one round. */
function roundRestMs({ timeShareMax = 1 }: Follower, usedMs: number, tookMs: number): number {
  return Math.max(0, usedMs / timeShareMax - tookMs)
}

function usedCpuMs({ threadsCpuMs = () => 0 }: Follower, meter: RoundMeter): number {
  return (meter.cpuMs() + threadsCpuMs()) * (1 + POSTGRES_CPU_RATIO)
}

/**
 * Returns the pause after a failure in ms. The pause doubles with each failure. A random part of it, at most half, is
 * subtracted, so that workers do not all continue at the same moment.
 */
function failurePauseMs(follower: Follower, failures: number): number {
  const pauseMsMax = follower.failurePauseMsMax ?? FAILURE_PAUSE_MS_MAX
  const pauseMs = Math.min(pauseMsMax, follower.everyMs * 2 ** Math.min(failures, 10))
  return pauseMs * (0.5 + Math.random() / 2)
}
