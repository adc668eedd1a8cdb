import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentMiB } from '../../../bench/watch/samples.ts'
import { type Growth, growth } from '../../../bench/watch/trends.ts'
import type { Inspector } from '../deployment/inspector.ts'
import { childrenOf } from '../deployment/processes.ts'

const SAMPLE_EVERY_MS = 1_000
/**
 * Number of measurements of live memory at each end. The minimum counts, because requests are in progress meanwhile.
 */
const LIVE_LOOKS = 5
const LIVE_LOOK_EVERY_MS = 3_000

export type ProcessMemory = {
  /** Minutes between the two measurements. */
  readonly minutes: number
  /** Growth of resident memory in MiB over minutes. Resident memory is what the kernel counts, including garbage. */
  readonly resident: Growth
  /**
   * Live memory in MiB at both ends, after a garbage collection; null if the process is a Postgres with all its
   * backends.
   */
  readonly live: { readonly first: number; readonly last: number } | null
}
export type Memory = Readonly<Record<string, ProcessMemory>>

/** Watches memory while `work` runs. The processes must not end before `work` does. */
export async function watchMemory(
  processes: Readonly<Record<string, Inspector>>,
  postmasters: Readonly<Record<string, number>>,
  work: () => Promise<void>,
): Promise<Memory> {
  const first = await lookAtLive(processes)
  const watch = watchResident(processes, postmasters)
  const beganAt = performance.now()
  try {
    await work()
  } finally {
    watch.stop()
  }
  const minutes = (performance.now() - beganAt) / 60_000
  const last = await lookAtLive(processes)
  for (const inspector of Object.values(processes)) inspector.close()
  return Object.fromEntries(
    [...watch.points].map(([name, points]) => {
      const live = name in processes ? { first: first[name]!, last: last[name]! } : null
      return [name, { minutes, resident: growth(points), live }]
    }),
  )
}

async function lookAtLive(processes: Readonly<Record<string, Inspector>>): Promise<Record<string, number>> {
  const least: Record<string, number> = {}
  for (let look = 0; look < LIVE_LOOKS; look++, await sleep(LIVE_LOOK_EVERY_MS))
    for (const [name, inspector] of Object.entries(processes))
      least[name] = Math.min(least[name] ?? Infinity, await inspector.liveMiB())
  return least
}

function watchResident(
  processes: Readonly<Record<string, Inspector>>,
  postmasters: Readonly<Record<string, number>>,
) {
  const names = [...Object.keys(processes), ...Object.keys(postmasters)]
  const points = new Map(names.map((name) => [name, [] as { at: number; value: number }[]]))
  const timer = setInterval(() => {
    const at = performance.now() / 60_000
    for (const [name, { pid }] of Object.entries(processes))
      points.get(name)!.push({ at, value: residentMiB(pid) })
    for (const [name, pid] of Object.entries(postmasters))
      points
        .get(name)!
        .push({ at, value: [pid, ...childrenOf(pid)].reduce((sum, one) => sum + anonymousMiB(one), 0) })
  }, SAMPLE_EVERY_MS)
  return { points, stop: () => clearInterval(timer) }
}

/**
 * Returns the private memory of a process in MiB, or 0 if the process has ended. Shared memory is left out, because
 * Postgres' backends share their buffers and each backend counts the buffers that it has used.
 */
function anonymousMiB(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
  } catch {
    return 0
  }
}

export function formatMemory(memory: Memory): string {
  return Object.entries(memory)
    .map(([name, { resident, live }]) => {
      const { mean, max, percent } = resident
      const held = live && `${live.first.toFixed(1)} → ${live.last.toFixed(1)} MiB live, `
      return `${name} ${held ?? ''}${mean.toFixed(0)} MiB resident (${max.toFixed(0)} at most, ${percent.toFixed(1)} % more)`
    })
    .join('; ')
}
