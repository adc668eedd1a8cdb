import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getEmbeddedBinaries, prepareBinaries } from '../../src/run/postgres/binaries.ts'
import { getPasswords, initCluster } from '../../src/run/postgres/cluster.ts'
import { isReachable, requireReachable } from '../../src/run/postgres/layout.ts'
import { type RunAs, resolveRunAs } from '../../src/run/postgres/run-as.ts'
import { type RunningPostgres, startPostgres } from '../../src/run/postgres/start.ts'

/**
 * Settings of test clusters. `fsync` stays on, as the product requires. Test clusters are in memory, where fsync takes
 * no time.
 */
export const TEST_SETTINGS = {
  shared_buffers: '128MB',
  max_connections: 200,
  max_wal_size: '512MB',
} as const

/**
 * Starts a test server of its own. npm test starts one for all files; a file that runs alone starts one for itself. The
 * server's folder is removed at the end, even after a kill.
 */
export async function startSuitePostgres(): Promise<RunningPostgres> {
  const dataDir = temporaryDirInMemory()
  if (!isPrepared()) prepared = initOnce(join(dataDir, 'initialized'))
  return startPostgres({
    dataDir: putCluster(dataDir),
    temporary: true,
    // Logins whose password is set in this server need one SHA-256 iteration instead of 4,096 (Postgres 16 and later).
    settings: { ...TEST_SETTINGS, scram_iterations: 1 },
  })
}

/** A file system in memory. Postgres copies a database there in 14 ms, compared with 25 to 220 ms on a disk. */
const MEMORY = '/dev/shm'
/** Minimum of free memory for all databases, clusters and logs of the suite. Containers may have only 64 MB. */
const MEMORY_FREE_BYTES_MIN = 4 * 1024 ** 3

/** Makes a directory that is removed when this process ends. */
export function temporaryDir(): string {
  return makeDir([tmpdir(), '/var/tmp'])
}

/**
 * Works like `temporaryDir`, but makes the directory in memory if there is enough space. Use it only for data that
 * stays small and does not need the speed of a real disk.
 */
export function temporaryDirInMemory(): string {
  return makeDir(hasRoom(MEMORY) ? [MEMORY, tmpdir(), '/var/tmp'] : [tmpdir(), '/var/tmp'])
}

/**
 * Makes a directory in the first of `parents` that Postgres can reach. If this process is root, Postgres runs as
 * another user, who may have no access to TMPDIR.
 */
function makeDir(parents: readonly string[]): string {
  runAs ??= { user: resolveRunAs('/nonexistent', () => {}) }
  const { user } = runAs
  const parent = parents.find((path) => isReachable(path, user)) ?? parents.at(-1)!
  const dir = mkdtempSync(join(parent, 'tallystick-test-'))
  chmodSync(dir, 0o711)
  temporaryDirs.push(dir)
  return dir
}

function hasRoom(dir: string): boolean {
  if (process.env['TMPDIR'] || !existsSync(dir)) return false
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize >= MEMORY_FREE_BYTES_MIN
}

/** User that Postgres runs as. It is cached, because finding the user starts three processes. */
let runAs: { readonly user: RunAs } | undefined

const temporaryDirs: string[] = []
process.once('exit', () => {
  // `rm` is used because it can have a timeout, which rmSync cannot. Another process may still write to the
  // directories.
  if (temporaryDirs.length > 0) spawnSync('rm', ['-rf', ...temporaryDirs], { timeout: REMOVAL_MS_MAX })
})
const REMOVAL_MS_MAX = 20_000

export const CLUSTER_VARIABLE = 'TALLYSTICK_TEST_CLUSTER'
let prepared = process.env[CLUSTER_VARIABLE]
/**
 * Returns whether the prepared cluster exists. It may be missing if it was in the folder of a server that was removed.
 */
const isPrepared = () => prepared !== undefined && existsSync(prepared)

/**
 * Fills the folder with an initialized cluster that was never started, for tests that do not test initialization.
 * initdb takes a second, and the copy takes a thirtieth of that.
 */
export function putCluster(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  execFileSync('cp', ['-a', `${preparedCluster()}/.`, dataDir])
  return dataDir
}

export function preparedCluster(): string {
  if (!isPrepared()) prepared = initOnce(temporaryDirInMemory())
  return prepared!
}

function initOnce(dataDir: string): string {
  const user = resolveRunAs('/nonexistent', () => {})
  mkdirSync(dataDir, { recursive: true })
  requireReachable(dataDir, user)
  const binDir = prepareBinaries(getEmbeddedBinaries(), user, dataDir, () => {})
  initCluster({ dataDir, binDir, runAs: user, passwords: getPasswords(dataDir), sync: false })
  return dataDir
}
