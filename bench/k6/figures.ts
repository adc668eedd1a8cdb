import type { Goal, Profile } from './types.ts'

export function formatValue(value: number): string {
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/**
 * `not tried`: the run did not offer enough load to judge the goal. null: there is no goal. An unmet goal is reported
 * and fails no run.
 */
export type GoalVerdict = 'met' | 'not met' | 'not tried' | null

/** `tried`: the highest value that the run could reach, if it is limited. */
export function judgeGoal(
  goal: Goal | undefined,
  value: number | null | undefined,
  {
    profile,
    tried = Number.POSITIVE_INFINITY,
  }: { readonly profile: Profile; readonly tried?: number | undefined },
): GoalVerdict {
  if (goal === undefined) return null
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = goal
  // A few seconds at a low rate say nothing about rates and latencies. They are enough for a goal of no errors.
  const isTried = tried >= atLeast && (profile === 'full' || atMost === 0)
  if (!isTried || value === null || value === undefined) return 'not tried'
  return value >= atLeast && value <= atMost ? 'met' : 'not met'
}
