import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'

/** Process that holds a spool. `place`: where its pid means something. */
export type Holder = {
  readonly token: string
  readonly pid: number
  readonly place: string
  /** Tells a process from an earlier one with the same pid. */
  readonly startedAtMs: number
}

/** Clocks are set, and a process starts in no time. */
const SAME_START_MS = 100

export type Lock = { readonly text: string; readonly touchedAtMs: number; readonly holder: Holder | null }

/** null: there is none. */
export async function readLock(path: string): Promise<Lock | null> {
  try {
    const text = await readFile(path, 'utf8')
    return { text, touchedAtMs: (await stat(path)).mtimeMs, holder: parseHolder(text) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** null: nothing that a spool writes, perhaps half of it. */
export function parseHolder(text: string): Holder | null {
  try {
    const { token, pid, place, startedAtMs } = JSON.parse(text) as Partial<Holder>
    if (typeof token !== 'string' || typeof place !== 'string' || typeof startedAtMs !== 'number') return null
    // For 0 and less, kill() means a group of processes, or all of them.
    return isPid(pid) ? { token, pid, place, startedAtMs } : null
  } catch {
    return null
  }
}

function isPid(pid: unknown): pid is number {
  return Number.isInteger(pid) && (pid as number) > 0 && (pid as number) < 2 ** 31
}

/** Whether its process is known to live. */
export function isAlive(holder: Holder | null): boolean {
  return holder !== null && holder.place === place() && !isGone(holder)
}

/** Whether its process is known not to live any more. */
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

/** Calculated once: while a machine sleeps Date.now() goes on and process.uptime() does not, and the process would be another one then. */
const STARTED_AT_MS = Math.round(Date.now() - process.uptime() * 1000)

export function startedAtMs(): number {
  return STARTED_AT_MS
}

/** The machine since it was started, and on Linux the namespace: each container counts its pids from 1. */
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
