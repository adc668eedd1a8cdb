import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from './database.ts'

test('every test gets a migrated database of its own, with the three logins', async (t) => {
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
