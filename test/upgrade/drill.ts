/*
 * npm run upgrade-drill: the version before this one under load is migrated, joined and replaced by this one, and gone back to, as
 * docs/upgrading.md says. No request may fail. Ends with exit code 1 where one does.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostLedgersAnswer } from '../../sdk/generated/api.ts'
import { withClient } from '../../src/db/client.ts'
import { database } from '../../src/verify/database.ts'
import { formatReport } from '../../src/verify/report.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { formatLoad } from '../faults/kill.ts'
import { post } from '../helpers/deployment.ts'
import { startSuitePostgres, temporaryDir } from '../helpers/postgres.ts'
import { Load } from './load.ts'
import { findReleaseBefore, Release, unpackRelease } from './release.ts'

const OPERATOR_KEY = `tlo_${'u'.repeat(40)}`
const LOAD_MS = 1_000
const CHECKPOINT_MS_MAX = 10_000

const before = findReleaseBefore()
if (before.commit === null) console.log(`upgrade drill: skipped, because ${before.why}`)
else await drill(before.commit)
process.exit()

async function drill(commit: string): Promise<void> {
  const startedAt = performance.now()
  const dir = temporaryDir()
  const postgres = await startSuitePostgres()
  const of = { env: environment(postgres.ownerUrl, join(dir, 'files')), logDir: dir }
  const older = new Release(`before (${commit.slice(0, 8)})`, unpackRelease(commit, join(dir, 'before')), of)
  const newer = new Release('this', join(import.meta.dirname, '..', '..'), of)
  try {
    await older.migrate()
    await older.startWorker()
    const oldUrl = (await older.startServer())!
    const { ledger, bearer } = await createLedger(oldUrl)
    const load = new Load(bearer)
    load.start(oldUrl)
    await sleep(LOAD_MS)
    console.log(`  migrated under load: ${(await newer.migrate()).trim()}`)
    await untilCheckpoint(postgres.ownerUrl)
    const restarted = await older.startServer()
    assert.equal(restarted !== null, older.mayRestartOnNewer, older.said('src/server.ts'))
    if (restarted !== null) load.start(restarted)
    await newer.startWorker()
    const newUrl = (await newer.startServer())!
    load.start(newUrl)
    await sleep(LOAD_MS)
    // Gone back: this version leaves first.
    await load.leave(newUrl)
    await newer.stop()
    await untilCheckpoint(postgres.ownerUrl)
    await load.stop()
    await older.stop()
    const failed = Object.keys(load.answers).filter((answer) => !/ 20[01]$/.test(answer))
    assert.deepEqual(failed, [], JSON.stringify(load.answers, null, 2))
    const report = await verifyLedger(database(postgres.ownerUrl, ledger), { threads: 0 })
    assert.ok(report.ok, formatReport(report))
    const requests = Object.values(load.answers).reduce((sum, count) => sum + count, 0)
    const again =
      restarted === null ? 'could not be started again (it is from before the rule)' : 'was started again'
    console.log(
      `  ${requests} requests on both versions, none failed; the one before ${again}; ${formatReport(report)}`,
    )
    console.log(
      `UPGRADE_DRILL_OK in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s; ${formatLoad()}`,
    )
  } finally {
    older.kill()
    newer.kill()
    await postgres.stop('immediate')
  }
}

function environment(ownerUrl: string, files: string): Record<string, string> {
  const urlAs = (username: string) => Object.assign(new URL(ownerUrl), { username, password: 'drill' }).href
  return {
    DATABASE_URL: ownerUrl,
    TALLYSTICK_API_DATABASE_URL: urlAs('tallystick_api'),
    TALLYSTICK_WORKER_DATABASE_URL: urlAs('tallystick_worker'),
    TALLYSTICK_MASTER_KEY: '5a'.repeat(32),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_DATA: files,
    TALLYSTICK_DRAIN_SECONDS: '0',
  }
}

async function createLedger(url: string): Promise<{ ledger: string; bearer: string }> {
  const made = await post<PostLedgersAnswer>(`${url}/v1/ledgers`, OPERATOR_KEY, { name: 'upgraded' })
  return { ledger: made.ledger.id, bearer: made.key.key }
}

/** Whichever worker is at work publishes one that is newer than those there are now. */
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
