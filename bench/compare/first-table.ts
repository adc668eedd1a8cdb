/*
 * npm run bench -- table [--only single,batch] [--duration 10] [--force]
 *
 * Prints the first table of docs/BENCHMARKS.md. Runs each kind once, except those that need other programs. Takes about
 * 15 minutes. The exit code is 1 if a kind failed, or if the machine stayed busy.
 */
import { parseArgs } from 'node:util'
import { describeCommit } from '../report.ts'
import { runBench } from '../run-bench.ts'
import { KINDS, parseKinds, parseSeconds } from './kinds.ts'
import { conclude, tableRows } from './ratios.ts'
import { Runs } from './runs.ts'
import { makeFolder, ROOT } from './work-tree.ts'

type TableOptions = { readonly kinds: readonly string[]; readonly seconds: number; readonly force: boolean }

const UNATTENDED = Object.keys(KINDS).filter((name) => !KINDS[name]!.onlyCompared)

function parseOptions(args: string[]): TableOptions {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      duration: { type: 'string', default: '10' },
      force: { type: 'boolean', default: false },
    },
  })
  const kinds = parseKinds(values.only, UNATTENDED)
  return { kinds, seconds: parseSeconds(values.duration), force: values.force }
}

async function main(options: TableOptions): Promise<boolean> {
  const runs = new Runs(makeFolder(), console.log)
  if (!options.force) await runs.requireQuiet()
  console.log(await runs.run(ROOT, ['bench/bench.ts', 'preflight']))
  const lines = ['| Work | A second | p50, ms | p99, ms | Measured with |', '|---|---|---|---|---|']
  const faults: string[] = []
  try {
    for (const name of options.kinds) {
      console.log(`… ${name}`)
      try {
        const { figures, isBusy } = await runs.measure(ROOT, KINDS[name]!, { ...options, inserts: true })
        if (isBusy && !options.force) faults.push(`${name}: BUSY MACHINE in each attempt`)
        else lines.push(...tableRows(name, figures))
      } catch (error) {
        if (runs.isClosed) throw error
        faults.push(`${name} failed: ${(error as Error).message}`)
      }
    }
  } finally {
    console.log(`\n${describeCommit()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n`)
    console.log(lines.join('\n'))
  }
  const conclusion = conclude([], faults, runs.counts)
  console.log(conclusion.lines.join('\n'))
  return conclusion.ok
}

await runBench(parseOptions, main)
