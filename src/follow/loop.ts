import { setTimeout as sleep } from 'node:timers/promises'

/** Background work that is done in rounds: `step` returns whether there is more to do at once. */
export type Follower = {
  readonly name: string
  readonly everyMs: number
  readonly step: () => Promise<boolean>
}

type FollowerLog = { error(details: object, message: string): void }

/** After a failed round, so that a database that is down is not asked without a pause. */
const FAILURE_PAUSE_MS_MAX = 30_000

/** Runs rounds until `signal` aborts; a round that has begun is finished. Never throws. */
export async function runFollower(follower: Follower, log: FollowerLog, signal: AbortSignal): Promise<void> {
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
    const pauseMs =
      failures > 0 ? failurePauseMs(follower, failures) : follower.everyMs - (performance.now() - startedAt)
    if (!more || failures > 0) await sleep(Math.max(0, pauseMs), undefined, { signal }).catch(() => {})
  }
}

/** Doubling, jittered by half, so that many workers do not come back at the same moment. */
function failurePauseMs(follower: Follower, failures: number): number {
  const pauseMs = Math.min(FAILURE_PAUSE_MS_MAX, follower.everyMs * 2 ** Math.min(failures, 10))
  return pauseMs * (0.5 + Math.random() / 2)
}
