/** A tenth finds most faults at once; CI looks as long as it takes. */
const LOCAL_PART = 0.1
const LOCAL_RUNS_MIN = 5

/** Runs of a property: all of them where `CI` is set, fewer elsewhere. */
export function runs(inCi: number): number {
  if (process.env['CI'] !== undefined) return inCi
  return Math.min(inCi, Math.max(LOCAL_RUNS_MIN, Math.ceil(inCi * LOCAL_PART)))
}
