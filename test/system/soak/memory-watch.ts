import { readFileSync } from 'node:fs'
import { residentMiB } from '../../../bench/k6/samples.ts'
import { type Growth, growth } from '../../../bench/k6/trends.ts'
import { childrenOf } from '../faults/processes.ts'

const SAMPLE_EVERY_MS = 1_000

/** By name; `minutes`: how long it was looked at. */
export type MemoryGrowth = Readonly<Record<string, Growth & { readonly minutes: number }>>
export type MemoryWatch = { stop(): MemoryGrowth }

/** Looks at processes each second: their resident memory, in MiB and minutes. They MUST live until it is stopped. */
export function watchMemory(
  pids: Readonly<Record<string, number>>,
  postmasters: Readonly<Record<string, number>>,
): MemoryWatch {
  const names = [...Object.keys(pids), ...Object.keys(postmasters)]
  const points = new Map(names.map((name) => [name, [] as { at: number; value: number }[]]))
  const beganAt = performance.now()
  const timer = setInterval(() => {
    const at = performance.now() / 60_000
    for (const [name, pid] of Object.entries(pids)) points.get(name)!.push({ at, value: residentMiB(pid) })
    for (const [name, pid] of Object.entries(postmasters))
      points
        .get(name)!
        .push({ at, value: [pid, ...childrenOf(pid)].reduce((sum, one) => sum + anonymousMiB(one), 0) })
  }, SAMPLE_EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      const minutes = (performance.now() - beganAt) / 60_000
      return Object.fromEntries([...points].map(([name, seen]) => [name, { ...growth(seen), minutes }]))
    },
  }
}

/** Postgres' backends share their buffers, and each counts those that it has touched. 0: it has ended. */
function anonymousMiB(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
  } catch {
    return 0
  }
}

export function formatMemory(memory: MemoryGrowth): string {
  return Object.entries(memory)
    .map(
      ([name, { mean, slope, percent }]) =>
        `${name} ${mean.toFixed(0)} MiB ${slope >= 0 ? '+' : ''}${slope.toFixed(1)}/min (${percent.toFixed(1)} %)`,
    )
    .join(', ')
}
