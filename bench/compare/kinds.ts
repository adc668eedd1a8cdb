import { type Measured, readK6Report, readReport, readRetention, tableReader } from './figures.ts'

/**
 * A kind of work of docs/BENCHMARKS.md. It must work in every revision since cc8bfec8. So its script is named by a
 * path, its arguments are those that cc8bfec8 accepts, and its figures are read from output that cc8bfec8 writes too.
 */
export type Kind = {
  /** Returns script and arguments. `seconds`: measured time of each phase. */
  readonly command: (seconds: number) => readonly string[]
  /** `scenario`: bench/bench.ts, `k6`: bench/k6/run.ts; both write JSON to `--out`. `printed`: the output is read. */
  readonly from: 'scenario' | 'k6' | 'printed'
  /** True if `npm run bench -- table` also measures plain inserts. */
  readonly inserts?: boolean
  /** True if `npm run bench -- table` skips the kind, because it needs much time or a program that may be missing. */
  readonly onlyCompared?: boolean
  readonly read: (output: Output) => Measured
}

/** What a run wrote. `report` is null for `printed`. */
export type Output = { readonly text: string; readonly report: unknown }

type ReportOf<Read extends (report: never) => Measured> = Parameters<Read>[0]

const scenario = (...args: string[]): Kind => ({
  command: (seconds) => ['bench/bench.ts', ...args, '--duration', String(seconds)],
  from: 'scenario',
  read: ({ report }) => readReport(report as ReportOf<typeof readReport>),
})

const k6 = (script: string): Kind => ({
  command: (seconds) => ['bench/k6/run.ts', script, '--profile', 'short', '--seconds', String(seconds)],
  from: 'k6',
  onlyCompared: true,
  read: ({ report }) => readK6Report(report as ReportOf<typeof readK6Report>),
})

const printed = (read: (text: string) => Measured, command: Kind['command']): Kind => ({
  command,
  from: 'printed',
  read: ({ text }) => read(text),
})

const micro = (name: string) => `bench/micro/${name}.ts`
/** Number for an option that must be an integer. */
const whole = (value: number) => String(Math.ceil(value))

const LISTS = tableReader(/^(single|batch): /, ['a second', 'p50 ms', 'p99 ms', 'server µs', 'postgres µs'])
const OTLP = tableReader(/^(batches|OTLP)/, ['a second', null, 'server µs', 'postgres µs'])
const EVIDENCE = tableReader(/, \/s$/, ['a second'])
const SEARCH = tableReader(/^(?!ms$)\S/, [null, null, null, 'p50 ms', 'p99 ms', null, null])
const PROOFS = tableReader(/^(inclusion|consistency)/, [null, null, 'p50 ms', 'p99 ms'])
const CELLS = tableReader(/^(single|batch), /, ['a second', null, 'p50 ms', 'p99 ms'])
/** Each of the 22 lists of `lists` is measured for this share of the seconds. */
const LIST_SHARE = 0.25
const EVIDENCE_REQUESTS_PER_SECOND = 500
const SECONDS_MAX = 600

export const KINDS: Readonly<Record<string, Kind>> = {
  single: { ...scenario('single', '--connections', '64,128,256', '--no-arrival'), inserts: true },
  batch: { ...scenario('batch', '--producers', '4'), inserts: true },
  'batch-100': scenario('batch', '--batch-size', '100', '--producers', '64'),
  latency: scenario('latency', '--shares', '0.8'),
  overload: scenario('overload', '--shares', '2'),
  lifecycle: scenario('lifecycle', '--clients', '64,256'),
  notarizer: scenario('notarizer'),
  otlp: printed(OTLP, (seconds) => [micro('otlp'), '--windows', '1', '--seconds', whole(seconds)]),
  lists: printed(LISTS, (seconds) => [
    ...[micro('search'), '--lists', '--seconds', String(seconds * LIST_SHARE)],
  ]),
  search: printed(SEARCH, () => [
    ...[micro('search'), '--records', '100000', '--small', '10000', '--repeats', '50'],
  ]),
  evidence: printed(EVIDENCE, (seconds) => [
    ...[micro('evidence'), '--rounds', '1', '--requests', whole(seconds * EVIDENCE_REQUESTS_PER_SECOND)],
  ]),
  proofs: printed(PROOFS, () => [micro('proofs'), '100000']),
  retention: printed(readRetention, () => [micro('retention')]),
  cells: {
    ...printed(CELLS, (seconds) => [micro('cells'), '--rounds', '1', '--seconds', String(seconds)]),
    onlyCompared: true,
  },
  webhooks: k6('webhooks-drain'),
  federation: k6('federation-drain'),
}

/** Returns the names in `--only`, or `all`. Throws if a name is unknown. */
export function parseKinds(only: string | undefined, all: readonly string[]): readonly string[] {
  if (only === undefined) return all
  const names = only.split(',')
  const unknown = names.find((name) => !Object.hasOwn(KINDS, name))
  if (unknown !== undefined)
    throw new Error(`there is no kind ${unknown}. Kinds: ${Object.keys(KINDS).join(', ')}`)
  return names
}

/** Parses `--duration`, the measured seconds of each phase. */
export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (!(seconds >= 1 && seconds <= SECONDS_MAX))
    throw new Error(`--duration must be from 1 to ${SECONDS_MAX}`)
  return seconds
}
