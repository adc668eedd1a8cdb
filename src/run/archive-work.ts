import type pg from 'pg'
import type { Logger } from 'pino'
import type { ArchiveContent } from '../db/connect/archive.ts'
import type { ArchiveDeps } from '../followers/archive/archive-ledgers.ts'
import { watchArchive, watchRelease } from '../followers/archive/metrics.ts'
import type { ReleaseDeps } from '../followers/archive/release-content.ts'
import { PausedLedgers } from '../followers/checkpoints/faulty-ledgers.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { makeEntropy } from '../signing/entropy.ts'
import type { MasterKey } from '../signing/master-key.ts'
import type { ArchiveStores } from '../verify/archive/s3-store.ts'
import type { Config } from './config.ts'

type Parts = {
  readonly config: Config
  /** Stores of the archive; null if no archive is configured. */
  readonly stores: ArchiveStores | null
  /** Opens an archive reader with an empty cache. Returns null if no archive is configured. */
  readonly openContent: () => ArchiveContent | null
  readonly masterKey: MasterKey
  readonly log: Logger
  readonly pool: pg.Pool
  readonly metrics: Metrics
}

/**
 * Opens the follower that archives. Returns null if no archive is configured. The follower needs no pool of its own,
 * because it holds no connection while it waits for the store.
 */
export function openArchive(
  { config, stores, masterKey, log, pool, metrics }: Parts,
  stopping: AbortSignal,
): ArchiveDeps | null {
  if (config.archive === null || stores === null) return null
  const unarchived = new PausedLedgers()
  return {
    pool,
    masterKey,
    workerId: makeEntropy().uuidv7(Date.now()),
    stores,
    policy: config.archive.policy,
    stopping,
    unarchived,
    log,
    ...watchArchive(metrics, pool, unarchived),
  }
}

/** Opens the follower that removes archived content from Postgres. Returns null if all content stays in Postgres. */
export function openRelease(
  { config, openContent, log, pool, metrics }: Parts,
  stopping: AbortSignal,
): ReleaseDeps | null {
  const retentionDays = config.archive?.retentionDays ?? null
  if (retentionDays === null) return null
  const unreleased = new PausedLedgers()
  return {
    ...{ pool, retentionDays, unreleased, stopping, log },
    openContent: () => openContent()!,
    ...watchRelease(metrics, pool, unreleased),
  }
}
