/*
 * npm run drill -- upgrade
 *
 * Upgrades the previous version under load as docs/operate/operations.md#upgrading describes. The database of the
 * previous version is migrated. This version joins and then replaces the previous version. Then the upgrade is rolled
 * back. No request may fail. If the new schema does not serve older code, the previous version is stopped first and
 * must not start again. Exits with 1 on any fault.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { database } from '../../../src/verify/database.ts'
import { formatReport } from '../../../src/verify/report.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { startSuitePostgres, temporaryDir } from '../../helpers/postgres.ts'
import { runCommand } from '../../helpers/run-script.ts'
import { Deployment } from '../deployment/deployment.ts'
import { PROJECT_DIR } from '../deployment/product-process.ts'
import { formatLoad } from '../faults/kill.ts'
import { Load } from './load.ts'
import { findReleaseBefore, mayRestartOnNewer, unpackRelease } from './release.ts'

const LOAD_MS = 1_000
/**
 * Maximum wait in ms for a checkpoint. A worker publishes a checkpoint each second, but far less often on a busy
 * machine.
 */
const CHECKPOINT_MS_MAX = 60_000

const before = findReleaseBefore()
if (before.commit === null) console.log(`upgrade drill: skipped, because ${before.why}`)
else await drill(before.commit, before.isServed)
if (before.commit !== null && !before.isRelease)
  console.log('No upgrade was tried: there is no release tag, so this commit was rolled over itself.')
process.exit()

async function drill(commit: string, isServed: boolean): Promise<void> {
  const startedAt = performance.now()
  const dir = temporaryDir()
  const postgres = await startSuitePostgres()
  const start = (name: string) =>
    Deployment.start({
      dir: join(dir, name),
      // The second server can be restarted while the first server still runs.
      apis: 2,
      database: postgres,
      env: { TALLYSTICK_DATA: join(dir, 'files'), TALLYSTICK_DRAIN_SECONDS: '0' },
      root: name === 'this' ? PROJECT_DIR : unpackRelease(commit, join(dir, 'code')),
      only: 'postgres',
    })
  const [older, newer] = [await start('before'), await start('this')]
  try {
    await migrateBy(older, join(dir, 'code'))
    await older.startWorker()
    await older.startApi()
    const { ledger, bearer } = await older.createLedger('upgraded')
    const load = new Load(bearer)
    load.start(older.url)
    await sleep(LOAD_MS)
    const mayRestart = mayRestartOnNewer(join(dir, 'code'))
    const way = { older, newer, load, mayRestart, ownerUrl: postgres.ownerUrl }
    const again = isServed ? await rollOutAndBack(way) : await stopAndReplace(way)
    const failed = Object.keys(load.answers).filter((answer) => !/ 20[01]$/.test(answer))
    assert.deepEqual(failed, [], JSON.stringify(load.answers, null, 2))
    const report = await verifyLedger(database(postgres.ownerUrl, ledger), { threads: 0 })
    assert.ok(report.ok, formatReport(report))
    const requests = Object.values(load.answers).reduce((sum, count) => sum + count, 0)
    console.log(
      `  ${requests} requests on both versions, none failed; the one before ${again}; ${formatReport(report)}`,
    )
    console.log(
      `UPGRADE_DRILL_OK in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s; ${formatLoad()}`,
    )
  } finally {
    await older.stopParts()
    await newer.stopParts()
    await postgres.stop('immediate')
  }
}

type Way = {
  readonly older: Deployment
  readonly newer: Deployment
  readonly load: Load
  readonly mayRestart: boolean
  readonly ownerUrl: string
}

/**
 * Runs both versions, and rolls back to the previous version. Returns a text that says whether the previous version
 * could be started on the newer schema.
 */
async function rollOutAndBack({ older, newer, load, mayRestart, ownerUrl }: Way): Promise<string> {
  console.log(`  migrated under load: ${await migrateBy(newer)}`)
  await untilCheckpoint(ownerUrl)
  const refusal = await refusalOfRestart(older)
  assert.equal(refusal === null, mayRestart, refusal ?? 'it starts')
  if (refusal === null) load.start(older.urls[1]!)
  await newer.startWorker()
  await newer.startApi()
  load.start(newer.url)
  await sleep(LOAD_MS)
  // The rollback begins: this version's server gets no more requests.
  await load.leave(newer.url)
  await newer.terminate()
  await untilCheckpoint(ownerUrl)
  await load.stop()
  await older.terminate()
  return refusal !== null ? 'could not be started again (it is from before the rule)' : 'was started again'
}

/**
 * Stops the previous version and starts this version on the same data. From then on the previous version refuses to
 * start, because of the schema.
 */
async function stopAndReplace({ older, newer, load, ownerUrl }: Way): Promise<string> {
  await load.leave(older.url)
  await older.terminate()
  console.log(`  migrated while nothing ran: ${await migrateBy(newer)}`)
  assert.match(
    (await refusalOfRestart(older)) ?? 'it starts',
    /is newer than this version of Tallystick supports/,
  )
  await newer.startWorker()
  await newer.startApi()
  load.start(newer.url)
  await sleep(LOAD_MS)
  await untilCheckpoint(ownerUrl)
  await load.stop()
  await newer.terminate()
  return 'was stopped before, and refuses the schema'
}

/** Starts a second server of the previous version. Returns null if the server starts, or its log if it ends instead. */
function refusalOfRestart(older: Deployment): Promise<string | null> {
  return older.startApi(1).then(
    () => null,
    ({ message }: Error) => message,
  )
}

async function migrateBy(deployment: Deployment, root = PROJECT_DIR): Promise<string> {
  const { code, stdout, stderr } = await runCommand('migrate', [], {
    env: deployment.ownerEnv,
    root,
  })
  if (code !== 0) throw new Error(`migrate ended with ${code}: ${stdout}${stderr}`)
  return stdout.trim()
}

async function untilCheckpoint(ownerUrl: string): Promise<void> {
  const giveUpAt = Date.now() + CHECKPOINT_MS_MAX
  const begun = await newestCheckpoint(ownerUrl)
  while ((await newestCheckpoint(ownerUrl)) === begun) {
    if (Date.now() > giveUpAt) throw new Error('no worker publishes checkpoints')
    await sleep(100)
  }
}

async function newestCheckpoint(ownerUrl: string): Promise<number> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ size: string }>(
      'select coalesce(max(size), 0) as size from tallystick.checkpoints',
    )
    return Number(rows[0]!.size)
  })
}
