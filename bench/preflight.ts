import os from 'node:os'
import type pg from 'pg'
import { type Commits, measureCommits } from '../cli/preflight/commits.ts'
import { msOf } from '../cli/preflight/text.ts'
import { withClient } from '../src/db/connect/client.ts'
import type { Database } from './database.ts'
import { type FsyncLatencies, measureFsync } from './fsync.ts'

/** Latencies in nanoseconds. Commits are measured as by `tallystick preflight` (docs/operate/settings.md#preflight). */
export type Preflight = {
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryGiB: number
    readonly system: string
    readonly loadAverage: readonly number[]
    readonly clockResolutionNs: number
  }
  readonly fsync: FsyncLatencies
} & Commits

/** Measures properties of database and machine on which the figures depend. Runs before the benchmark. */
export async function inspectDatabase({ ownerUrl, walDirectory, postgres }: Database) {
  return withClient(ownerUrl, async (client) => {
    const preflight = await measurePreflight(client, walDirectory)
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes',
        'wal_sync_method', 'shared_buffers', 'max_wal_size', 'max_connections') order by name`,
    )
    const postgresSettings = Object.fromEntries(rows.map((row) => [row.name, row.setting]))
    return { preflight, postgresSettings, postgres }
  })
}

/** `directory`: folder in which Postgres writes its WAL. */
async function measurePreflight(client: pg.ClientBase, directory: string): Promise<Preflight> {
  return {
    machine: {
      cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
      cores: os.availableParallelism(),
      memoryGiB: Math.round(os.totalmem() / 2 ** 30),
      system: `${os.type()} ${os.release()}`,
      loadAverage: os.loadavg(),
      clockResolutionNs: measureClockResolution(),
    },
    fsync: measureFsync(directory),
    ...(await measureCommits(client)),
  }
}

/**
 * Throws if the disk is so slow that the benchmark would measure the disk and not the program. The flush time is
 * measured by commits, so the check also works if Postgres' disk is on another machine.
 */
export function checkGate({ flush }: Pick<Preflight, 'flush'>, gateMs: number, force: boolean): void {
  if (flush.p50 / 1e6 <= gateMs || force) return
  throw new Error(
    `a flush of the log takes ${msOf(flush.p50)} (p50), more than the gate of ${gateMs} ms: ` +
      'raise the gate with --fsync-gate-ms, or continue with --force',
  )
}

function measureClockResolution(): number {
  let smallest = Number.POSITIVE_INFINITY
  for (let i = 0; i < 1000; i++) {
    const from = process.hrtime.bigint()
    let to = from
    while (to === from) to = process.hrtime.bigint()
    smallest = Math.min(smallest, Number(to - from))
  }
  return smallest
}
