import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genericBody } from './app.ts'
import { lendApp } from './lent-app.ts'
import { openWorkerPool } from './test-worker.ts'

let first = ''

test('a test has an application with its own ledger only', async (t) => {
  const app = await lendApp(t)
  first = app.database.name
  await app.notarize()
  await app.newLedger()
  assert.equal((await app.sql('select from tallystick.ledgers')).length, 2)
})

test('the next one gets the same, and finds nothing', async (t) => {
  const app = await lendApp(t)
  assert.equal(app.database.name, first)
  assert.equal((await app.sql('select from tallystick.ledgers')).length, 1)
  assert.equal((await app.sql('select from tallystick.records')).length, 0)
  await app.notarize(genericBody())
})

test('two of one test are two', async (t) => {
  const apps = [await lendApp(t), await lendApp(t)]
  assert.notEqual(apps[0]!.database.name, apps[1]!.database.name)
  assert.equal((await apps[1]!.sql('select from tallystick.ledgers')).length, 1)
})

for (const [what, change] of [
  ['the schema', 'alter table tallystick.ledgers disable trigger user'],
  ['a function', "comment on schema tallystick is 'x'; alter function tallystick.refuse_change() volatile"],
  ['a key of the server', "update tallystick.server_keys set retired_at = now() where use = 'note'"],
] as const) {
  test(`one in which ${what} was changed is not lent again`, async (t) => {
    const app = await lendApp(t)
    await app.sql(`begin; set local session_replication_role = replica; ${change}; commit`)
    first = app.database.name
  })
  test(`one in which ${what} was changed was not lent again`, async (t) => {
    const apps = [await lendApp(t), await lendApp(t), await lendApp(t)]
    assert.ok(apps.every((app) => app.database.name !== first))
  })
}

test('one whose pool was patched is not lent again', async (t) => {
  const app = await lendApp(t)
  first = app.database.name
  openWorkerPool(t, app).on('acquire', () => {})
})

test('one whose pool was patched was not lent again', async (t) => {
  assert.notEqual((await lendApp(t)).database.name, first)
})

test('connections of the worker stay with it', async (t) => {
  const app = await lendApp(t)
  assert.equal(openWorkerPool(t, app), openWorkerPool(t, app))
})
