import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, ensureOwner, OWNER_LOGIN } from '../../db/connect/owner.ts'
import { getEmbeddedBinaries, postgresVersion, prepareBinaries } from './binaries.ts'
import { getPasswords, initCluster } from './cluster.ts'
import { clusterDir, letThrough, openDataDir } from './layout.ts'
import { choosePort, rememberPort } from './port.ts'
import { type Postmaster, spawnPostmaster } from './postmaster.ts'
import { stopOrphan } from './previous.ts'
import { removeDir, resolveRunAs } from './run-as.ts'

export type PostgresOptions = {
  /** Everything of this Postgres lies here: cluster, passwords, log. Made where missing; one folder, one Postgres. */
  readonly dataDir: string
  /** Server settings by name, over `LEDGER_SETTINGS`. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** A fixed port. Without it a free one is chosen and remembered. */
  readonly port?: number
  /** A distribution's bin folder (…/postgresql/15/bin) instead of the embedded binaries. */
  readonly binDir?: string
  /** More environment for the server process: a preloaded library, a faked clock. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder is removed when the server stops, or when this process ends in any way. */
  readonly temporary?: boolean
  /** Takes notices for people: one line each. */
  readonly log?: (line: string) => void
}

export type RunningPostgres = {
  /** Superuser `postgres` on the database `postgres`. For tests and repair; the product uses `ownerUrl`. */
  readonly superuserUrl: string
  /** `tallystick_owner`, no superuser, on its database `tallystick`. */
  readonly ownerUrl: string
  readonly port: number
  readonly pid: number
  readonly version: string
  readonly dataDir: string
  /** Resolves when the server process is gone, wanted or not. */
  readonly exited: Promise<void>
  /** `fast` finishes with a checkpoint, `immediate` leaves recovery to the next start. Safe to call twice. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
}

/** Settings of a ledger's Postgres. fsync and synchronous_commit are named so that no default can weaken them. */
const LEDGER_SETTINGS: Readonly<Record<string, string | number>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 100,
  shared_buffers: '256MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  password_encryption: 'scram-sha-256',
  // Each checkpoint makes the next write of every page a full-page image: few checkpoints, and room between them.
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  // Plans that sessions made on empty tables, and keep, go as soon as the tables have been analyzed: within a minute otherwise.
  autovacuum_naptime: '5s',
  min_wal_size: '256MB',
  wal_buffers: '16MB',
  random_page_cost: 1.1,
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/**
 * Starts a real Postgres of our own on 127.0.0.1 and waits until it takes connections. Works as a plain user and
 * as root (then the server runs as a system user). A server that an earlier, killed process left behind is
 * stopped first; one that a living process uses is an error, as is everything else: messages say what to do.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const log = options.log ?? (() => {})
  const dataDir = openDataDir(options.dataDir)
  const cluster = clusterDir(dataDir)
  const runAs = resolveRunAs(cluster, log)
  letThrough(dataDir, runAs)
  const binDir = prepareBinaries(options.binDir ?? getEmbeddedBinaries(), runAs, dataDir, log)
  await stopOrphan(cluster, log)
  const passwords = getPasswords(dataDir)
  if (initCluster({ dataDir, binDir, runAs, passwords, sync: options.settings?.['fsync'] !== 'off' })) {
    log('made a new Postgres database cluster')
  }
  refuseOtherMajor(cluster, postgresVersion(binDir, runAs))
  const settings = { ...LEDGER_SETTINGS, ...options.settings }
  const { postmaster, port } = await spawnOnFreePort({ ...options, dataDir, binDir, settings, log }, runAs)
  const url = (user: string, password: string, database: string) =>
    `postgres://${user}:${password}@127.0.0.1:${port}/${database}`
  const superuserUrl = url('postgres', passwords.superuser, 'postgres')
  const stop = makeStop(postmaster, options.temporary ? dataDir : null)
  try {
    await ensureOwner(superuserUrl, passwords.owner)
  } catch (error) {
    await stop('fast')
    throw error
  }
  return {
    superuserUrl,
    ownerUrl: url(OWNER_LOGIN, passwords.owner, DATABASE),
    port,
    pid: postmaster.pid,
    version: postgresVersion(binDir, runAs),
    dataDir,
    exited: postmaster.exited,
    stop,
  }
}

/** Between choosing a port and binding it somebody else can take it. */
const PORT_ATTEMPTS_MAX = 4

async function spawnOnFreePort(
  options: PostgresOptions & {
    binDir: string
    settings: Record<string, string | number>
    log: (line: string) => void
  },
  runAs: ReturnType<typeof resolveRunAs>,
): Promise<{ postmaster: Postmaster; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(options.dataDir, options.port ?? null)
    try {
      const postmaster = await spawnPostmaster({ ...options, runAs, port, trash: options.temporary ?? false })
      rememberPort(options.dataDir, port)
      return { postmaster, port }
    } catch (error) {
      const taken =
        error instanceof Error && /address already in use|could not create any TCP/i.test(error.message)
      if (!taken || options.port !== undefined || attempt >= PORT_ATTEMPTS_MAX) throw error
    }
  }
}

function makeStop(postmaster: Postmaster, trash: string | null): RunningPostgres['stop'] {
  let stopped: Promise<void> | null = null
  return (mode = 'fast') => {
    stopped ??= postmaster.stop(mode).then(() => {
      if (trash !== null) removeDir(trash)
    })
    return stopped
  }
}

function refuseOtherMajor(cluster: string, version: string): void {
  const found = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  const major = version.split('.')[0]
  if (found !== major) {
    throw new Error(
      `${cluster} was made by Postgres ${found} and this is Postgres ${major}: start with the version that made it ` +
        `and move the data with pg_dump, or choose another TALLYSTICK_DATA`,
    )
  }
}
