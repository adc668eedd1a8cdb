import { resolve } from 'node:path'
import { checkRestored, type RestoredLedger } from '../followers/audit/check-restored.ts'
import { StoredCheckpoints } from '../followers/checkpoints/stored-checkpoints.ts'
import { formatReport } from '../verify/report.ts'
import { openContentForCommand } from './archived-content.ts'
import { readConfig, required } from './config.ts'
import { getMasterKey } from './master-key.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runsToEnd } from './run-to-end.ts'

/**
 * Command `restore-check`: uses the owner's login and checks a restored database, or a copy, before a server or worker
 * starts on it. The command only reads: no ledger is closed and nothing is delivered.
 */
export const main = runsToEnd(
  {
    name: 'restore-check',
    argumentsUsage: '--checkpoints DIR',
    help: "  --checkpoints DIR  the worker's stored checkpoints (TALLYSTICK_DATA/checkpoints), from before the restore",
    options: { checkpoints: { type: 'string' } },
  },
  async ({ checkpoints = null }) => {
    const dir = resolve(required(checkpoints, '--checkpoints', 'without it an older backup would pass'))
    return (await check(dir)) === null ? 0 : 1
  },
)

/** Prints a line for each ledger and a summary. Returns the fault, or null if there is none. */
async function check(dir: string): Promise<string | null> {
  const config = readConfig()
  const masterKey = config.masterKey && getMasterKey(config, 'this key opens the stored keys')
  const archive = await openContentForCommand(config)
  const owner = getOwnerDatabase(config, 'the restored database', archive)
  const unreadable: string[] = []
  const storedCheckpoints = new StoredCheckpoints(dir)
  await storedCheckpoints.load({ error: (_, message) => unreadable.push(message) })
  const ledgers: RestoredLedger[] = []
  for await (const found of checkRestored({ owner, storedCheckpoints, masterKey })) {
    ledgers.push(found)
    console.log(`${found.ledger} ${describe(found)}`)
    for (const notice of found.report?.notices ?? []) console.error(`${found.ledger}: ${notice}`)
  }
  const fault = findFault(ledgers, unreadable.length, dir)
  const summary = `${summarize(ledgers)} master-key=${masterKey ? 'opens' : 'not-given'}`
  console.log(
    fault === null ? `RESTORE_OK ${summary}` : `RESTORE_FAILED ${summary} reason=${JSON.stringify(fault)}`,
  )
  return fault
}

function describe({ storedSize, report }: RestoredLedger): string {
  if (report === null) return `GONE kept=${storedSize}`
  return `${formatReport(report)} kept=${storedSize ?? 'none'}`
}

/** Returns the summary. Keep its format stable, because scripts read it. */
function summarize(ledgers: readonly RestoredLedger[]): string {
  const there = ledgers.filter(({ report }) => report !== null)
  const bad = there.filter(({ report }) => !report!.ok).length
  const entries = there.reduce((sum, { report }) => sum + report!.entries, 0)
  const unstored = there.filter(({ storedSize }) => storedSize === null).length
  return `ledgers=${there.length} entries=${entries} bad=${bad} gone=${ledgers.length - there.length} unkept=${unstored}`
}

function findFault(ledgers: readonly RestoredLedger[], unreadable: number, dir: string): string | null {
  if (unreadable > 0) return `${unreadable} stored checkpoints cannot be read: get them from another copy`
  if (ledgers.length === 0)
    return `neither this database nor ${dir} has a ledger: check that DATABASE_URL is the restored database and that this is the worker’s folder`
  if (ledgers.some(({ report }) => report === null))
    return 'ledgers that have stored checkpoints are missing from this database'
  const bad = ledgers.find(({ report }) => !report!.ok)
  if (bad) return `${bad.ledger} does not verify, or differs from what was published of it`
  if (ledgers.every(({ storedSize }) => storedSize === null))
    return `${dir} has no checkpoint of any of these ledgers: an older backup would pass`
  return null
}
