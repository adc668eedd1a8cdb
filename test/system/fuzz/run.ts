/*
 * npm run drill -- fuzz [RUNS [SEED]]
 *
 * npm run drill -- fuzz --differential [--cases N] [--minutes M] [--seed S] [--kind KIND] [--processes N]
 *
 * npm run drill -- fuzz --differential --seed S --case N
 *
 * Runs the fuzz tests of npm test (test/proof/fuzz) with RUNS changed inputs for each decoder. The default seed is
 * the clock. A failure prints the seed and its input.
 *
 * --differential: gives hostile inputs of every format, correctly signed or not, to both verifiers (differential/).
 * The verifiers must agree on verdict, code and report, and neither may be slow. --case repeats one case of a seed.
 */

const RUNS_DEFAULT = 50_000
const args = process.argv.slice(2)

if (args.includes('--differential')) {
  const { runDifferential } = await import('./differential/run.ts')
  await runDifferential(args)
} else {
  await fuzzDecoders(...(args.map(Number) as [number?, number?]))
}

async function fuzzDecoders(runs = RUNS_DEFAULT, seed = Date.now() % 2 ** 32): Promise<void> {
  const { fuzz, TARGETS } = await import('../../proof/fuzz/harness.ts')
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
}
