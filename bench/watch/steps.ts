import type { System } from '../system.ts'
import { scrapeAll } from './metrics.ts'

/**
 * Mean time in ms of each step of a request: waiting to begin, being prepared, waiting for a commit batch, in Postgres,
 * and being answered.
 */
export type RequestSteps = Readonly<Record<(typeof STEPS)[number], number>>

const STEPS = ['begin', 'prepare', 'wait', 'postgres', 'answer'] as const

const HISTOGRAMS = {
  begin: 'tallystick_http_begin_wait_duration_seconds',
  prepare: 'tallystick_append_prepare_duration_seconds',
  wait: 'tallystick_append_wait_duration_seconds',
  answer: 'tallystick_append_answer_duration_seconds',
}
const REQUESTS =
  /^tallystick_http_request_duration_seconds_(sum|count)\{method="POST",route="\/v1\/records(?:\/batch)?",status="201"\}$/

export type StepSums = Readonly<Record<string, number>>

/** Reads the sums and counts of the metrics since the start of the servers. */
export async function readSteps({ metrics }: Pick<System, 'metrics'>): Promise<StepSums> {
  const all = await scrapeAll(metrics)
  if (all === null) throw new Error('a server did not show its metrics')
  const sums: Record<string, number> = { sum: 0, count: 0 }
  for (const [name, value] of Object.entries(all)) {
    const part = REQUESTS.exec(name)?.[1]
    if (part) sums[part]! += value
  }
  for (const [step, name] of Object.entries(HISTOGRAMS)) {
    sums[`${step} sum`] = all[`${name}_sum`]!
    sums[`${step} count`] = all[`${name}_count`]!
  }
  return sums
}

/** Returns the mean times between two readings. The time in Postgres is the whole duration minus the other steps. */
export function stepsBetween(before: StepSums, after: StepSums): RequestSteps {
  const mean = (sum: string, count: string) =>
    ((after[sum]! - before[sum]!) * 1_000) / Math.max(1, after[count]! - before[count]!)
  const of = (step: keyof typeof HISTOGRAMS) => mean(`${step} sum`, `${step} count`)
  const steps = { begin: of('begin'), prepare: of('prepare'), wait: of('wait'), answer: of('answer') }
  // The measured duration starts when the request begins, so it does not contain the step `begin`.
  const postgres = mean('sum', 'count') - steps.prepare - steps.wait - steps.answer
  return { ...steps, postgres }
}
