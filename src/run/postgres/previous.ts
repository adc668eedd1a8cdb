import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

type PidFile = { readonly pid: number; readonly ready: boolean }

const FAST_STOP_MS_MAX = 60_000
const IMMEDIATE_STOP_MS_MAX = 10_000
const REAPED_MS_MAX = 3_000

/** postmaster.pid: the pid is its first line, the server's state its eighth (Postgres 10 and newer). */
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
 * Clears the way for a start. A server whose starter is dead is stopped; one whose starter lives, or that
 * somebody started by other means, is an error. Should two processes get through here at once, Postgres' own
 * lock lets one server start, and the other process gets that server's word for it.
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
 * Postgres takes a killed server that nobody has reaped yet for a living one, and would refuse to start. An init reaps it
 * within moments; in a container without one it stays for ever, and then the file is disowned.
 */
async function outliveZombie(pid: number, cluster: string): Promise<void> {
  const giveUpAt = Date.now() + REAPED_MS_MAX
  while (isZombie(pid) && Date.now() < giveUpAt) await sleep(20)
  if (isZombie(pid)) disownPid(cluster)
}

/**
 * A stale file (a reboot, a restarted container) may name a pid that is somebody else's by now, and Postgres
 * would refuse to start. The file is not removed, because it also guards the shared memory of backends that
 * may still live: its first line gets our own pid, which Postgres knows as its parent's and passes over.
 */
function disownPid(cluster: string): void {
  const file = join(cluster, 'postmaster.pid')
  const [, ...rest] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [process.pid, ...rest].join('\n'))
}

/** `pid:start`: a pid alone may be given to another process; pid and start time together may not. */
export function ownIdentity(): string {
  return `${process.pid}:${startOf(process.pid)}`
}

function isSameProcess(identity: string): boolean {
  const [pid, start] = identity.split(':')
  return isAlive(Number(pid)) && startOf(Number(pid)) === start
}

function startOf(pid: number): string {
  try {
    // The name in parentheses may hold anything; the start time is the 20th field after it (proc(5), field 22).
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

/** A server's is its cluster, however it was told where that is. */
function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return null
  }
}

/** Where there is no /proc (macOS). */
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

/** In a container without an init, a dead orphan stays a zombie for ever. */
function isZombie(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
