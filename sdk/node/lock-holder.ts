import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'

/**
 * The process that has a spool's lock. `place` identifies the machine, boot and namespace in which the process's pid
 * is valid.
 */
export type Holder = {
  readonly token: string
  readonly pid: number
  readonly place: string
  /** Start time of the process. It distinguishes the process from an earlier one with the same pid. */
  readonly startedAtMs: number
}

/**
 * Tolerance for clock changes when start times are compared. Two processes with the same pid never start so soon
 * after each other.
 */
const SAME_START_MS = 100

export type Lock = { readonly text: string; readonly touchedAtMs: number; readonly holder: Holder | null }

/** Reads a lock file. Returns null if there is no lock file. */
export async function readLock(path: string): Promise<Lock | null> {
  try {
    const text = await readFile(path, 'utf8')
    return { text, touchedAtMs: (await stat(path)).mtimeMs, holder: parseHolder(text) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Parses the text of a lock file. Returns null if the text is incomplete or is no lock. */
export function parseHolder(text: string): Holder | null {
  try {
    const { token, pid, place, startedAtMs } = JSON.parse(text) as Partial<Holder>
    if (typeof token !== 'string' || typeof place !== 'string' || typeof startedAtMs !== 'number') return null
    // 0 and negative pids are refused, because with them kill() signals a process group or all processes.
    return isPid(pid) ? { token, pid, place, startedAtMs } : null
  } catch {
    return null
  }
}

function isPid(pid: unknown): pid is number {
  return Number.isInteger(pid) && (pid as number) > 0 && (pid as number) < 2 ** 31
}

/** Returns true if the process is known to be alive. */
export function isAlive(holder: Holder | null): boolean {
  return holder !== null && holder.place === place() && !isGone(holder)
}

/** Returns true if the process is known to be gone. */
export function isGone(holder: Holder | null): boolean {
  if (holder?.place !== place()) return false
  if (holder.pid === process.pid) return Math.abs(holder.startedAtMs - startedAtMs()) > SAME_START_MS
  try {
    process.kill(holder.pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/**
 * Calculated only once, because a later calculation would give another time: while a machine sleeps, Date.now()
 * continues and process.uptime() does not.
 */
const STARTED_AT_MS = Math.round(Date.now() - process.uptime() * 1000)

export function startedAtMs(): number {
  return STARTED_AT_MS
}

/**
 * Identifies the machine, its boot, and on Linux the pid namespace. The namespace matters because each container
 * counts its pids from 1.
 */
export function place(): string {
  return [
    hostname(),
    tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    tryRead(() => readlinkSync('/proc/self/ns/pid')),
  ].join(' ')
}

function tryRead(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
