import assert from 'node:assert/strict'
import { cpSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { buildTestApp, type TestApp } from '../../helpers/app.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../../helpers/database.ts'
import { temporaryDirInMemory } from '../../helpers/postgres.ts'
import { makePublisher } from '../../helpers/publisher.ts'
import { restoreCheck } from './operator.ts'

test('restore-check compares every ledger with its kept checkpoint, and prints the result of each', async (t) => {
  const app = await buildTestApp(t)
  const kept = await publishAll(app)
  await app.newLedger()
  await app.notarize()
  const { code, output } = await check(app, kept)
  const lines = output.trimEnd().split('\n')
  assert.equal(code, 0, output)
  assert.match(
    lines[0]!,
    new RegExp(
      `^${app.ledger.ledger.id} INTEGRITY_OK entries=4 .*checkpoint=given covered=3 own=3 of 4 kept=3$`,
    ),
  )
  assert.match(lines[1]!, /^led_\w+ INTEGRITY_OK entries=3 .* kept=none$/)
  assert.equal(lines[2], 'RESTORE_OK ledgers=2 entries=7 bad=0 gone=0 unkept=1 master-key=opens')
})

test('restore-check fails if a ledger is shorter or missing, or no checkpoint was kept', async (t) => {
  const app = await buildTestApp(t)
  const gone = `led_${'0'.repeat(25)}1`
  const kept = await publishAll(app)
  const nothing = await check(app, temporaryDirInMemory())
  assert.equal(nothing.code, 1)
  assert.match(nothing.output, /RESTORE_FAILED .*unkept=1 .*has no checkpoint of any of these ledgers/)
  // The copy is named after a ledger that this database never had.
  cpSync(join(kept, `${app.ledger.ledger.id}.note`), join(kept, `${gone}.note`))
  assert.match(
    (await check(app, kept)).output,
    new RegExp(`^${gone} GONE kept=3$[\\s\\S]*RESTORE_FAILED .*gone=1 `, 'm'),
  )

  const longer = await publishAll(app, 2)
  await app.sql('alter table tallystick.entries disable trigger user')
  await app.sql('delete from tallystick.entries where seq = 4')
  const shorter = await check(app, longer)
  assert.deepEqual([shorter.code, /RESTORE_FAILED .*bad=1/.test(shorter.output)], [1, true], shorter.output)
})

test('restore-check fails if neither database nor folder has a ledger', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const { code, output } = await restoreCheck(ownerUrl, temporaryDirInMemory(), TEST_MASTER_KEY)
  assert.equal(code, 1)
  assert.match(output, /RESTORE_FAILED ledgers=0 .*neither this database nor .* has a ledger/)
})

test('restore-check fails on an unreadable checkpoint, another master key, or without a folder', async (t) => {
  const app = await buildTestApp(t)
  const kept = await publishAll(app)
  const broken = temporaryDirInMemory()
  for (const name of readdirSync(kept)) writeFileSync(join(broken, name), 'half a no')
  const [unreadable, other, none] = await Promise.all([
    check(app, broken),
    restoreCheck(app.database.ownerUrl, kept, new Uint8Array(32)),
    restoreCheck(app.database.ownerUrl, null, TEST_MASTER_KEY),
  ])
  assert.match(unreadable.output, /RESTORE_FAILED .*1 stored checkpoints cannot be read/)
  assert.match(other.output, /TALLYSTICK_MASTER_KEY is not the one/)
  assert.match(none.output, /--checkpoints is not set: without it an older backup would pass/)
  assert.deepEqual([unreadable.code, other.code, none.code], [1, 1, 1])
})

function check(app: TestApp, kept: string) {
  return restoreCheck(app.database.ownerUrl, kept, TEST_MASTER_KEY)
}

/** Appends `records` records, and publishes a checkpoint of everything into a new folder, as a worker does. */
async function publishAll(app: TestApp, records = 0): Promise<string> {
  for (let i = 0; i < records; i++) await app.notarize()
  const dir = temporaryDirInMemory()
  const pool = openTestPool(app.database.workerUrl, { max: 2 })
  await app.sql('alter table tallystick.checkpoints disable trigger user')
  await app.sql("update tallystick.checkpoints set published_at = published_at - interval '2 seconds'")
  await app.sql('alter table tallystick.checkpoints enable trigger user')
  await app.sql('alter table tallystick.checkpoints enable always trigger proven_session')
  await publishCheckpoints(await makePublisher(pool, dir))
  await pool.end()
  return join(dir, 'checkpoints')
}
