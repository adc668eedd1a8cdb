import { setTimeout as sleep } from 'node:timers/promises'
import { Waker } from './waker.ts'

/** Background work that is done in rounds: `step` returns whether there is more to do at once. */
export type Follower = {
  readonly name: string
  readonly everyMs: number
  readonly step: () => Promise<boolean>
  /** Largest share of the time that rounds take, so that other work on the machine gets the rest. By default all of it. */
  readonly timeShareMax?: number
  /** For what must be done as soon as the database is back; by default FAILURE_PAUSE_MS_MAX. */
  readonly failurePauseMsMax?: number
  /** Begins the next round sooner, but within its share of the time. */
  readonly waker?: Waker
}

/** Hears of each round. */
export type FollowerObserver = (follower: string, result: 'ok' | 'failed', ms: number) => void

type FollowerLog = { error(details: object, message: string): void }

/** After a failed round, so that a database that is down is not asked without a pause, and its return is not missed for long. */
const FAILURE_PAUSE_MS_MAX = 5_000

/** Runs rounds until `signal` aborts; a round that has begun is finished. Never throws. */
export async function runFollower(
  follower: Follower,
  log: FollowerLog,
  signal: AbortSignal,
  observe: FollowerObserver = () => {},
): Promise<void> {
  const waker = follower.waker ?? new Waker()
  let failures = 0
  while (!signal.aborted) {
    const startedAt = performance.now()
    let more = false
    try {
      more = await follower.step()
      failures = 0
    } catch (error) {
      failures++
      log.error({ err: error, follower: follower.name, failures }, 'a round failed')
    }
    const tookMs = performance.now() - startedAt
    observe(follower.name, failures > 0 ? 'failed' : 'ok', tookMs)
    const restMs = failures > 0 ? failurePauseMs(follower, failures) : roundRestMs(follower, tookMs)
    if (restMs > 0) await sleep(restMs, undefined, { signal }).catch(() => {})
    if (failures === 0 && !more) await waker.pause(follower.everyMs - tookMs - restMs, signal)
  }
}

function roundRestMs({ timeShareMax = 1 }: Follower, tookMs: number): number {
  return tookMs / timeShareMax - tookMs
}

/** Doubling, jittered by half, so that many workers do not come back at the same moment. */
function failurePauseMs(follower: Follower, failures: number): number {
  const pauseMsMax = follower.failurePauseMsMax ?? FAILURE_PAUSE_MS_MAX
  const pauseMs = Math.min(pauseMsMax, follower.everyMs * 2 ** Math.min(failures, 10))
  return pauseMs * (0.5 + Math.random() / 2)
}
