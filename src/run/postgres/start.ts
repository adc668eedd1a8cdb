import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, ensureOwner, OWNER_LOGIN } from '../../db/connect/owner.ts'
import { getEmbeddedBinaries, postgresVersion, prepareBinaries } from './binaries.ts'
import { getPasswords, initCluster } from './cluster.ts'
import { clusterDir, openDataDir, requireReachable } from './layout.ts'
import { choosePort, rememberPort } from './port.ts'
import { type Postmaster, spawnPostmaster } from './postmaster.ts'
import { stopOrphan } from './previous.ts'
import { removeDir, resolveRunAs } from './run-as.ts'

export type PostgresOptions = {
  /**
   * Folder of this Postgres, with cluster, passwords and log. It is created if it is missing. Each Postgres needs its
   * own folder.
   */
  readonly dataDir: string
  /** Server settings by name; they override `LEDGER_SETTINGS`. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Port of the server. If absent, a free port is chosen and remembered. */
  readonly port?: number
  /** Bin folder of an installed Postgres (…/postgresql/15/bin) that replaces the embedded binaries. */
  readonly binDir?: string
  /** Additional environment of the server process, for example a preloaded library or a faked clock. */
  readonly env?: Readonly<Record<string, string>>
  /** True if the folder is to be removed when the server stops, or when this process ends for any reason. */
  readonly temporary?: boolean
  /** Called with notices for people, one line per call. */
  readonly log?: (line: string) => void
}

export type RunningPostgres = {
  /** URL of the superuser `postgres` on the database `postgres`, for tests and repair. The product uses `ownerUrl`. */
  readonly superuserUrl: string
  /** URL of `tallystick_owner`, who is no superuser, on its database `tallystick`. */
  readonly ownerUrl: string
  readonly port: number
  readonly pid: number
  readonly version: string
  readonly dataDir: string
  /** Resolves when the server process has ended for any cause. */
  readonly exited: Promise<void>
  /**
   * Stops the server. `fast` ends with a checkpoint. After `immediate`, the next start has to recover. A second call is
   * allowed.
   */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
}

/**
 * Settings of a ledger's Postgres. fsync and synchronous_commit are set explicitly, so that no default can weaken
 * them.
 */
const LEDGER_SETTINGS: Readonly<Record<string, string | number>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 100,
  shared_buffers: '256MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  password_encryption: 'scram-sha-256',
  // Time between checkpoints. It is long, because after each checkpoint the first write to a page writes the full page
  // to the WAL.
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  // Pause between autovacuum runs. It is short, because sessions use plans for empty tables until autovacuum has
  // analyzed the tables. With the default pause this could take a minute.
  autovacuum_naptime: '5s',
  min_wal_size: '256MB',
  wal_buffers: '16MB',
  random_page_cost: 1.1,
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/**
 * Starts an embedded Postgres on 127.0.0.1 and waits until it accepts connections. The current user may be an ordinary
 * user or root. For root, the server runs as a system user.
 *
 * Stops a server that a killed process left behind. Throws if a living process uses the folder, and for every other
 * failure. The messages say what to do.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const log = options.log ?? (() => {})
  const dataDir = openDataDir(options.dataDir)
  const cluster = clusterDir(dataDir)
  const runAs = resolveRunAs(cluster, log)
  requireReachable(dataDir, runAs)
  const binDir = prepareBinaries(options.binDir ?? getEmbeddedBinaries(), runAs, dataDir, log)
  await stopOrphan(cluster, log)
  const passwords = getPasswords(dataDir)
  if (initCluster({ dataDir, binDir, runAs, passwords, sync: options.settings?.['fsync'] !== 'off' })) {
    log('created a new Postgres database cluster')
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

/**
 * Maximum number of attempts to start on a free port. Another process may take the port after it was chosen and before
 * it is bound.
 */
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
      `${cluster} was created by Postgres ${found}, and this is Postgres ${major}: start with Postgres ${found} ` +
        `and move the data with pg_dump, or choose another TALLYSTICK_DATA`,
    )
  }
}
