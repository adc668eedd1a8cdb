import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getEmbeddedBinaries, prepareBinaries } from '../../src/run/postgres/binaries.ts'
import { getPasswords, initCluster } from '../../src/run/postgres/cluster.ts'
import { isReachable, requireReachable } from '../../src/run/postgres/layout.ts'
import { type RunAs, resolveRunAs } from '../../src/run/postgres/run-as.ts'
import { type RunningPostgres, startPostgres } from '../../src/run/postgres/start.ts'

/** With fsync, without which the product refuses: in memory, where the clusters of tests lie, it costs nothing. */
export const TEST_SETTINGS = {
  shared_buffers: '128MB',
  max_connections: 200,
  // In memory the log is kept no longer than it must be.
  max_wal_size: '512MB',
} as const

/**
 * The suite's own server: npm test starts one for all files, and a file that is run alone starts its own. Its folder is
 * removed with it, also after a kill.
 */
export async function startSuitePostgres(): Promise<RunningPostgres> {
  const dataDir = temporaryDirInMemory()
  if (!isPrepared()) prepared = initOnce(join(dataDir, 'initialized'))
  return startPostgres({
    dataDir: putCluster(dataDir),
    temporary: true,
    // A login with a password set here takes one round of SHA-256 instead of 4,096. Postgres 16 brought it.
    settings: { ...TEST_SETTINGS, scram_iterations: 1 },
  })
}

/** A file system in memory. The same copy of a database takes Postgres 14 ms there, and on a disk 25 to 220. */
const MEMORY = '/dev/shm'
/** Where the whole suite's databases, clusters and logs fit at once; a container may have 64 MB. */
const MEMORY_FREE_BYTES_MIN = 4 * 1024 ** 3

/** Removed when this process ends. */
export function temporaryDir(): string {
  return makeDir([tmpdir(), '/var/tmp'])
}

/** In memory where there is room, else on the disk: for what need not wait as a deployment does, nor grow. */
export function temporaryDirInMemory(): string {
  return makeDir(hasRoom(MEMORY) ? [MEMORY, tmpdir(), '/var/tmp'] : [tmpdir(), '/var/tmp'])
}

/** A root user's Postgres runs as somebody else, who may not be let into TMPDIR. */
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

/** Asking for it starts three processes. */
let runAs: { readonly user: RunAs } | undefined

const temporaryDirs: string[] = []
process.once('exit', () => {
  // Bounded in time, which rmSync is not: nobody waits for what somebody still writes to.
  if (temporaryDirs.length > 0) spawnSync('rm', ['-rf', ...temporaryDirs], { timeout: REMOVAL_MS_MAX })
})
const REMOVAL_MS_MAX = 20_000

/** Where npm test keeps the cluster that `putCluster` copies. */
export const CLUSTER_VARIABLE = 'TALLYSTICK_TEST_CLUSTER'
let prepared = process.env[CLUSTER_VARIABLE]
/** One that lay in a server's folder is gone with that. */
const isPrepared = () => prepared !== undefined && existsSync(prepared)

/**
 * Makes the folder one in which a Postgres was initialized and never started, for a test that is not about that: initdb
 * takes a second, and a copy of what it made a thirtieth.
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
