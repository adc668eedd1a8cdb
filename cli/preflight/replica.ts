import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { DatabaseOrUrl } from '../../src/db/connect/connection.ts'
import {
  openPreflightClient,
  type ReplicaFacts,
  readFlushedLog,
  readReplayedLog,
  readReplicaFacts,
} from '../../src/db/schema/preflight.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { PREFLIGHT_REPLAY_MS_MAX, PREFLIGHT_REPLAY_POLL_MS } from './limits.ts'

/**
 * Facts of a standby and its primary.
 *
 * `replayMs`: time until the standby had all data that the primary had at the beginning. null if the standby does not
 * report its position, or if the primary is itself a standby. Infinity if the time was longer than the limit.
 */
export type ReplicaAnswers = {
  readonly facts: ReplicaFacts
  readonly primary: Pick<ReplicaFacts, 'system' | 'ledgers'>
  readonly replayMs: number | null
}

/** Reads the facts. Throws the errors of Postgres and the network. */
export async function askReplica(primary: pg.ClientBase, database: DatabaseOrUrl): Promise<ReplicaAnswers> {
  const client = await openPreflightClient(database)
  try {
    const facts = await readReplicaFacts(client)
    const ours = await readReplicaFacts(primary)
    const isCompared = facts.isStandby && !facts.isPaused && !ours.isStandby
    return { facts, primary: ours, replayMs: isCompared ? await measureReplay(primary, client) : null }
  } finally {
    await client.end()
  }
}

async function measureReplay(primary: pg.ClientBase, replica: pg.ClientBase): Promise<number | null> {
  const wanted = await readFlushedLog(primary)
  const beganAt = performance.now()
  for (;;) {
    const replayed = await readReplayedLog(replica)
    const tookMs = performance.now() - beganAt
    if (replayed === null) return null
    if (replayed >= wanted) return tookMs
    if (tookMs > PREFLIGHT_REPLAY_MS_MAX) return Infinity
    await sleep(PREFLIGHT_REPLAY_POLL_MS)
  }
}

/**
 * Judges a standby. If a fact prevents servers from reading there, only that fact is reported, because all other facts
 * are then irrelevant.
 */
export function judgeReplica({ facts, primary, replayMs }: ReplicaAnswers): Finding {
  if (!facts.isStandby)
    return fail(
      'replica',
      'it is not a standby: it accepts writes, so servers read from the primary',
      'set TALLYSTICK_REPLICA_URL to a standby of this primary',
    )
  if (facts.system !== null && primary.system !== null && facts.system !== primary.system)
    return fail(
      'replica',
      `it is a standby of another system (${facts.system}, not ${primary.system})`,
      'set TALLYSTICK_REPLICA_URL to a standby of this primary: a copy by pg_basebackup, not by pg_dump',
    )
  if (facts.ledgers === 'denied')
    return fail(
      'replica',
      'this login may not read ledgers on the standby',
      'use the servers’ login (tallystick_api) in TALLYSTICK_REPLICA_URL',
    )
  if (facts.ledgers === 'none' && primary.ledgers !== 'none')
    return fail(
      'replica',
      'its database has no ledgers, but the primary’s has',
      'use the primary’s database name in TALLYSTICK_REPLICA_URL',
    )
  return judgeReplay(facts, replayMs)
}

function judgeReplay({ isPaused }: ReplicaFacts, replayMs: number | null): Finding {
  if (isPaused)
    return fail(
      'replica',
      'its replay is paused, so it falls behind',
      'run there: select pg_wal_replay_resume()',
    )
  if (replayMs === null)
    return warn(
      'replica',
      'it does not report how far it has replayed, so servers read from the primary',
      'use a standby with streaming replication',
    )
  if (replayMs === Infinity)
    return fail(
      'replica',
      `after ${PREFLIGHT_REPLAY_MS_MAX / 1000} s it had not replayed what the primary had`,
      'check pg_stat_wal_receiver, the CPU and long reads there (max_standby_streaming_delay)',
    )
  return ok(
    'replica',
    `a readable standby of this system; it had replayed what the primary had after ${Math.round(replayMs)} ms`,
  )
}
