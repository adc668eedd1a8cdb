import { readdirSync, readFileSync } from 'node:fs'

/** CPU time in seconds (user and system) of each group of processes since the processes started. */
export type CpuSnapshot = { readonly atMs: number; readonly seconds: Readonly<Record<string, number>> }

/**
 * Average cores in use over a window. `interrupts`: the kernel's work for network and disk, which belongs to no
 * process. `others`: all other programs on the machine.
 */
export type CpuUse = Readonly<Record<string, number>>

/** Maximum number of cores that other programs may use. If they use more, they affect the figures. */
export const OTHERS_CORES_MAX = 0.15

/** Linux' USER_HZ, the unit of /proc/<pid>/stat, is 100 on every platform that Node runs on. */
const TICKS_PER_SECOND = 100

/** Named groups of processes. `postmaster`: id of Postgres' main process. All backends are found by it. */
type CpuGroups = {
  readonly processes: Readonly<Record<string, readonly number[]>>
  readonly postmaster: number | null
}

export function takeCpuSnapshot(groups: CpuGroups): CpuSnapshot {
  const seconds: Record<string, number> = { ...machineSeconds() }
  for (const [name, pids] of Object.entries(groups.processes)) {
    seconds[name] = pids.reduce((sum, pid) => sum + (readStat(pid)?.seconds ?? 0), 0)
  }
  if (groups.postmaster !== null) seconds['postgres'] = postgresSeconds(groups.postmaster)
  return { atMs: performance.now(), seconds }
}

export function cpuBetween(from: CpuSnapshot, to: CpuSnapshot): CpuUse {
  const elapsedSeconds = (to.atMs - from.atMs) / 1000
  const use: Record<string, number> = {}
  for (const [name, seconds] of Object.entries(to.seconds)) {
    use[name] = Math.max(0, (seconds - (from.seconds[name] ?? 0)) / elapsedSeconds)
  }
  const { total = 0, ...ours } = use
  return { ...ours, others: Math.max(0, total - Object.values(ours).reduce((sum, cores) => sum + cores, 0)) }
}

/** Returns the process that started this backend, if it runs on this machine. */
export function findPostmaster(backendPid: number): number | null {
  const backend = readStat(backendPid)
  return backend?.command.startsWith('postgres') ? backend.parent : null
}

/**
 * Returns Postgres' CPU time: of the live backends, of the postmaster, and of its ended children, which the postmaster
 * counts.
 */
function postgresSeconds(postmaster: number): number {
  const own = readStat(postmaster)
  if (!own) return 0
  let seconds = own.seconds + own.endedChildrenSeconds
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(Number(name))
    if (stat?.parent === postmaster) seconds += stat.seconds
  }
  return seconds
}

/** Reads the first line of /proc/stat (proc(5)): user nice system idle iowait irq softirq … */
function machineSeconds(): { total: number; interrupts: number } {
  try {
    const field = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/)
    const seconds = (...at: number[]) => at.reduce((sum, i) => sum + Number(field[i]), 0) / TICKS_PER_SECOND
    return { total: seconds(1, 2, 3, 6, 7), interrupts: seconds(6, 7) }
  } catch {
    return { total: 0, interrupts: 0 }
  }
}

type Stat = { command: string; parent: number; seconds: number; endedChildrenSeconds: number }

/** Reads /proc/<pid>/stat. Returns null if there is no such process, or if the system has no /proc. */
function readStat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const commandEnd = text.lastIndexOf(')')
    // proc(5): the first field after the command is the state, which is field 3.
    const field = text.slice(commandEnd + 2).split(' ')
    const ticks = (at: number) => Number(field[at - 3])
    return {
      command: text.slice(text.indexOf('(') + 1, commandEnd),
      parent: ticks(4),
      seconds: (ticks(14) + ticks(15)) / TICKS_PER_SECOND,
      endedChildrenSeconds: (ticks(16) + ticks(17)) / TICKS_PER_SECOND,
    }
  } catch {
    return null
  }
}
