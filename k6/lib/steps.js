/* A load that rises in steps. Each step has a ramp, which is not measured, and then a time at constant load. */

/** Tag of iterations that start while the load changes. */
export const BETWEEN = 'between'

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {number} target users, or requests a second
 * @property {number} rampSeconds
 * @property {number} holdSeconds
 */

/**
 * Makes a load of several steps. `stages`: setting of k6's ramping executors. `nameAt`: returns the name of the step
 * whose constant load runs `ms` after the start, or BETWEEN.
 *
 * @param {readonly Step[]} steps
 * @returns {{ stages: { duration: string, target: number }[], seconds: number, nameAt(ms: number): string }}
 */
export function makeSteps(steps) {
  /** @type {{ name: string, untilMs: number }[]} */
  const parts = []
  let untilMs = 0
  for (const { name, rampSeconds, holdSeconds } of steps) {
    const heldFromMs = untilMs + rampSeconds * 1_000
    untilMs = heldFromMs + holdSeconds * 1_000
    parts.push({ name: BETWEEN, untilMs: heldFromMs }, { name, untilMs })
  }
  return {
    stages: steps.flatMap(({ target, rampSeconds, holdSeconds }) => [
      { duration: `${rampSeconds}s`, target },
      { duration: `${holdSeconds}s`, target },
    ]),
    seconds: untilMs / 1_000,
    nameAt: (ms) => parts.find((part) => ms < part.untilMs)?.name ?? BETWEEN,
  }
}
