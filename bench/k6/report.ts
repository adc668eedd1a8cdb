import { readFileSync } from 'node:fs'
import { thinSamples } from '../watch/samples.ts'
import { type Flatness, flatness } from '../watch/trends.ts'
import type {
  Findings,
  K6Options,
  K6Report,
  K6Run,
  Published,
  ReportedRound,
  ReportedRun,
  RoundResult,
  ScriptName,
} from './types.ts'

/**
 * Maximum growth of a process's memory over the second half of a run, in percent of its mean. Above this, the memory
 * does not count as constant.
 */
const GROWTH_PERCENT_MAX = 10
/**
 * Minimum length in ms of a run whose growth is judged. In a shorter run, a heap that fills for the first time looks
 * like a leak.
 */
const GROWTH_JUDGED_FROM_MS = 120_000
const OURS = /^(API|worker)/

type ReportInput = Omit<
  K6Report,
  'published' | 'node' | 'figures' | 'extras' | 'rounds' | 'faults' | 'ok'
> & {
  readonly results: readonly RoundResult[]
  readonly findings: Findings
}

export function makeReport({ results, findings, ...about }: ReportInput): K6Report {
  const rounds = results.map(({ round, runs, audit }) => ({
    name: round.name,
    servers: round.servers,
    runs: runs.map((run) => describeRun(run, about.options)),
    audit,
  }))
  const faults = [...findFaults(rounds), ...(findings.faults ?? [])]
  return {
    ...about,
    published: readPublished(about.script),
    node: process.version,
    figures: findings.figures,
    extras: findings.extras ?? {},
    rounds,
    faults,
    ok: faults.length === 0,
  }
}

export function readPublished(script: ScriptName): Published {
  const path = new URL('../../k6/published.json', import.meta.url)
  return JSON.parse(readFileSync(path, 'utf8'))[script]
}

function describeRun(run: K6Run, { profile }: K6Options): ReportedRun {
  const requests = Number(run.summary.metrics['http_reqs']?.['count'] ?? 0)
  const micros = ((run.cpu['k6'] ?? 0) * run.wallMs * 1000) / requests
  return {
    ...run,
    samples: profile === 'full' ? thinSamples(run.samples) : run.samples,
    k6MicrosPerRequest: requests === 0 ? 0 : micros,
    flatness: findFlatness(run),
  }
}

const SCENARIO = /^acknowledged_records\{scenario:(.+)\}$/

/**
 * Computes the flatness of each k6 scenario's rate. Leaves out the first and the last period, because a scenario ran
 * for only a part of them.
 */
function findFlatness({ points }: K6Run): Record<string, Flatness> {
  const scenarios = new Set(
    points.flatMap(({ metrics }) => Object.keys(metrics).flatMap((name) => SCENARIO.exec(name)?.[1] ?? [])),
  )
  const found: Record<string, Flatness> = {}
  for (const scenario of scenarios) {
    const values = points.flatMap(({ atMs, metrics }) => {
      const value = metrics[`acknowledged_records{scenario:${scenario}}`]?.['rate']
      return value === undefined ? [] : [{ at: atMs, value }]
    })
    const flat = flatness(values.slice(1, -1))
    if (flat !== null) found[scenario] = flat
  }
  return found
}

function findFaults(rounds: readonly ReportedRound[]): string[] {
  return rounds.flatMap(({ name, runs, audit }) => {
    const faults = [
      ...runs.flatMap((run) =>
        run.summary.thresholds
          .filter(({ ok }) => !ok)
          .map(({ metric, expression }) => `${run.title} threshold ${metric}: ${expression}`.trim()),
      ),
      ...runs.flatMap(({ title, summary }) =>
        summary.checks
          .filter(({ fails }) => fails > 0)
          .map(({ name, fails }) => `${title} check failed ${fails} times: ${name}`.trim()),
      ),
      ...runs.flatMap(findGrowth),
      ...audit.faults.map((fault) => `audit: ${fault}`),
    ]
    return name === '' ? faults : faults.map((fault) => `${name}: ${fault}`)
  })
}

function findGrowth({ memory, wallMs }: ReportedRun): string[] {
  if (wallMs < GROWTH_JUDGED_FROM_MS) return []
  return Object.entries(memory)
    .filter(([name, { percent }]) => OURS.test(name) && percent > GROWTH_PERCENT_MAX)
    .map(([name, { percent }]) => `memory of ${name} grew by ${percent.toFixed(1)} % in the second half`)
}

export function reportName({ script, options }: Pick<K6Report, 'script' | 'options'>): string {
  return `k6-${script}-${options.profile}`
}
