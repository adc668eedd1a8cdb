import { notarizeRamp, overload } from './ceiling.ts'
import { federationDrain } from './federation.ts'
import { lifecycleSoak } from './lifecycle-soak.ts'
import { pipelinedMessages } from './pipelined-messages.ts'
import { replicas } from './replicas.ts'
import type { DrivenRound, Findings, K6Options, Round, Scenario, ScriptName } from './types.ts'

const table: Readonly<Record<ScriptName, Scenario>> = {
  'notarize-ramp': notarizeRamp,
  'lifecycle-soak': { ...lifecycleSoak, env: passOn('CLIENTS') },
  'batch-sustained': { secondsMax: { short: 120, full: 3_000 }, diskBytes: batchBytes },
  'dense-producers': { secondsMax: { short: 120, full: 900 } },
  'pipelined-messages': pipelinedMessages,
  'mixed-users': { secondsMax: { short: 120, full: 1_800 }, env: passOn('STEPS') },
  zipfian: {
    rounds: (options) => repeat(options.profile === 'short' ? 1 : 3, options),
    secondsMax: { short: 120, full: 1_200 },
    env: passOn('USERS'),
    combine: medianAndSpread,
  },
  overload,
  replicas,
  'webhooks-drain': { secondsMax: { short: 120, full: 1_200 }, receiver: true },
  'federation-drain': federationDrain,
}

export const SCENARIOS: Readonly<Record<ScriptName, Scenario>> = table
export const SCRIPTS = Object.keys(table) as readonly ScriptName[]

export function isScript(name: string): name is ScriptName {
  return name in table
}

export function roundsOf(scenario: Scenario, options: K6Options): readonly Round[] {
  return scenario.rounds?.(options) ?? [{ name: '', servers: options.servers ?? 1 }]
}

/** Combines the findings of several rounds. If the scenario has no `combine`, returns the figures of the last run. */
export function combineRounds(
  scenario: Scenario,
  rounds: readonly DrivenRound[],
  options: K6Options,
): Findings {
  if (scenario.combine) return scenario.combine(rounds, options)
  const { summary } = rounds.at(-1)!.runs.at(-1)!
  return { figures: summary.figures, extras: summary.extras }
}

/**
 * Goal for batches, in records per second. `BYTES_PER_RECORD`: approximate bytes of database and WAL for each record.
 */
const BATCH_RECORDS_PER_SECOND = 60_000
const BYTES_PER_RECORD = 900
const BATCH_SECONDS = { short: 8, full: 600 }
const BATCH_SIZES = 2

function batchBytes({ seconds, profile }: K6Options): number {
  return (seconds ?? BATCH_SECONDS[profile]) * BATCH_SIZES * BATCH_RECORDS_PER_SECOND * BYTES_PER_RECORD
}

/** Returns a function that passes an environment variable of the caller to a script (docs/BENCHMARKS.md#with-k6). */
function passOn(name: string): () => Readonly<Record<string, string>> {
  const value = process.env[name]
  return () => (value === undefined ? {} : { [name]: value })
}

function repeat(times: number, { servers }: K6Options): Round[] {
  return Array.from({ length: times }, (_, i) => ({ name: `run ${i + 1}`, servers: servers ?? 1 }))
}

/** Maximum spread between the runs of a script, in percent. With a larger spread the median is not reliable. */
const SPREAD_PERCENT_MAX = 10

/**
 * Computes, for each figure, the median over the rounds and the spread: (max - min) / median. `spreadPercent` is the
 * spread of the rate.
 */
export function medianAndSpread(rounds: readonly DrivenRound[]): Findings {
  const all = rounds.map(({ runs }) => runs.at(-1)!.summary)
  const figures: Record<string, number | null> = {}
  const spread: Record<string, number> = {}
  for (const id of Object.keys(all[0]!.figures)) {
    const values = all.flatMap((summary) => summary.figures[id] ?? []).sort((a, b) => a - b)
    const median = values[Math.floor(values.length / 2)] ?? null
    figures[id] = median
    if (values.length > 1 && median) spread[id] = ((values.at(-1)! - values[0]!) / median) * 100
  }
  return {
    figures: { ...figures, spreadPercent: spread['rate'] ?? null },
    extras: {
      ...all[Math.floor(all.length / 2)]!.extras,
      runs: all.map((summary) => summary.figures),
      spreadPercent: spread,
      noisy: Object.keys(spread).filter((id) => spread[id]! > SPREAD_PERCENT_MAX),
    },
  }
}
