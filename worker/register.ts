import { type PublishDeps, publishCheckpoints } from '../src/checkpoints/publish.ts'
import type { Follower } from '../src/follow/loop.ts'
import { CHECKPOINT_EVERY_MS } from '../src/limits.ts'

/** All background work, one row each. */
export function registerFollowers(deps: PublishDeps): Follower[] {
  return [{ name: 'checkpoints', everyMs: CHECKPOINT_EVERY_MS, step: () => publishCheckpoints(deps) }]
}
