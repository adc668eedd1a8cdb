/*
 * npm run drill -- restore
 *
 * Backs up a deployment under load, loses it, and restores it to another server, twice: to the end of its archived
 * WAL, and to an earlier time. Checks the statements of docs/operate/backup-and-archive.md about both restores. Exits
 * with 1 if a statement is false.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { formatId, type Uuid } from '../../../src/proof/ids.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger, MASTER_KEY } from '../deployment/deployment.ts'
import { formatLoad, reckonAll, startClientsOn } from '../faults/kill.ts'
import { formatReckoning } from '../faults/reckoning.ts'
import {
  archiveEverything,
  makeArchive,
  recoverySettings,
  restoreBaseBackup,
  takeBaseBackup,
} from './base-backup.ts'
import { acknowledge, append, keepOutside, restoreCheck, untilKept, verifyAgainst } from './operator.ts'

const LEDGERS = 3
const CLIENTS = 12
const LOAD_MS = 2_000

/** What remains when the machine of the database is gone. Each of these items was stored on another machine. */
type Left = {
  readonly dir: string
  readonly ledgers: readonly Ledger[]
  readonly backup: string
  readonly passwords: string
  readonly archive: string
  readonly kept: string
  /** Files of `tallystick checkpoints watch`, by ledger. They belong to an outsider. */
  readonly outside: ReadonlyMap<string, string>
  /** Time to which the second restore recovers. It is after the backup and before the last records. */
  readonly earlier: Date
  readonly sizes: ReadonlyMap<string, number>
}

const startedAt = performance.now()
const left = await loseDeployment(temporaryDir())
await restoreToTheEnd(left)
await restoreToEarlier(left)
console.log(`RESTORE_DRILL_OK in ${seconds(startedAt)} s; ${formatLoad()}`)
process.exit()

async function loseDeployment(dir: string): Promise<Left> {
  const [archive, backup, passwords] = ['archive', 'backup', 'passwords.json'].map((name) =>
    join(dir, name),
  ) as [string, string, string]
  const deployment = await Deployment.start({ dir, apis: 1, worker: true, settings: makeArchive(archive) })
  try {
    const ledgers = await deployment.createLedgers(LEDGERS)
    const clients = startClientsOn(deployment, dir, ledgers, CLIENTS)
    await sleep(LOAD_MS)
    const beganAt = performance.now()
    await takeBaseBackup(deployment.superuserUrl, join(dir, 'postgres', 'cluster'), backup)
    say(`base backup under load in ${seconds(beganAt)} s`)
    await sleep(LOAD_MS)
    const earlier = await readClock(deployment.superuserUrl)
    await sleep(LOAD_MS)
    await clients.finish()
    deployment.requireAlive()
    const kept = join(dir, 'files', 'checkpoints')
    const sizes = await readSizes(deployment.ownerUrl)
    await untilKept(kept, sizes)
    const outside = await keepOutside(deployment.urls[0]!, ledgers, dir)
    cpSync(join(dir, 'postgres', 'passwords.json'), passwords)
    await deployment.stopParts()
    await archiveEverything(deployment.superuserUrl)
    say(
      `${clients.acknowledgedRecords} records acknowledged in ${LEDGERS} ledgers, then the database is gone`,
    )
    return { dir, ledgers, backup, passwords, archive, kept, outside, earlier, sizes }
  } finally {
    await deployment.stop()
    rmSync(join(dir, 'postgres'), { recursive: true, force: true })
  }
}

/** Asserts that nothing is lost: every acknowledged record exists, every checkpoint matches, and work continues. */
async function restoreToTheEnd(left: Left): Promise<void> {
  const deployment = await startRestored(left, 'to-the-end', null)
  try {
    const check = await restoreCheck(deployment.ownerUrl, left.kept, MASTER_KEY)
    assert.equal(check.code, 0, check.output)
    assert.match(
      check.output,
      new RegExp(`^RESTORE_OK ledgers=${LEDGERS} .*bad=0 gone=0 unkept=0 master-key=opens$`, 'm'),
    )
    const { reckoning } = await reckonAll(deployment, left.dir, left.ledgers)
    say(`restored to the end: ${formatReckoning(reckoning)}`)
    assert.ok(reckoning.acked > 0)
    assert.equal(reckoning.lost + reckoning.doubled + reckoning.ghosts + reckoning.torn, 0)
    await deployment.startWorker(0)
    await deployment.startApi(0)
    for (const ledger of left.ledgers) assert.equal((await append(deployment.urls[0]!, ledger)).status, 201)
    for (const { ledger } of left.ledgers)
      assert.match(
        await verifyAgainst(deployment.ownerUrl, ledger, left.outside),
        /^INTEGRITY_OK .*checkpoint=given/,
      )
  } finally {
    await deployment.stop()
  }
}

/** Asserts that everybody can see the loss, and that nothing is appended before the operator has acknowledged it. */
async function restoreToEarlier(left: Left): Promise<void> {
  const deployment = await startRestored(left, 'earlier', left.earlier)
  try {
    const sizes = await readSizes(deployment.ownerUrl)
    for (const [ledger, size] of sizes)
      assert.ok(size < left.sizes.get(ledger)!, 'nothing was lost: the drill has shown nothing')
    const check = await restoreCheck(deployment.ownerUrl, left.kept, MASTER_KEY)
    assert.equal(check.code, 1, check.output)
    assert.match(check.output, new RegExp(`^RESTORE_FAILED ledgers=${LEDGERS} .*bad=${LEDGERS} `, 'm'))
    await deployment.startWorker(0)
    await deployment.startApi(0)
    for (const ledger of left.ledgers) {
      const refused = await append(deployment.urls[0]!, ledger)
      assert.deepEqual([refused.status, refused.code], [503, 'ledger_closed'])
    }
    const [first, ...others] = left.ledgers as [Ledger, ...Ledger[]]
    await acknowledge(deployment.urls[0]!, first.ledger, left.sizes.get(first.ledger)!)
    assert.equal((await append(deployment.urls[0]!, first)).status, 201)
    for (const ledger of others) assert.equal((await append(deployment.urls[0]!, ledger)).status, 503)
    for (const { ledger } of left.ledgers)
      assert.match(
        await verifyAgainst(deployment.ownerUrl, ledger, left.outside),
        /^INTEGRITY_FAILED .*code=checkpoint_beyond_chain/,
      )
    const lost = [...sizes].reduce((sum, [ledger, size]) => sum + left.sizes.get(ledger)! - size, 0)
    say(
      `restored to ${left.earlier.toISOString()}: ${lost} entries short, every ledger closed, one acknowledged and open again`,
    )
  } finally {
    await deployment.stop()
  }
}

/**
 * Restores the backup to a new server and starts only its Postgres. The server gets the checkpoints that were stored on
 * another machine.
 */
async function startRestored(left: Left, name: string, until: Date | null): Promise<Deployment> {
  const dir = join(left.dir, name)
  const beganAt = performance.now()
  mkdirSync(dir, { mode: 0o711 })
  restoreBaseBackup(left.backup, left.passwords, join(dir, 'postgres'))
  cpSync(left.kept, join(dir, 'files', 'checkpoints'), { recursive: true })
  const settings = recoverySettings(left.archive, until)
  const deployment = await Deployment.start({ dir, apis: 1, settings, only: 'postgres' })
  say(`${name}: a new server has the base backup and has replayed the archive after ${seconds(beganAt)} s`)
  return deployment
}

async function readSizes(url: string): Promise<ReadonlyMap<string, number>> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ ledger: Uuid; size: number }>(
      'select ledger_id as ledger, size from tallystick.chain_heads',
    )
    return new Map(rows.map(({ ledger, size }) => [formatId('led', ledger), size]))
  })
}

async function readClock(url: string): Promise<Date> {
  const { rows } = await withClient(url, (client) => client.query<{ now: Date }>('select now()'))
  return rows[0]!.now
}

function say(line: string): void {
  console.log(`  ${line}`)
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(1)
}
