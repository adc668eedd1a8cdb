import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkRestored, type RestoredLedger } from '../followers/audit/check-restored.ts'
import { KeptCheckpoints } from '../followers/checkpoints/kept.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { formatReport } from '../verify/report.ts'
import { openContentForCommand } from './archived-content.ts'
import { parseConfig, required } from './config.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runToEnd } from './run-to-end.ts'

const USAGE = `usage: restore-check --checkpoints DIR, or npm run restore-check -- …

  --checkpoints DIR  the worker's kept checkpoints (TALLYSTICK_DATA/checkpoints), from before the restore`

/**
 * `npm run restore-check`: as the owner, before a server or worker is started on a restored database, or on a copy that is to be
 * tried. It reads, and does nothing else: nothing is closed, nothing delivered.
 */
export function main(args: readonly string[]): Promise<void> {
  return runToEnd('restore-check', USAGE, async () => {
    const { values } = parseArgs({ args: [...args], options: { checkpoints: { type: 'string' } } })
    const dir = resolve(
      required(values.checkpoints ?? null, '--checkpoints', 'without it an older backup passes'),
    )
    const fault = await check(dir)
    if (fault !== null) process.exitCode = 1
  })
}

/** A line for each ledger, and one for all; what is wrong, or null. */
async function check(dir: string): Promise<string | null> {
  const config = parseConfig(process.env)
  const masterKey = config.masterKey && makeMasterKeys(config.masterKey, config.previousMasterKey)
  const released = await openContentForCommand(config)
  const owner = getOwnerDatabase(config, 'the restored database', released)
  const unreadable: string[] = []
  const kept = new KeptCheckpoints(dir)
  await kept.load({ error: (_, message) => unreadable.push(message) })
  const ledgers: RestoredLedger[] = []
  for await (const found of checkRestored({ owner, kept, masterKey })) {
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

function describe({ keptSize, report }: RestoredLedger): string {
  if (report === null) return `GONE kept=${keptSize}`
  return `${formatReport(report)} kept=${keptSize ?? 'none'}`
}

/** Stable: scripts read it. */
function summarize(ledgers: readonly RestoredLedger[]): string {
  const there = ledgers.filter(({ report }) => report !== null)
  const bad = there.filter(({ report }) => !report!.ok).length
  const entries = there.reduce((sum, { report }) => sum + report!.entries, 0)
  const unkept = there.filter(({ keptSize }) => keptSize === null).length
  return `ledgers=${there.length} entries=${entries} bad=${bad} gone=${ledgers.length - there.length} unkept=${unkept}`
}

function findFault(ledgers: readonly RestoredLedger[], unreadable: number, dir: string): string | null {
  if (unreadable > 0) return `${unreadable} kept checkpoints cannot be read: get them from another copy`
  if (ledgers.length === 0)
    return `neither this database nor ${dir} has a ledger: is DATABASE_URL the restored one, and that the worker’s folder?`
  if (ledgers.some(({ report }) => report === null))
    return 'ledgers that had checkpoints are not in this database'
  const bad = ledgers.find(({ report }) => !report!.ok)
  if (bad) return `${bad.ledger} does not verify, or is not what was published of it`
  if (ledgers.every(({ keptSize }) => keptSize === null))
    return `${dir} holds no checkpoint of any of these ledgers: an older backup would pass`
  return null
}

if (import.meta.main) await main(process.argv.slice(2))
