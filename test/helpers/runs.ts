/** Part of the runs that is made outside of CI. A tenth of the runs finds most faults. */
const LOCAL_PART = 0.1
const LOCAL_RUNS_MIN = 5

/** Returns the number of runs of a property: `inCi` if `CI` is set, fewer elsewhere. */
export function runs(inCi: number): number {
  if (process.env['CI'] !== undefined) return inCi
  return Math.min(inCi, Math.max(LOCAL_RUNS_MIN, Math.ceil(inCi * LOCAL_PART)))
}
