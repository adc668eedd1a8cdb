import type { AlertCase } from './alert-case.ts'
import type { Rule } from './alerts-file.ts'
import { HEALTHY, type Series } from './healthy-series.ts'

/**
 * Repeats each case of an alert with series as real exporters produce them. There is one scrape a minute. A sample is
 * null if the scrape failed or found nothing. Then Prometheus ends the series with a staleness marker.
 */
type Samples = readonly (number | null)[]

/** A pattern of series that come and go, around a fault that starts at minute `onset`. */
export type Situation = {
  readonly name: string
  readonly onset: number
  /** Minute in which Prometheus starts. The default is 0. */
  readonly since?: number
  /**
   * Returns the minutes in which a process restarts, besides minute 0. `replaced` is true if another pod replaces the
   * process's pod, and false if a new container starts in the same pod.
   */
  readonly starts: (onset: number) => readonly number[]
  readonly replaced?: boolean
  /** Value of the counters at minute 0, before any process has restarted. */
  readonly counted?: number
  /** Returns true if the scrape of this minute fails. `held` is the alert's `for` in minutes. */
  readonly isMissed: (minute: number, onset: number, held: number) => boolean
  /** Number of minutes by which a gap in the scrapes may delay the alert. The default is 0. */
  readonly gap?: number
}

const GAP_MINUTES = 5
const never = () => false
const once = () => []
const gapBegins = (onset: number, held: number) => onset + Math.ceil(held / 2)

export const SITUATIONS: readonly Situation[] = [
  { name: 'steady', onset: 100, starts: once, isMissed: never },
  { name: 'first hour', onset: 5, starts: once, isMissed: never },
  {
    name: 'new Prometheus',
    since: 121,
    onset: 125,
    starts: once,
    counted: 1_000,
    isMissed: (minute) => minute < 120,
  },
  { name: 'a scrape in four fails', onset: 101, starts: once, isMissed: (minute) => minute % 4 === 3 },
  {
    name: 'five minutes without',
    onset: 100,
    starts: once,
    gap: GAP_MINUTES,
    isMissed: (minute, onset, held) =>
      minute > gapBegins(onset, held) && minute < gapBegins(onset, held) + GAP_MINUTES,
  },
  // Before the restart the counter had the value 1. At the first scrape after the restart the counter has the value 1
  // again.
  { name: 'restarted as it begins', onset: 100, starts: (onset) => [onset], counted: 1, isMissed: never },
  { name: 'pods new as it begins', onset: 100, starts: (onset) => [onset], replaced: true, isMissed: never },
  { name: 'pods replaced', onset: 100, starts: (onset) => [onset + 2], replaced: true, isMissed: never },
]

/** Minutes by which an alert may fire later than its `for`. */
const GRACE_MINUTES = 5
const RESOLVE_MINUTES_MAX = 90

type Test = { readonly name: string; readonly lastMinute: number; readonly test: unknown }

export function nameOf(one: AlertCase, index: number, column: string): string {
  return `${one.alert} ${one.severity} ${index} | ${column}`
}

export const QUIET_COLUMNS = ['too short', 'over'] as const

/**
 * Returns the tests of one case. In each situation the alert must fire in time. It must not fire before the fault or
 * long after the fault. If the fault ends early, it must not fire at all.
 */
export function realLifeTests(one: AlertCase, index: number, rules: readonly Rule[]): Test[] {
  const metrics = metricsOf(rules)
  // The last matching rule is used, because rules of the same name with more labels come later.
  const held = minutesOf(
    rules.findLast(({ alert, labels }) => alert === one.alert && isOf(one, labels))?.for ?? '0m',
  )
  const inTime = held + (one.ripens ?? 0) + GRACE_MINUTES
  const expression = (from: number, to: number) => ({
    expr: `clamp_max(count(count_over_time(ALERTS{${selectorOf(one)}}[${to - from}m])) or vector(0), 1)`,
    eval_time: `${to}m`,
  })
  const make = (
    situation: Situation,
    column: string,
    end: number,
    checks: readonly (readonly [number, number, number])[],
  ) => {
    const lastMinute = Math.max(...checks.map(([, to]) => to))
    const name = nameOf(one, index, column)
    return {
      name,
      lastMinute,
      test: {
        name,
        interval: '1m',
        input_series: seriesOf(one, situation, held, end, lastMinute, metrics),
        promql_expr_test: checks.map(([from, to, value]) => ({
          ...expression(from, to),
          exp_samples: [{ labels: '{}', value }],
        })),
      },
    }
  }
  const tests = SITUATIONS.map((situation) => {
    const { onset, since = 0, gap = 0 } = situation
    const by = onset + inTime + gap
    return make(situation, situation.name, by, [
      [since, onset - 1, 0],
      [onset, by, 1],
    ])
  })
  const steady = SITUATIONS[0]!
  const short = one.brief ?? Math.floor(held / 3)
  if (short > 0)
    tests.push(make(steady, 'too short', steady.onset + short, [[0, steady.onset + held * 2 + 30, 0]]))
  const resolves = Math.max(
    ...rules.flatMap(({ expr }) =>
      [...expr.matchAll(/\[(\d+[smhd])/g)].map(([, range]) => minutesOf(range!)),
    ),
    0,
  )
  if (resolves <= RESOLVE_MINUTES_MAX) {
    const end = steady.onset + inTime
    const over = end + resolves + 15
    tests.push(make(steady, 'over', end, [[over, over + 10, 0]]))
  }
  return tests
}

/** Returns a test that no alert fires in a healthy installation, although series come and go. */
export function quietTest(situation: Situation, series: Series, held: number): Test {
  const lastMinute = situation.onset + 130
  const one = { series: {}, alert: 'nothing', severity: 'page', atMinute: 0, description: '' } as const
  const name = `nothing | ${situation.name}`
  return {
    name,
    lastMinute,
    test: {
      name,
      interval: '1m',
      input_series: seriesOf(one, situation, held, lastMinute, lastMinute, null, { ...HEALTHY, ...series }),
      promql_expr_test: [
        {
          expr: `count(count_over_time(ALERTS{alertstate="firing"}[${lastMinute - (situation.since ?? 0)}m])) or vector(0)`,
          eval_time: `${lastMinute}m`,
          exp_samples: [{ labels: '{}', value: 0 }],
        },
      ],
    },
  }
}

function isOf({ severity, labels = {} }: AlertCase, own: Rule['labels'] = {}): boolean {
  const all: Readonly<Record<string, string>> = { severity, ...labels }
  return Object.entries(own).every(([name, value]) => all[name] === value)
}

/**
 * Returns the selector of an alert. It does not name the labels of a process, because another process may replace
 * that process.
 */
function selectorOf({ alert, severity, labels = {} }: AlertCase): string {
  const { pod, instance, ...others } = labels
  const all = {
    alertname: alert,
    alertstate: 'firing',
    severity,
    ...others,
    ...(pod && !instance && { pod }),
  }
  return Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')
}

/** Returns the rules that an alert needs: its own rules, and the rules that record its metrics. */
export function rulesOf(alert: string, all: readonly Rule[]): Rule[] {
  const wanted = new Set<Rule>(all.filter((rule) => rule.alert === alert))
  for (const rule of wanted)
    for (const [name] of rule.expr.matchAll(/tallystick:[\w:]+/g))
      for (const record of all.filter((one) => one.record === name)) wanted.add(record)
  return all.filter((rule) => wanted.has(rule))
}

function metricsOf(rules: readonly Rule[]): Set<string> {
  return new Set(
    rules.flatMap(({ expr }) =>
      [...expr.matchAll(/\b(?:tallystick|process|kube)_\w+/g)].map(([name]) => name),
    ),
  )
}

const isCounter = (name: string) => /_(total|count|sum|bucket)(\{|$)/.test(name)
const isTimestamp = (name: string) => /_timestamp_seconds(\{|$)/.test(name)
const metricOf = (name: string) => name.replace(/\{.*/, '')

/**
 * Builds the series of a fault that lasts until minute `end`. `metrics` lists the metrics to build; null means all
 * metrics.
 */
function seriesOf(
  one: AlertCase,
  situation: Situation,
  held: number,
  end: number,
  lastMinute: number,
  metrics: ReadonlySet<string> | null,
  healthy: Series = one.isAlone ? {} : HEALTHY,
): unknown[] {
  const gone = (name: string) => (one.without ?? []).includes(metricOf(name))
  const names = [...new Set([...Object.keys(healthy), ...Object.keys(one.series)])]
  const wanted = names.filter((name) => metrics === null || metrics.has(metricOf(name)))
  const arrays = new Map(
    wanted.map((name) => [
      name,
      { well: expand(healthy[name] ?? ''), ill: expand(one.series[name] ?? healthy[name] ?? '') },
    ]),
  )
  const begins = firstMinute(one, arrays)
  const isFaulty = (minute: number) => minute >= situation.onset && minute <= end
  return wanted.flatMap((name) => {
    const { well, ill } = arrays.get(name)!
    const isChanged = name in one.series
    const valueAt = (minute: number): number | null => {
      if (gone(name) && isFaulty(minute)) return null
      if (!isChanged || !isFaulty(minute)) return at(well, minute)
      if (ill.every((value) => value === null)) return null
      if (isTimestamp(name)) return well.length > 0 ? at(well, situation.onset) : situation.onset * 60
      return at(ill, (one.isAlone ? 0 : begins) + minute - (one.isAlone ? 0 : situation.onset))
    }
    const increaseAt = (minute: number): number | null => {
      if (gone(name) && isFaulty(minute)) return null
      const [of, index] =
        isChanged && isFaulty(minute)
          ? ([ill, begins + minute - situation.onset] as const)
          : ([well, minute] as const)
      const [before, now] = [at(of, index - 1), at(of, index)]
      if (of.length === 0) return isChanged ? 0 : null
      return Math.max(0, (now ?? 0) - (before ?? now ?? 0))
    }
    const lives = livesOf(name, situation, lastMinute).map(({ series, from, to, first }) => {
      let counted = first ? (situation.counted ?? 0) : 0
      const samples = Array.from({ length: lastMinute + 1 }, (_, minute): number | null => {
        if (minute < from || minute > to) return null
        let value = isCounter(name) ? increaseAt(minute) : valueAt(minute)
        if (isCounter(name) && value !== null) value = counted += value
        // A process that has just started has not finished a successful round yet. So this metric has no value.
        if (!first && minute === from && name.includes('_last_success_timestamp_')) return null
        if (metricOf(name) === 'process_start_time_seconds' && !isChanged && ownProcess.test(name))
          value = first && situation.counted !== undefined ? -DAY_SECONDS : from * 60
        return situation.isMissed(minute, situation.onset, held) ? null : value
      })
      return { series, samples }
    })
    return [...Map.groupBy(lives, ({ series }) => series)].map(([series, of]) => ({
      series,
      values: notation(of.map(({ samples }) => samples).reduce<Samples>(merge, of[0]!.samples)),
    }))
  })
}

function merge(one: Samples, other: Samples): Samples {
  return one.map((value, i) => value ?? at(other, i))
}

type Life = { readonly series: string; readonly from: number; readonly to: number; readonly first: boolean }

/** Returns the lives of the process that has this series. A series of another exporter has only one life. */
function livesOf(name: string, { onset, starts, replaced }: Situation, lastMinute: number): Life[] {
  const bounds = ownProcess.test(name) ? [0, ...starts(onset)] : [0]
  return bounds.map((from, i) => ({
    series:
      replaced && i > 0 ? name.replace(/-0", instance="10\.0\.0\./, `-${i}", instance="10.0.${i}.`) : name,
    from,
    to: (bounds[i + 1] ?? lastMinute + 1) - 1,
    first: i === 0,
  }))
}

const ownProcess = /pod="tallystick-(api|worker)-0"/
const DAY_SECONDS = 86_400

/**
 * Returns the first minute in which the fault shows in a case's series. Series that also exist without the fault take
 * precedence.
 */
function firstMinute(
  { series }: AlertCase,
  arrays: ReadonlyMap<string, { readonly well: Samples; readonly ill: Samples }>,
): number {
  const changes = Object.keys(series).flatMap((name) => {
    const { well, ill } = arrays.get(name) ?? { well: [], ill: [] }
    const index = firstChange(name, well, ill)
    return index < ill.length || well.length > ill.length ? [{ index, isKnown: well.length > 0 }] : []
  })
  const known = changes.filter(({ isKnown }) => isKnown)
  return (
    Math.min(...(known.length > 0 ? known : changes).map(({ index }) => index), Number.MAX_SAFE_INTEGER) %
    Number.MAX_SAFE_INTEGER
  )
}

function firstChange(name: string, well: Samples, ill: Samples): number {
  const step = (of: Samples, i: number) => (at(of, i) ?? 0) - (at(of, i - 1) ?? at(of, i) ?? 0)
  const index = ill.findIndex((value, i) =>
    isCounter(name)
      ? step(ill, i) > 0 || (well.length > 0 && i > 0 && step(ill, i) !== step(well, i))
      : value !== at(well, i),
  )
  return index < 0 ? ill.length : index
}

const at = (samples: Samples, index: number) => samples[index] ?? null

/** Parses those forms of promtool's notation that the cases use. */
export function expand(text: string): Samples {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .flatMap((word): (number | null)[] => {
      if (word === 'stale' || word === '_') return [null]
      const [, start, sign, step, times] = /^(_|-?[\d.]+)(?:([+-])([\d.]+))?(?:x(\d+))?$/.exec(word) ?? []
      if (start === undefined) throw new Error(`not understood: ${word}`)
      if (start === '_') return Array.from({ length: Number(times) }, () => null)
      const by = Number(step ?? 0) * (sign === '-' ? -1 : 1)
      return Array.from({ length: Number(times ?? 0) + 1 }, (_, i) => Number(start) + by * i)
    })
}

function notation(samples: Samples): string {
  return samples.map((value, i) => value ?? (at(samples, i - 1) === null ? '_' : 'stale')).join(' ')
}

export function minutesOf(duration: string): number {
  const [, number, unit] = /^(\d+)([smhd])$/.exec(duration)!
  return Math.ceil(Number(number) * { s: 1 / 60, m: 1, h: 60, d: 1_440 }[unit as 's' | 'm' | 'h' | 'd'])
}
