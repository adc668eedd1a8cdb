/*
 * npm run upgrade-drill: the version before this one under load is migrated, joined and replaced by this one, and gone back to, as
 * docs/upgrading.md says. No request may fail. Where the schema serves no older code the one before is stopped first, and may not
 * start again. Ends with exit code 1 where something is otherwise.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostLedgersAnswer } from '../../../sdk/generated/api.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { database } from '../../../src/verify/database.ts'
import { formatReport } from '../../../src/verify/report.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { post } from '../../helpers/deployment.ts'
import { startSuitePostgres, temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from '../faults/kill.ts'
import { Load } from './load.ts'
import { findReleaseBefore, Release, unpackRelease } from './release.ts'

const OPERATOR_KEY = `tlo_${'u'.repeat(40)}`
const LOAD_MS = 1_000
const CHECKPOINT_MS_MAX = 10_000

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
  const of = { env: environment(postgres.ownerUrl, join(dir, 'files')), logDir: dir }
  const older = new Release(`before (${commit.slice(0, 8)})`, unpackRelease(commit, join(dir, 'before')), of)
  const newer = new Release('this', join(import.meta.dirname, '..', '..', '..'), of)
  try {
    await older.migrate()
    await older.startWorker()
    const oldUrl = (await older.startServer())!
    const { ledger, bearer } = await createLedger(oldUrl)
    const load = new Load(bearer)
    load.start(oldUrl)
    await sleep(LOAD_MS)
    const way = { older, newer, load, oldUrl, ownerUrl: postgres.ownerUrl }
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
    older.kill()
    newer.kill()
    await postgres.stop('immediate')
  }
}

type Way = {
  readonly older: Release
  readonly newer: Release
  readonly load: Load
  readonly oldUrl: string
  readonly ownerUrl: string
}

/** Both at work, and back to the one before. Returns whether that could be started with the newer schema. */
async function rollOutAndBack({ older, newer, load, ownerUrl }: Way): Promise<string> {
  console.log(`  migrated under load: ${(await newer.migrate()).trim()}`)
  await untilCheckpoint(ownerUrl)
  const restarted = await older.startServer()
  assert.equal(restarted !== null, older.mayRestartOnNewer, older.said('src/run/server.ts'))
  if (restarted !== null) load.start(restarted)
  await newer.startWorker()
  const newUrl = (await newer.startServer())!
  load.start(newUrl)
  await sleep(LOAD_MS)
  // Gone back: this version leaves first.
  await load.leave(newUrl)
  await newer.stop()
  await untilCheckpoint(ownerUrl)
  await load.stop()
  await older.stop()
  return restarted === null ? 'could not be started again (it is from before the rule)' : 'was started again'
}

/** The one before is stopped, and refuses the schema from then on; this one goes on with what it has left. */
async function stopAndReplace({ older, newer, load, oldUrl, ownerUrl }: Way): Promise<string> {
  await load.leave(oldUrl)
  await older.stop()
  console.log(`  migrated while nothing ran: ${(await newer.migrate()).trim()}`)
  assert.equal(
    await older.startServer(),
    null,
    'the version before starts with a schema that does not serve it',
  )
  assert.match(
    older.said('src/run/server.ts'),
    /is newer than this version of Tallystick, and does not serve it/,
  )
  await newer.startWorker()
  load.start((await newer.startServer())!)
  await sleep(LOAD_MS)
  await untilCheckpoint(ownerUrl)
  await load.stop()
  await newer.stop()
  return 'was stopped before, and refuses the schema'
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
