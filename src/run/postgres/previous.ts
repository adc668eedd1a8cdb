import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

type PidFile = { readonly pid: number; readonly ready: boolean }

const FAST_STOP_MS_MAX = 60_000
const IMMEDIATE_STOP_MS_MAX = 10_000
const REAPED_MS_MAX = 3_000

/** Reads postmaster.pid. Its line 1 is the pid, line 8 the server's state (Postgres 10 and newer). */
export function readPidFile(cluster: string): PidFile | null {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : null
  } catch {
    return null
  }
}

/**
 * Stops a server whose starting process is dead. Throws if the starting process is alive, or if the server was started
 * by other means.
 *
 * If two processes pass this check at once, Postgres' own lock lets only one server start. The other start fails with
 * Postgres' message.
 */
export async function stopOrphan(cluster: string, log: (line: string) => void): Promise<void> {
  const found = readPidFile(cluster)
  if (!found) return
  if (isZombie(found.pid)) return outliveZombie(found.pid, cluster)
  if (!isAlive(found.pid)) return
  const command = commandLine(found.pid)
  if (!command.includes(cluster) && workingDirectory(found.pid) !== cluster) return disownPid(cluster)
  const owner = /tallystick\.owner=(\S+)/.exec(command)?.[1]
  if (owner === undefined || isSameProcess(owner)) {
    const who = owner === undefined ? 'a Postgres that was started by hand' : `process ${owner.split(':')[0]}`
    throw new Error(
      `another instance is using ${cluster}: ${who} (Postgres is process ${found.pid}). ` +
        'Stop it first, or give this one its own folder with TALLYSTICK_DATA',
    )
  }
  log(`stopping the Postgres (process ${found.pid}) that an earlier run left behind`)
  await stopByPid(found.pid)
}

async function stopByPid(pid: number): Promise<void> {
  for (const [signal, timeoutMs] of [
    ['SIGINT', FAST_STOP_MS_MAX],
    ['SIGQUIT', IMMEDIATE_STOP_MS_MAX],
  ] as const) {
    const giveUpAt = Date.now() + timeoutMs
    if (isAlive(pid)) process.kill(pid, signal)
    while (isAlive(pid) && Date.now() < giveUpAt) await sleep(20)
    if (!isAlive(pid)) return
  }
  throw new Error(
    `the Postgres process ${pid} of an earlier run does not stop: end it with \`kill -QUIT ${pid}\``,
  )
}

/**
 * Waits until a zombie process is reaped. If a killed server is not reaped, Postgres considers it running and would
 * refuse to start. An init process reaps a zombie within moments. In a container without an init, the zombie stays for
 * ever. Then the pid file is changed (disownPid).
 */
async function outliveZombie(pid: number, cluster: string): Promise<void> {
  const giveUpAt = Date.now() + REAPED_MS_MAX
  while (isZombie(pid) && Date.now() < giveUpAt) await sleep(20)
  if (isZombie(pid)) disownPid(cluster)
}

/**
 * Replaces the pid in a stale pid file by the pid of this process.
 *
 * After a reboot, or in a restarted container, another process may have the old pid, and Postgres would refuse to
 * start. The file is not removed, because it also protects the shared memory of backends that may still run. Postgres
 * accepts the pid of its own parent, which is this process.
 */
function disownPid(cluster: string): void {
  const file = join(cluster, 'postmaster.pid')
  const [, ...rest] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [process.pid, ...rest].join('\n'))
}

/**
 * Returns `pid:start` of this process, with its start time. A pid may be reused, but not together with the same start
 * time.
 */
export function ownIdentity(): string {
  return `${process.pid}:${startOf(process.pid)}`
}

function isSameProcess(identity: string): boolean {
  const [pid, start] = identity.split(':')
  return isAlive(Number(pid)) && startOf(Number(pid)) === start
}

function startOf(pid: number): string {
  try {
    // The name in parentheses may contain anything, so parsing starts at the last parenthesis. The start time is the
    // 20th field after it (field 22 of proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ps(pid, 'lstart=').replace(/\W+/g, '')
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ps(pid, 'args=')
  }
}

/** Returns a process's working directory. A server's working directory is its cluster, whatever path was configured. */
function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return null
  }
}

/** Returns a column of `ps`, on systems without /proc (macOS). Returns '' on systems with /proc. */
function ps(pid: number, column: string): string {
  if (existsSync('/proc/self/stat')) return ''
  return (
    spawnSync('/bin/ps', ['-ww', '-o', column, '-p', `${pid}`], { encoding: 'utf8' }).stdout?.trim() ?? ''
  )
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns true for a zombie. In a container without an init, a dead orphan stays a zombie for ever. */
function isZombie(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
