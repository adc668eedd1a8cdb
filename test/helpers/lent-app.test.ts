import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genericBody } from './app.ts'
import { lendApp } from './lent-app.ts'
import { openWorkerPool } from './test-worker.ts'

let first = ''

test('lends an app with one ledger', async (t) => {
  const app = await lendApp(t)
  first = app.database.name
  await app.notarize()
  await app.newLedger()
  assert.equal((await app.sql('select from tallystick.ledgers')).length, 2)
})

test('lends the same app to the next test, with its data removed', async (t) => {
  const app = await lendApp(t)
  assert.equal(app.database.name, first)
  assert.equal((await app.sql('select from tallystick.ledgers')).length, 1)
  assert.equal((await app.sql('select from tallystick.records')).length, 0)
  await app.notarize(genericBody())
})

test('lends two different apps within one test', async (t) => {
  const apps = [await lendApp(t), await lendApp(t)]
  assert.notEqual(apps[0]!.database.name, apps[1]!.database.name)
  assert.equal((await apps[1]!.sql('select from tallystick.ledgers')).length, 1)
})

for (const [what, change] of [
  ['the schema', 'alter table tallystick.ledgers disable trigger user'],
  ['a function', "comment on schema tallystick is 'x'; alter function tallystick.refuse_change() volatile"],
  ['a key of the server', "update tallystick.server_keys set retired_at = now() where use = 'note'"],
] as const) {
  test(`changes ${what} of a lent app`, async (t) => {
    const app = await lendApp(t)
    await app.sql(`begin; set local session_replication_role = replica; ${change}; commit`)
    first = app.database.name
  })
  test(`does not lend an app again after a change of ${what}`, async (t) => {
    const apps = [await lendApp(t), await lendApp(t), await lendApp(t)]
    assert.ok(apps.every((app) => app.database.name !== first))
  })
}

test('patches the pool of a lent app', async (t) => {
  const app = await lendApp(t)
  first = app.database.name
  openWorkerPool(t, app).on('acquire', () => {})
})

test('does not lend an app again after its pool was patched', async (t) => {
  assert.notEqual((await lendApp(t)).database.name, first)
})

test('returns the same worker pool for the same app', async (t) => {
  const app = await lendApp(t)
  assert.equal(openWorkerPool(t, app), openWorkerPool(t, app))
})
