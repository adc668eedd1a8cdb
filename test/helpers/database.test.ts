import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from './database.ts'

test('each test gets its own migrated database with three logins', async (t) => {
  const [a, b] = await Promise.all([createTestDatabase(t), createTestDatabase(t)])
  assert.notEqual(a.name, b.name)
  for (const url of [a.ownerUrl, a.apiUrl, a.workerUrl, b.apiUrl]) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    t.after(() => client.end())
    const { rows } = await client.query('select current_user as login, current_database() as database')
    assert.equal(rows[0].login, new URL(url).username)
    assert.equal(`/${rows[0].database}`, new URL(url).pathname)
    await client.query('select from tallystick.schema_migrations')
  }
})

test('a database is dropped after its test, even with an open connection', async (t) => {
  const names = { quiet: '', busy: '' }
  let connection: pg.Client | undefined
  await t.test('a test that closes its connections', async (t) => {
    names.quiet = (await createTestDatabase(t)).name
  })
  await t.test('a test that leaves a connection open', async (t) => {
    const { name, apiUrl } = await createTestDatabase(t)
    names.busy = name
    connection = new pg.Client({ connectionString: apiUrl })
    await connection.connect()
  })
  const { superuserUrl } = await createTestDatabase(t)
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  t.after(() => client.end())
  const { rows } = await client.query('select datname as name from pg_database where datname = any ($1)', [
    Object.values(names),
  ])
  await connection!.end()
  assert.deepEqual(rows, [{ name: names.busy }])
})
