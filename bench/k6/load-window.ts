import type { CpuUse } from '../watch/cpu.ts'
import type { K6Run } from './types.ts'

type LoadWindow = {
  readonly cores: CpuUse
  /** CPU microseconds per record of each process, at the script's `rate`. */
  readonly microsPerRecord: Readonly<Record<string, number>>
}

/** Approximate time in ms that k6 needs to read a script and run its setup. */
const START_MS = 1_500

/**
 * Returns the CPU use after the warm-up. The script's own `warmUpSeconds` and `seconds` give the start and the length
 * of that time.
 */
export function measureWindow({
  samples,
  cpu,
  summary,
}: Pick<K6Run, 'samples' | 'cpu' | 'summary'>): LoadWindow {
  const { warmUpSeconds = 0, seconds = 0 } = summary.extras as Record<string, number>
  const fromMs = START_MS + warmUpSeconds * 1000
  // A sample contains the CPU use of the second before `atMs`.
  const inside = samples.filter(({ atMs }) => atMs >= fromMs + 1_000 && atMs <= fromMs + seconds * 1000 - 500)
  const cores = inside.length === 0 ? cpu : mean(inside.map((sample) => sample.cores))
  const rate = summary.figures['rate'] ?? 0
  const perRecord = Object.entries(cores).map(([name, used]): [string, number] => [
    name,
    rate === 0 ? 0 : (used * 1e6) / rate,
  ])
  return { cores, microsPerRecord: Object.fromEntries(perRecord) }
}

/** Returns whether a process name from round.ts is that of an API process: `API`, or `API 2` if there are several. */
export function isServer(name: string): boolean {
  return /^API( \d+)?$/.test(name)
}

function mean(all: readonly CpuUse[]): CpuUse {
  const sums: Record<string, number> = {}
  for (const use of all)
    for (const [name, cores] of Object.entries(use)) sums[name] = (sums[name] ?? 0) + cores / all.length
  return sums
}
