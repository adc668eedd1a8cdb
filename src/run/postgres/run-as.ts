import { spawnSync } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'

/** User that the server runs as; null means the current user. Postgres refuses to run as root. */
export type RunAs = { readonly uid: number; readonly gid: number; readonly name: string } | null

/**
 * Environment of the server. It contains nothing of this process' environment, because PGDATA, PGPORT, a locale or a
 * secret must not reach the server.
 */
export const CLEAN_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

type RunResult = { readonly ok: boolean; readonly stdout: string; readonly output: string }

/**
 * Runs a short command as `runAs`. The working directory is `/`, because that user may not be able to enter the current
 * folder.
 */
export function runSync(command: string, args: readonly string[], runAs: RunAs): RunResult {
  const identity = runAs === null ? {} : { uid: runAs.uid, gid: runAs.gid }
  const result = spawnSync(command, args, { ...identity, cwd: '/', env: CLEAN_ENV, encoding: 'utf8' })
  if (result.error) return { ok: false, stdout: '', output: result.error.message }
  return { ok: result.status === 0, stdout: result.stdout, output: `${result.stderr}${result.stdout}`.trim() }
}

/**
 * Returns the user for the server if this process runs as root: the owner of an existing cluster, otherwise the
 * system's `postgres` user, which is created if it is missing.
 */
export function resolveRunAs(cluster: string, log: (line: string) => void): RunAs {
  if (process.getuid?.() !== 0) return null
  const owner = statSync(cluster, { throwIfNoEntry: false })
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, name: `uid ${owner.uid}` }
  const found = findSystemUser()
  if (found) return found
  makeSystemUser()
  const made = findSystemUser()
  if (!made) {
    throw new Error(
      'Postgres does not run as root. There is no system user `postgres`, and it could not be created: create it ' +
        '(`useradd --system postgres`), start as another user, or set DATABASE_URL to your own Postgres',
    )
  }
  log('created the system user `postgres`, because Postgres does not run as root')
  return made
}

function findSystemUser(): RunAs {
  // On macOS the user is `_postgres`.
  for (const name of ['postgres', '_postgres']) {
    const uid = Number(runSync('id', ['-u', name], null).stdout.trim() || Number.NaN)
    const gid = Number(runSync('id', ['-g', name], null).stdout.trim() || Number.NaN)
    if (uid > 0 && gid >= 0) return { uid, gid, name }
  }
  return null
}

/**
 * Creates the user. If two processes try at the same time, the second attempt fails, and the second process then finds
 * the user.
 */
function makeSystemUser(): void {
  const useradd = [
    '--system',
    '--user-group',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/usr/sbin/nologin',
    'postgres',
  ]
  if (runSync('useradd', useradd, null).ok) return
  if (runSync('adduser', ['--system', '--group', '--no-create-home', 'postgres'], null).ok) return
  // Busybox has `adduser` instead of `useradd`.
  runSync('adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', 'postgres'], null)
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
}
