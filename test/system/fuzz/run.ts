/*
 * npm run fuzz [-- RUNS [SEED]]
 *
 * The fuzzing of npm test (test/proof/fuzz), with so many changed inputs for each decoder, from a seed: by default one of the clock. A
 * failure names the seed, and its input.
 */
import { fuzz, TARGETS } from '../../proof/fuzz/harness.ts'

const RUNS_DEFAULT = 50_000
const [runs = RUNS_DEFAULT, seed = Date.now() % 2 ** 32] = process.argv.slice(2).map(Number)

console.log(`${runs} runs each, seed ${seed}`)
for (const name of Object.keys(TARGETS)) {
  try {
    const { taken, msMax, codes } = fuzz(name, { seed, runs })
    console.log(
      `ok   ${name}: ${taken} taken, refused by ${codes.size} codes, at most ${msMax.toFixed(1)} ms`,
    )
  } catch (error) {
    process.exitCode = 1
    console.log(`FAIL ${(error as Error).message}`)
  }
}
