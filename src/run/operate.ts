import type pg from 'pg'
import { mendHead } from '../db/chain/mend-head.ts'
import { withOwner } from '../db/connect/client.ts'
import { withTransaction } from '../db/connect/transaction.ts'
import { listDeadLetters, redriveDeadLetters } from '../db/jobs/job-queues.ts'
import { clearFault, listOpenFaults } from '../db/ledgers/ledger-faults.ts'
import { countOverdue } from '../db/records/expiry-work.ts'
import { readWaitingFigures } from '../db/records/verification-work.ts'
import { formatId, isId, parseId } from '../proof/ids.ts'
import { databaseOf } from '../verify/database.ts'
import { formatReport } from '../verify/report.ts'
import { verifyLedger } from '../verify/verify-ledger.ts'
import { readConfig } from './config.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runsToEnd, UsageError } from './run-to-end.ts'

const LINES_MAX = 1_000
const NOTE_CHARS_MAX = 1_000

type Operation = {
  readonly argumentsUsage?: string
  readonly help: string
  readonly run: (client: pg.Client, names: readonly string[], note: string | undefined) => Promise<void>
}

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  faults: {
    help: 'list ledgers that do not verify: they get no checkpoints and no settlements',
    run: showFaults,
  },
  'clear-fault': {
    argumentsUsage: 'LEDGER --note TEXT',
    help: 'let a mended ledger continue; TEXT says what was wrong and how it was mended',
    run: clear,
  },
  'mend-head': {
    argumentsUsage: 'LEDGER',
    help: 'include entries and waiting work that were written while triggers were off, if everything verifies',
    run: mend,
  },
  waiting: {
    help: 'count completions and expiries that wait for a worker, and since when',
    run: showWaiting,
  },
  'dead-letters': { help: 'list jobs that were given up', run: showDeadLetters },
  redrive: {
    argumentsUsage: '[JOB …]',
    help: 'put these jobs back into their queues; without JOB all of them',
    run: redrive,
  },
}

const usages = Object.entries(OPERATIONS).map(
  ([name, { argumentsUsage, help }]) =>
    [argumentsUsage === undefined ? name : `${name} ${argumentsUsage}`, help] as const,
)
const usageWidth = Math.max(...usages.map(([usage]) => usage.length))

/**
 * Command `operate`: operations to use after an alert (docs/runbooks). They use the owner's login and not HTTP, because
 * an attacker who controls a server must not be able to clear the alert.
 */
export const main = runsToEnd(
  {
    name: 'operate',
    argumentsUsage: 'COMMAND',
    help: usages.map(([usage, help]) => `  ${usage.padEnd(usageWidth)}  ${help}`).join('\n'),
    options: { note: { type: 'string' } },
    positionals: true,
  },
  async ({ note }, [name, ...names]) => {
    if (name === undefined) throw new UsageError('which command?')
    if (!Object.hasOwn(OPERATIONS, name)) throw new UsageError(`there is no command ${name}`)
    await withOwner(getOwnerDatabase(readConfig()), (client) => OPERATIONS[name]!.run(client, names, note))
  },
)

async function showFaults(client: pg.Client): Promise<void> {
  const faults = await listOpenFaults(client, LINES_MAX)
  if (faults.length === 0) console.log('no ledger has a fault')
  for (const { ledgerId, foundAt, foundBy, seq, code, reason } of faults) {
    const at = seq === null ? '' : ` seq=${seq}`
    console.log(
      `${formatId('led', ledgerId)} ${foundAt.toISOString()} by=${foundBy}${at} code=${code} reason=${JSON.stringify(reason)}`,
    )
  }
}

async function clear(client: pg.Client, names: readonly string[], note: string | undefined): Promise<void> {
  const [ledger] = names
  if (names.length !== 1 || !isId('led', ledger!)) throw new UsageError('name one ledger (led_…)')
  if (!note || note.length > NOTE_CHARS_MAX)
    throw new UsageError(
      `add --note TEXT: what was wrong and how it was repaired, in at most ${NOTE_CHARS_MAX} characters`,
    )
  if (!(await clearFault(client, parseId('led', ledger!), note))) throw new Error(`${ledger} has no fault`)
  console.log(`${ledger} continues from its verified size: checkpoints, verdicts, settlements`)
}

/**
 * Moves a ledger's head to its newest entry, and adds or removes rows of work that waits for the worker. The changes
 * are committed only if the whole ledger then verifies.
 */
async function mend(client: pg.Client, names: readonly string[]): Promise<void> {
  const [ledger] = names
  if (names.length !== 1 || !isId('led', ledger!)) throw new UsageError('name one ledger (led_…)')
  await withTransaction(client, async () => {
    const mended = await mendHead(client, parseId('led', ledger!))
    if (mended === null) throw new Error(`there is no ledger ${ledger}`)
    const { before, after, rows } = mended
    if (after === before && rows === 0)
      throw new Error(
        `the head of ${ledger} is at its newest entry, and no waiting work is missing: there is nothing to mend`,
      )
    const report = await verifyLedger(databaseOf(client, ledger!, 'the database'), {
      lateTail: 'noticed',
      threads: 0,
    })
    console.log(formatReport(report))
    if (!report.ok)
      throw new Error(`${ledger} does not verify with these entries either: nothing was changed`)
    console.log(`${ledger} has ${after} entries, ${after - before} more than its head knew`)
    if (rows > 0) console.log(`waiting work of the worker: ${rows} rows were added or removed`)
  })
}

/**
 * Prints the numbers that the worker's metrics have. Operators need this command when no worker runs, because the
 * metrics are then absent.
 */
async function showWaiting(client: pg.Client): Promise<void> {
  const { count, oldestSeconds } = await readWaitingFigures(client)
  const overdue = await countOverdue(client)
  console.log(`completions=${count} oldest=${Math.round(oldestSeconds)}s overdue=${overdue}`)
}

async function showDeadLetters(client: pg.Client): Promise<void> {
  const jobs = await listDeadLetters(client, LINES_MAX)
  if (jobs.length === 0) console.log('no job was given up')
  for (const { id, queue, payload, error, diedAt } of jobs) {
    console.log(
      `${id} ${diedAt.toISOString()} queue=${queue} ${JSON.stringify(payload)} error=${JSON.stringify(error)}`,
    )
  }
}

async function redrive(client: pg.Client, names: readonly string[]): Promise<void> {
  const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
  const wrong = names.find((name) => !isUuid.test(name))
  if (wrong !== undefined)
    throw new UsageError(`${wrong} is not the id of a job: \`operate dead-letters\` lists the ids`)
  const moved = await redriveDeadLetters(client, names.length === 0 ? null : names)
  console.log(`put ${moved} ${moved === 1 ? 'job' : 'jobs'} back`)
}
