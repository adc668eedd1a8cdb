import type { DrivenRound, Findings, K6Options, K6Run, Running, Scenario } from './types.ts'

/** Maximum p99 latency in ms of a rate that counts as sustained. */
const P99_MS_MAX = 250
/**
 * Minimum share of the offered rate that must be achieved. It is below 1, because some arrivals at the start and end of
 * a step are not counted.
 */
const ACHIEVED_SHARE_MIN = 0.97
const FIRST_RATE = { short: 100, full: 1_000 }
const RATE_MAX = { short: 400, full: 100_000 }
const STEP_SECONDS = { short: 3, full: 10 }
const COARSE_STEP = 1.5
const FINE_STEP = 1.1

/**
 * Runs one ramp of rising load. With `--peak max` it instead finds the ceiling by steps of constant rate, and then
 * offers twice the ceiling.
 */
export const notarizeRamp = {
  secondsMax: { short: 120, full: 600 },
  rounds: ({ peak, servers }: K6Options) => [
    { name: '', servers: servers ?? 1, ...(peak === 'max' && { drive: driveToCeiling }) },
  ],
  env: ({ peak }: K6Options): Record<string, string> =>
    typeof peak === 'number' ? { PEAK: String(peak) } : {},
  combine: describeRamp,
} satisfies Scenario

/** Finds the ceiling with clients that wait for their answers, and then offers twice the ceiling. */
export const overload = {
  secondsMax: { short: 120, full: 1_200 },
  rounds: ({ servers }: K6Options) => [{ name: '', servers: servers ?? 1, drive: driveOverload }],
} satisfies Scenario

async function driveOverload(running: Running): Promise<K6Run[]> {
  const search = await running.runScript('the ceiling')
  const { ceiling } = search.summary.figures
  if (!ceiling) throw new Error('the search found no ceiling')
  const load = await running.runScript('twice the ceiling', { CEILING: String(Math.round(ceiling)) })
  return [search, load]
}

async function driveToCeiling(running: Running): Promise<K6Run[]> {
  // A process that has just started still compiles its code and would show too low a ceiling.
  const warmUp = await offer(running, FIRST_RATE[running.options.profile], 'warm-up')
  const steps = await findCeiling(running)
  const ceiling = highestSustained(steps)
  if (ceiling === null) throw new Error(`not even ${rateOf(steps[0]!)} requests/s were reached`)
  const above = await offer(running, ceiling * 2, `twice the ceiling: ${ceiling * 2}/s`)
  return [warmUp, ...steps, above]
}

/**
 * Raises a constant rate until a rate is not sustained: first in coarse steps, then in finer steps from the last
 * sustained rate. Returns all steps.
 */
async function findCeiling(running: Running): Promise<K6Run[]> {
  const { profile } = running.options
  const steps: K6Run[] = []
  let from = FIRST_RATE[profile] / COARSE_STEP
  for (const factor of [COARSE_STEP, FINE_STEP]) {
    for (let rate = Math.round(from * factor); ; rate = Math.round(rate * factor)) {
      const step = await offer(running, rate, `${rate}/s`)
      steps.push(step)
      if (!isSustained(step) || rate > RATE_MAX[profile]) break
      from = rate
    }
    if (highestSustained(steps) === null) break
  }
  return steps
}

function offer(running: Running, rate: number, title: string): Promise<K6Run> {
  const seconds = String(running.options.seconds ?? STEP_SECONDS[running.options.profile])
  return running.runScript(title, { RATE: String(rate), SECONDS: seconds, SEARCHING: '1' })
}

export function isSustained({ summary }: Pick<K6Run, 'summary'>): boolean {
  const { rate = null, p99 = null } = summary.figures
  const { dropped, refused, peakPerSecond } = summary.extras as Record<string, number>
  if (rate === null || p99 === null || p99 > P99_MS_MAX) return false
  const hasFailures = Number(summary.metrics['failed']?.['rate'] ?? 0) > 0
  return !hasFailures && dropped === 0 && refused === 0 && rate >= peakPerSecond! * ACHIEVED_SHARE_MIN
}

function highestSustained(steps: readonly K6Run[]): number | null {
  const held = steps.filter(isSustained).map(rateOf)
  return held.length === 0 ? null : Math.max(...held)
}

function rateOf({ summary }: K6Run): number {
  return Number(summary.extras['peakPerSecond'])
}

function describeRamp(rounds: readonly DrivenRound[], { peak }: K6Options): Findings {
  const { runs } = rounds[0]!
  const last = runs.at(-1)!.summary
  if (peak !== 'max')
    return { figures: { ceiling: sustainedPeak(runs.at(-1)!), ...last.figures }, extras: last.extras }
  const steps = runs.slice(1, -1)
  const ceiling = highestSustained(steps)
  const best = steps.find((step) => rateOf(step) === ceiling)!.summary
  return {
    figures: { ceiling, ...best.figures },
    extras: {
      ...best.extras,
      steps: steps.map((step) => ({
        offered: rateOf(step),
        held: isSustained(step),
        ...step.summary.figures,
        ...step.summary.extras,
      })),
      twiceTheCeiling: {
        ...last.extras,
        ...last.figures,
        accepted: last.metrics['accepted'],
        rejected: last.metrics['rejected'],
      },
    },
    ...(last.metrics['failed']?.['rate'] !== 0 && {
      faults: ['at twice the ceiling some requests were not accepted or refused within 20 ms'],
    }),
  }
}

/**
 * Returns the final rate of a ramp that reached its end without refusals. This rate is a lower bound of the ceiling.
 * Returns null for any other ramp.
 */
function sustainedPeak(run: K6Run): number | null {
  const { dropped, refused } = run.summary.extras
  return dropped === 0 && refused === 0 ? rateOf(run) : null
}
