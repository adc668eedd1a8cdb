import { readFileSync } from 'node:fs'
import { type CpuSnapshot, type CpuUse, cpuBetween, takeCpuSnapshot } from './cpu.ts'
import { scrapeAll } from './metrics.ts'
import { type Growth, growth } from './trends.ts'

/** State of all processes at one moment, and the CPU use since the previous sample. */
export type Sample = {
  readonly atMs: number
  /** Average cores in use since the previous sample. */
  readonly cores: CpuUse
  readonly rssMiB: Readonly<Record<string, number>>
  readonly server: Readonly<Record<string, number>>
}

export type Sampled = {
  readonly samples: readonly Sample[]
  /** Average cores in use over the whole run of k6, with its setup. */
  readonly cpu: CpuUse
  readonly wallMs: number
  /** Growth of each process's memory over the second half of the run. */
  readonly memory: Readonly<Record<string, Growth>>
}

type Watched = {
  /** Maps a name to process ids. The names are those of the report: `API`, `worker`, `k6`, `receiver`. */
  readonly processes: Readonly<Record<string, readonly number[]>>
  readonly postmaster: number | null
  readonly metrics: readonly string[]
}

const SAMPLE_EVERY_MS = 1_000
const PAGE_BYTES = 4_096

export type Sampling = { stop(): Sampled }

export function startSampling(watched: Watched): Sampling {
  const beganAt = performance.now()
  const samples: Sample[] = []
  const first = takeCpuSnapshot(watched)
  let previous = first
  let isBusy = false
  const sample = async () => {
    if (isBusy) return
    isBusy = true
    const snapshot = takeCpuSnapshot(watched)
    if (hasEnded(previous, snapshot)) return
    const read = await scrapeAll(watched.metrics)
    samples.push({
      atMs: snapshot.atMs - beganAt,
      cores: cpuBetween(previous, snapshot),
      rssMiB: readMemory(watched.processes),
      server: read === null ? {} : pickServer(read),
    })
    previous = snapshot
    isBusy = false
  }
  const timer = setInterval(() => void sample(), SAMPLE_EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      // k6 has ended, and its CPU counters are gone. The last snapshot with k6's counters is used.
      const last = samples.length > 0 ? previous : takeCpuSnapshot(watched)
      return summarize(samples, first, last, Object.keys(watched.processes))
    },
  }
}

/**
 * Returns whether k6 has ended, because the CPU counters of a process disappear at its end. Samples after the end do
 * not belong to the run.
 */
function hasEnded(before: CpuSnapshot, now: CpuSnapshot): boolean {
  return (now.seconds['k6'] ?? 0) < (before.seconds['k6'] ?? 0)
}

function summarize(
  samples: readonly Sample[],
  first: CpuSnapshot,
  last: CpuSnapshot,
  processes: readonly string[],
): Sampled {
  const half = samples.slice(Math.floor(samples.length / 2))
  const memory = processes.map((name): [string, Growth] => [
    name,
    growth(half.map(({ atMs, rssMiB }) => ({ at: atMs / 60_000, value: rssMiB[name] ?? 0 }))),
  ])
  return {
    samples,
    cpu: cpuBetween(first, last),
    wallMs: last.atMs - first.atMs,
    memory: Object.fromEntries(memory),
  }
}

const THINNED_TO = 5

/** Replaces the samples of each five seconds by their average, so that a run of ten minutes fits into a report. */
export function thinSamples(samples: readonly Sample[]): Sample[] {
  return Array.from({ length: Math.ceil(samples.length / THINNED_TO) }, (_, i) => {
    const group = samples.slice(i * THINNED_TO, (i + 1) * THINNED_TO)
    const mean = (read: (sample: Sample) => Readonly<Record<string, number>>) =>
      Object.fromEntries(
        Object.keys(read(group.at(-1)!)).map((name) => [
          name,
          group.reduce((sum, sample) => sum + (read(sample)[name] ?? 0), 0) / group.length,
        ]),
      )
    return {
      atMs: group.at(-1)!.atMs,
      cores: mean(({ cores }) => cores),
      rssMiB: mean(({ rssMiB }) => rssMiB),
      server: mean(({ server }) => server),
    }
  })
}

function readMemory(processes: Watched['processes']): Record<string, number> {
  const sizes = Object.entries(processes).map(([name, pids]): [string, number] => [
    name,
    pids.reduce((sum, pid) => sum + residentMiB(pid), 0),
  ])
  return Object.fromEntries(sizes)
}

/**
 * Returns the resident memory of a process, or 0 if the process has ended. Reads /proc/<pid>/statm (proc(5)): total and
 * resident size in pages.
 */
export function residentMiB(pid: number): number {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 2)[1])
    return (pages * PAGE_BYTES) / 2 ** 20
  } catch {
    return 0
  }
}

const QUEUE = 'tallystick_append_queue_records'

function pickServer(read: Readonly<Record<string, number>>): Record<string, number> {
  return {
    'queue of records': read[QUEUE] ?? 0,
    'event loop p99 ms': (read['nodejs_eventloop_lag_p99_seconds'] ?? 0) * 1000,
  }
}
