/*
 * npm run bench -- compare --with REV [--only single,batch] [--rounds 3] [--duration 6] [--force]
 *
 * Compares this tree, with its uncommitted changes, with another revision, for each kind of work. Each of the two runs
 * first in every second round, so that a machine that warms up affects both equally. Prints medians and their ratios.
 * The exit code is 1 if a ratio is worse than its tolerance, if a kind failed, or if the machine stayed busy.
 */
import { parseArgs } from 'node:util'
import { describeCommit } from '../report.ts'
import { runBench } from '../run-bench.ts'
import { printTable } from '../table.ts'
import type { Figure } from './figures.ts'
import { KINDS, parseKinds, parseSeconds } from './kinds.ts'
import { compareRuns, conclude, type Ratio, ratioCells } from './ratios.ts'
import { Runs } from './runs.ts'
import { findCommit, makeFolder, makeWorkTree, ROOT } from './work-tree.ts'

const ROUNDS_MAX = 100

type CompareOptions = {
  readonly revision: string
  readonly kinds: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly force: boolean
}

function parseOptions(args: string[]): CompareOptions {
  const { values } = parseArgs({
    args,
    options: {
      with: { type: 'string' },
      only: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      duration: { type: 'string', default: '6' },
      force: { type: 'boolean', default: false },
    },
  })
  if (values.with === undefined) throw new Error('--with REV: which revision?')
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX)
    throw new Error(`--rounds must be from 1 to ${ROUNDS_MAX}`)
  return {
    revision: values.with,
    kinds: parseKinds(values.only, Object.keys(KINDS)),
    rounds,
    seconds: parseSeconds(values.duration),
    force: values.force,
  }
}

async function main(options: CompareOptions): Promise<boolean> {
  const commit = findCommit(options.revision)
  const folder = makeFolder()
  const tree = makeWorkTree(commit, folder)
  // `runs` is made after the tree, so it is closed first: runs end before their tree is removed.
  const runs = new Runs(folder, console.log)
  if (!options.force) await runs.requireQuiet()
  console.log(`… packages of ${commit}`)
  console.log(await runs.run(tree, ['bench/bench.ts', 'preflight']))
  const rows = [['', '', describeCommit(), commit, 'ratio', 'of the rounds', '']]
  const compared: Ratio[] = []
  const faults: string[] = []
  try {
    for (const name of options.kinds) {
      try {
        const { mine, other, isBusy } = await compareKind(name, tree, runs, options)
        if (isBusy) faults.push(`${name}: BUSY MACHINE in each attempt of a run`)
        const ratios = compareRuns(mine, other)
        rows.push(...ratios.map((ratio) => ratioCells(name, ratio)))
        compared.push(...ratios)
      } catch (error) {
        if (runs.isClosed) throw error
        faults.push(`${name} failed: ${(error as Error).message}`)
      }
    }
  } finally {
    if (compared.length > 0) printTable(rows)
  }
  const { ok, lines } = conclude(compared, faults, runs.counts)
  console.log(lines.join('\n'))
  return ok
}

/** Runs a kind in both trees, in turns. The first round begins with this tree, the second with the other, and so on. */
async function compareKind(name: string, tree: string, runs: Runs, options: CompareOptions) {
  const found = { mine: [] as (readonly Figure[])[], other: [] as (readonly Figure[])[], isBusy: false }
  for (let round = 0; round < options.rounds; round++) {
    const order = [
      ['mine', ROOT],
      ['other', tree],
    ] as const
    for (const [side, root] of round % 2 === 0 ? order : order.toReversed()) {
      console.log(
        `… ${name}, round ${round + 1} of ${options.rounds}: ${side === 'mine' ? 'this tree' : options.revision}`,
      )
      const { figures, isBusy } = await runs.measure(root, KINDS[name]!, { ...options, inserts: false })
      found[side].push(figures)
      found.isBusy ||= isBusy && !options.force
    }
  }
  return found
}

await runBench(parseOptions, main)
