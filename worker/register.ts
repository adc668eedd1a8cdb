import type pg from 'pg'
import type { KeptCheckpoints } from '../src/checkpoints/kept.ts'
import { publishCheckpoints } from '../src/checkpoints/publish.ts'
import type { Follower } from '../src/follow/loop.ts'
import { CHECKPOINT_EVERY_MS } from '../src/limits.ts'
import type { Signer } from '../src/proof/crypto.ts'

export type WorkerDeps = {
  readonly pool: pg.Pool
  readonly noteSigner: Signer
  readonly kept: KeptCheckpoints
}

/** All background work, one row each. */
export function registerFollowers(deps: WorkerDeps): Follower[] {
  return [{ name: 'checkpoints', everyMs: CHECKPOINT_EVERY_MS, step: () => publishCheckpoints(deps) }]
}
