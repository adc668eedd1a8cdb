import { setTimeout as sleep } from 'node:timers/promises'
import { threadCpuMs } from '../verify/thread-cpu.ts'
import { POSTGRES_CPU_RATIO } from './limits.ts'
import { Waker } from './waker.ts'

/** Background work that is done in rounds: `step` returns whether there is more to do at once. */
export type Follower = {
  readonly name: string
  readonly everyMs: number
  readonly step: () => Promise<boolean>
  /** Largest share of the time that rounds take, so that other work on the machine gets the rest. By default all of it. */
  readonly timeShareMax?: number
  /**
   * `time`, by default: elapsed, of rounds that are queries, whose CPU nobody here can measure. `cpu`: that of this thread and of
   * `threadsCpuMs`, and an estimate of Postgres'; what libuv's pool does, such as compression, is not counted.
   */
  readonly shareOf?: 'time' | 'cpu'
  /** CPU that threads of its own have taken so far. */
  readonly threadsCpuMs?: () => number
  /** For what must be done as soon as the database is back; by default FAILURE_PAUSE_MS_MAX. */
  readonly failurePauseMsMax?: number
  /** Begins the next round sooner, but within its share of the time. */
  readonly waker?: Waker
}

/** Hears of each round. */
export type FollowerObserver = (follower: string, result: 'ok' | 'failed', ms: number) => void

/** Clock and meter of the thread that rounds run in. Tests have one of their own. */
export type RoundMeter = {
  nowMs(): number
  /** CPU of this thread, so far. */
  cpuMs(): number
  rest(ms: number, signal: AbortSignal): Promise<void>
}

type FollowerLog = { error(details: object, message: string): void }

/** After a failed round, so that a database that is down is not asked without a pause, and its return is not missed for long. */
const FAILURE_PAUSE_MS_MAX = 5_000

/**
 * Measures by CPU time: with six busy processes on two cores a loop had 508 ms of CPU in 7,643 ms, which performance.eventLoopUtilization
 * takes for 7,643 ms of work, so a busy machine would leave a follower a fifteenth of its share. One call costs 0.6 µs. Other work of this thread
 * that comes between is counted too: a follower gets less than its share then, never more.
 */
const THREAD_METER: RoundMeter = {
  nowMs: () => performance.now(),
  cpuMs: threadCpuMs,
  async rest(ms, signal) {
    await sleep(ms, undefined, { signal }).catch(() => {})
  },
}

/** Runs rounds until `signal` aborts; a round that has begun is finished. Never throws. */
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

/** Over any time, rounds have used no more than their share of it, and one round. */
function roundRestMs({ timeShareMax = 1 }: Follower, usedMs: number, tookMs: number): number {
  return Math.max(0, usedMs / timeShareMax - tookMs)
}

function usedCpuMs({ threadsCpuMs = () => 0 }: Follower, meter: RoundMeter): number {
  return (meter.cpuMs() + threadsCpuMs()) * (1 + POSTGRES_CPU_RATIO)
}

/** Doubling, jittered by half, so that many workers do not come back at the same moment. */
function failurePauseMs(follower: Follower, failures: number): number {
  const pauseMsMax = follower.failurePauseMsMax ?? FAILURE_PAUSE_MS_MAX
  const pauseMs = Math.min(pauseMsMax, follower.everyMs * 2 ** Math.min(failures, 10))
  return pauseMs * (0.5 + Math.random() / 2)
}
