import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Case, KINDS, type Kind, makeCase } from './cases.ts'
import { PythonVerifier } from './python.ts'
import { Tally } from './tally.ts'
import { type Verdict, verdictOf, writeArchive } from './typescript.ts'

const CASES_DEFAULT = 20_000
/** Number of cases per batch. While Python judges a batch, this process makes and judges the next one. */
const BATCH_CASES = 64

export async function runDifferential(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      differential: { type: 'boolean' },
      cases: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      case: { type: 'string' },
      kind: { type: 'string', multiple: true },
      processes: { type: 'string' },
    },
  })
  const seed = Number(values.seed ?? Date.now() % 2 ** 31)
  const only = (values.kind ?? KINDS) as readonly Kind[]
  const first = Number(values.case ?? 0)
  const count =
    values.case !== undefined ? 1 : Number(values.cases ?? (values.minutes ? Infinity : CASES_DEFAULT))
  const endsAtMs = Date.now() + Number(values.minutes ?? Infinity) * 60_000
  const tally = new Tally(seed, mkdtempSync(join(tmpdir(), 'tallystick-differences-')))
  const pythons = Array.from(
    { length: Number(values.processes ?? availableParallelism()) },
    () => new PythonVerifier(),
  )
  console.log(`seed ${seed}`)
  let next = first
  /** Sends batches to one process. Each batch must be answered before the next batch is sent. */
  const lane = async (python: PythonVerifier) => {
    while (next < first + count && Date.now() < endsAtMs) {
      const from = next
      next = Math.min(next + BATCH_CASES, first + count)
      await judgeBatch(python, { seed, from, to: next, only }, tally)
    }
  }
  try {
    await Promise.all(pythons.map(lane))
  } finally {
    await Promise.all(pythons.map((python) => python.close()))
  }
  tally.print()
  if (tally.findings > 0) process.exitCode = 1
  if (values.case !== undefined) tally.show()
}

/** Number of cases that may fail to be made, even in a short run. More failures may mean that a maker is faulty. */
const UNMADE_MIN = 10

/**
 * Makes a case. Returns null if the change left nothing of which a proof or bundle could be made. Throws if more than 1
 * % of the cases fail in this way.
 */
function make(seed: number, index: number, only: readonly Kind[], tally: Tally): Case | null {
  try {
    return makeCase(seed, index, only)
  } catch (error) {
    if (++tally.unmade > UNMADE_MIN && tally.unmade > tally.cases / 100)
      throw new Error(`--seed ${seed} --case ${index}: no case could be made`, { cause: error })
    return null
  }
}

type Batch = {
  readonly seed: number
  readonly from: number
  readonly to: number
  readonly only: readonly Kind[]
}

async function judgeBatch(
  python: PythonVerifier,
  { seed, from, to, only }: Batch,
  tally: Tally,
): Promise<void> {
  const asked: { given: Case; index: number; answer: Promise<Verdict> }[] = []
  for (let index = from; index < to; index++) {
    const made = make(seed, index, only, tally)
    if (made === null) continue
    const directory = made.archive && writeArchive(made, `archive-${index}`)
    const given = directory ? { ...made, trust: { ...made.trust, directory } } : made
    asked.push({ given, index, answer: python.ask(given) })
  }
  for (const { given, index, answer } of asked) {
    const own = await verdictOf(given)
    tally.add(index, given, own, await answer)
    if (given.trust.directory) rmSync(given.trust.directory, { recursive: true })
  }
}
