import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeDirectory } from '../../../sdk/node/make-directory.ts'
import { type RunAs, resolveRunAs, runSync } from './run-as.ts'

/*
 * TALLYSTICK_DATA                0700; 0711 if the owner is root, so that the server's user can pass; files are 0600
 * └─ postgres/                   the same modes; `dataDir` of startPostgres
 *    ├─ cluster/                 0700, belongs to the server's user: PGDATA
 *    ├─ passwords.json           0600, belongs to this process' user
 *    ├─ port                     port of the last start
 *    ├─ postgres.log             log of the server
 *    └─ binaries-VERSION/        only if the server's user cannot reach the binaries in node_modules
 */
const dirMode = () => (process.getuid?.() === 0 ? 0o711 : 0o700)

export const postgresDir = (data: string) => join(data, 'postgres')
export const clusterDir = (dataDir: string) => join(dataDir, 'cluster')
export const passwordsFile = (dataDir: string) => join(dataDir, 'passwords.json')
export const logFile = (dataDir: string) => join(dataDir, 'postgres.log')

/** Makes the folder if it is missing. The mode is set afterwards, because mkdir applies the umask to a mode. */
export function openDataDir(dataDir: string): string {
  const dir = resolve(dataDir)
  try {
    if (makeDirectory(dir, 0o777)) chmodSync(dir, dirMode())
  } catch (error) {
    throw new Error(
      `the data folder ${dir} cannot be created (${reason(error)}): create it, or set TALLYSTICK_DATA to a folder that you can write to`,
    )
  }
  return realpathSync(dir)
}

/**
 * Throws if the server's user cannot pass through the folder, as with a folder that was made by mkdtemp or under umask
 * 077.
 */
export function requireReachable(dataDir: string, runAs: RunAs): void {
  if (runAs === null || isReachable(dataDir, runAs)) return
  if (lstatSync(dataDir).uid === process.getuid?.()) chmodSync(dataDir, 0o711)
  if (isReachable(dataDir, runAs)) return
  throw new Error(
    `the Postgres server runs as the user ${runAs.name}, who cannot enter ${dataDir}: open the folders above it ` +
      '(chmod o+x), or set TALLYSTICK_DATA to a folder that other users can enter, such as /var/lib/tallystick',
  )
}

/** Returns whether the user can enter the folder. If the folder is missing, its nearest existing parent is checked. */
export function isReachable(dir: string, runAs: RunAs): boolean {
  if (runAs === null) return true
  let probe = resolve(dir)
  while (!existsSync(probe)) probe = dirname(probe)
  return runSync('/bin/sh', ['-c', 'cd "$1"', 'sh', probe], runAs).ok
}

/**
 * Chooses the folder for this installation's data: `.tallystick` in the project. If the server's user can't reach that
 * folder, or this process can't write to it, returns a folder under /var/lib or /var/tmp, named by the project's path.
 *
 * A folder that already has data is preferred, so that no start silently begins with an empty folder.
 */
export function chooseDataDir(
  projectDir: string,
  options: { readonly embedded: boolean; readonly log: (line: string) => void },
): string {
  const candidates = candidatesOf(projectDir)
  const [local] = candidates
  const existing = findDataDir(projectDir)
  if (existing !== null) {
    requireOwnFolder(existing)
    return existing
  }
  const runAs = options.embedded ? resolveRunAs(clusterDir(postgresDir(local)), options.log) : null
  for (const dir of candidates) {
    if (!isReachable(dir, runAs) || !isWritable(dir)) continue
    requireOwnFolder(dir)
    if (dir !== local) options.log(`data goes to ${dir}, because ${whyNot(local, runAs)}`)
    return dir
  }
  throw new Error(`no folder for the data: ${whyNot(local, runAs)}; set TALLYSTICK_DATA to another folder`)
}

/** Returns the default folder that an earlier start used. Returns null if there is none. */
function findDataDir(projectDir: string): string | null {
  const isUsed = (dir: string) =>
    existsSync(join(dir, 'master-key')) || existsSync(clusterDir(postgresDir(dir)))
  return candidatesOf(projectDir).find(isUsed) ?? null
}

function candidatesOf(projectDir: string): [string, ...string[]] {
  return [join(projectDir, '.tallystick'), ...fallbacks(projectDir)]
}

function fallbacks(projectDir: string): string[] {
  const uid = process.getuid?.() ?? 0
  const name = createHash('sha256')
    .update(`${realpathSync(projectDir)}\0${uid}`)
    .digest('hex')
    .slice(0, 12)
  const parents = uid === 0 ? ['/var/lib', '/var/tmp'] : ['/var/tmp']
  return parents.map((parent) => join(parent, `tallystick-${name}`))
}

function isWritable(dir: string): boolean {
  try {
    if (makeDirectory(dir, 0o777)) chmodSync(dir, dirMode())
    return runSync('/bin/sh', ['-c', 'test -w "$1" && test -x "$1"', 'sh', dir], null).ok
  } catch {
    return false
  }
}

/**
 * Throws if the folder does not belong to this process' user. Anyone can write to /var/tmp. Another user could make the
 * folder first, and replace it while it is in use.
 */
function requireOwnFolder(dir: string): void {
  const { uid, mode } = lstatSync(dir)
  const own = process.getuid?.() ?? uid
  if ((uid !== own && own !== 0) || (dir.startsWith('/var/tmp/') && (uid !== own || (mode & 0o022) !== 0))) {
    throw new Error(
      `the data folder ${dir} belongs to uid ${uid}: start as that user, or set TALLYSTICK_DATA to a folder of your own`,
    )
  }
}

function whyNot(local: string, runAs: RunAs): string {
  return isReachable(local, runAs)
    ? `${local} is not writable`
    : `the user ${runAs?.name ?? ''} of the Postgres server cannot enter ${dirname(local)}`
}

export function reason(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)
}
