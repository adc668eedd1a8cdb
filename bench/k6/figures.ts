import type { Goal, Profile } from './types.ts'

export function formatValue(value: number): string {
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/**
 * `not tried`: the run did not offer enough load to judge the goal. null: there is no goal. A goal that is not met is
 * reported, but the run does not fail.
 */
export type GoalVerdict = 'met' | 'not met' | 'not tried' | null

/**
 * Returns whether a value meets its goal. `tried`: highest value that the settings of the run allow. By default they
 * allow any value.
 */
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
  // A few seconds at a low rate cannot judge rates and latencies. They can judge a goal of no errors.
  const isTried = tried >= atLeast && (profile === 'full' || atMost === 0)
  if (!isTried || value === null || value === undefined) return 'not tried'
  return value >= atLeast && value <= atMost ? 'met' : 'not met'
}
