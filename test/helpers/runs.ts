/** Part of the runs that is made outside of CI. A tenth of the runs finds most faults. */
const LOCAL_PART = 0.1
const LOCAL_RUNS_MIN = 5

/** Returns all cases if `CI` is set. Elsewhere returns every `step`th case, from the first on: the same in each run. */
export function sampled<Case>(cases: readonly Case[], step: number): readonly Case[] {
  return process.env['CI'] !== undefined ? cases : cases.filter((_, i) => i % step === 0)
}

/**
 * Returns the number of runs of a property: `inCi` if `CI` is set, fewer elsewhere. `localMin`: fewest runs elsewhere;
 * a test whose runs take hundreds of milliseconds passes less than the default.
 */
export function runs(inCi: number, localMin = LOCAL_RUNS_MIN): number {
  if (process.env['CI'] !== undefined) return inCi
  return Math.min(inCi, Math.max(localMin, Math.ceil(inCi * LOCAL_PART)))
}
