import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A process that may use one CPU, however many there are. */
export type CpuQuota = {
  /** Since it was set: in how many of the periods the process ran into it. */
  read(): Throttling
  release(): void
}

type Throttling = { readonly periods: number; readonly throttledPeriods: number }

/** The controller `cpu` of cgroup v1, where it is mounted. */
const MOUNT = '/sys/fs/cgroup/cpu'
const PERIOD_MICROS = 100_000

/** All threads of the process together, as a container with a limit of one CPU. null: this system does not let us. */
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

/** cgroups(7), /proc/<pid>/cgroup: `1:cpu,cpuacct:/some/group`. */
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

/** A group goes when nothing is in it; a process that has ended is in none. */
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
