import type { Goal, Profile } from './types.ts'

export function formatValue(value: number): string {
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/**
 * `not tried`: the run did not ask for it, so what it measured says nothing of it. A goal that is not met is said; it makes no run
 * fail. null: there is no goal.
 */
export type GoalVerdict = 'met' | 'not met' | 'not tried' | null

/** `tried`: the most that the run asked for, if it is less than it could be. */
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
  // A few seconds at a low rate say of rates and latencies nothing; of errors, that there must be none, they do.
  const isTried = tried >= atLeast && (profile === 'full' || atMost === 0)
  if (!isTried || value === null || value === undefined) return 'not tried'
  return value >= atLeast && value <= atMost ? 'met' : 'not met'
}
