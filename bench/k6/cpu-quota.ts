import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type CpuQuota = {
  /**
   * Returns the number of scheduler periods since the limit was set, and of periods in which the process reached the
   * limit.
   */
  read(): Throttling
  release(): void
}

type Throttling = { readonly periods: number; readonly throttledPeriods: number }

/** Mount point of the cgroup v1 controller `cpu`. */
const MOUNT = '/sys/fs/cgroup/cpu'
const PERIOD_MICROS = 100_000

/**
 * Limits all threads of a process together to one CPU, as a container limit does. Returns null if this system does not
 * allow it.
 */
export function limitToOneCpu(pid: number): CpuQuota | null {
  const parent = findGroup(pid)
  if (parent === null) return null
  const group = join(parent, `tallystick-${pid}`)
  try {
    mkdirSync(group)
    write(group, 'cpu.cfs_period_us', PERIOD_MICROS)
    write(group, 'cpu.cfs_quota_us', PERIOD_MICROS)
    write(group, 'cgroup.procs', pid)
  } catch {
    remove(group)
    return null
  }
  return {
    read: () => parseThrottling(readFileSync(join(group, 'cpu.stat'), 'latin1')),
    release() {
      moveBack(parent, pid)
      remove(group)
    },
  }
}

/**
 * Returns the process's cgroup folder for CPU, from a line of /proc/<pid>/cgroup (cgroups(7)):
 * `1:cpu,cpuacct:/some/group`.
 */
function findGroup(pid: number): string | null {
  try {
    const lines = readFileSync(`/proc/${pid}/cgroup`, 'latin1').split('\n')
    const path = lines.find((line) => line.split(':')[1]?.split(',').includes('cpu'))?.split(':')[2]
    return path === undefined ? null : join(MOUNT, path)
  } catch {
    return null
  }
}

export function parseThrottling(text: string): Throttling {
  const value = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
  return { periods: value('nr_periods'), throttledPeriods: value('nr_throttled') }
}

function write(group: string, file: string, value: number): void {
  writeFileSync(join(group, file), String(value))
}

/**
 * Moves the process back to its parent group, because a group can only be removed when it is empty. Does nothing for a
 * process that has ended.
 */
function moveBack(parent: string, pid: number): void {
  try {
    write(parent, 'cgroup.procs', pid)
  } catch {}
}

function remove(group: string): void {
  try {
    rmdirSync(group)
  } catch {}
}
