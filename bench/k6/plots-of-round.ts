import type { Line, Plot } from './plots.ts'
import type { Sample } from './samples.ts'
import type { K6Run } from './types.ts'

/** k6 stands still between the runs of a round; so much is left between them. */
const GAP_SECONDS = 1

/** Plots of a round: its runs one after another on one axis of time. */
export function plotsOfRound(runs: readonly K6Run[]): Plot[] {
  const placed = place(runs)
  const marks = runs.length > 1 ? placed.map(({ run, from }) => ({ at: from, name: run.title })) : []
  const ofPoints = (name: string, metric: string, statistic: string, factor = 1): Line => ({
    name,
    points: placed.flatMap(({ run, from }) =>
      run.points.flatMap(({ atMs, metrics }): [number, number][] => {
        const value = metrics[metric]?.[statistic]
        return value === undefined ? [] : [[from + atMs / 1000, value * factor]]
      }),
    ),
  })
  const ofSamples = (name: string, read: (sample: Sample) => number | undefined): Line => ({
    name,
    points: placed.flatMap(({ run, from }) =>
      run.samples.flatMap((sample): [number, number][] => {
        const value = read(sample)
        return value === undefined ? [] : [[from + sample.atMs / 1000, value]]
      }),
    ),
  })
  const processes = namesOf(runs, ({ rssMiB }) => rssMiB)
  const accounts = namesOf(runs, ({ cores }) => cores)
  const plots: Plot[] = [
    {
      title: 'Throughput, as k6 saw it',
      unit: '/s',
      lines: [ofPoints('records', 'acknowledged_records', 'rate'), ofPoints('requests', 'http_reqs', 'rate')],
    },
    {
      title: 'Latency of accepted requests, each period by itself',
      unit: 'ms',
      scale: 'log',
      lines: [
        ofPoints('p50', 'accepted', 'med'),
        ofPoints('p99', 'accepted', 'p(99)'),
        ofPoints('503, p99', 'rejected', 'p(99)'),
      ],
    },
    {
      title: 'CPU by process',
      unit: 'cores',
      lines: accounts.map((name) => ofSamples(name, ({ cores }) => cores[name])),
    },
    {
      title: 'Resident memory',
      unit: 'MiB',
      lines: processes.map((name) => ofSamples(name, ({ rssMiB }) => rssMiB[name])),
    },
    {
      title: 'Records that wait for a batch',
      unit: '',
      lines: [ofSamples('queue', ({ server }) => server['queue of records'])],
    },
    {
      title: 'Event loop of the API process, p99 of its delays',
      unit: 'ms',
      lines: [ofSamples('delay', ({ server }) => server['event loop p99 ms'])],
    },
  ]
  return plots
    .map((plot) => ({ ...plot, marks, lines: plot.lines.filter(({ points }) => points.length > 0) }))
    .filter(({ lines }) => lines.length > 0)
}

function place(runs: readonly K6Run[]): { run: K6Run; from: number }[] {
  let from = 0
  return runs.map((run) => {
    const placed = { run, from }
    from += run.wallMs / 1000 + GAP_SECONDS
    return placed
  })
}

/** `interrupts` is the kernel's own, on nobody's account. */
function namesOf(
  runs: readonly K6Run[],
  read: (sample: Sample) => Readonly<Record<string, number>>,
): string[] {
  return [...new Set(runs.flatMap(({ samples }) => samples.flatMap((sample) => Object.keys(read(sample)))))]
}
