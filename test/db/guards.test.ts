import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import { withClient } from '../../src/db/connect/client.ts'
import { classifyFailure } from '../../src/db/connect/failures.ts'
import { openReadPool } from '../../src/db/connect/pools.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { connect, testDatabase } from '../helpers/connect.ts'
import {
  createTestDatabase,
  startTestPostgres,
  TEST_MASTER_KEY,
  TEST_PASSWORDS,
  type TestDatabase,
  urlFor,
} from '../helpers/database.ts'
import { createTestLedger, makeEntry, type TestLedger } from '../helpers/test-ledger.ts'

/*
 * Triggers, foreign keys and WAL logging of a table protect the chain. An owner can turn all of them off (finding S1).
 */

const masterKey = makeMasterKey(TEST_MASTER_KEY)
const migrateNow = (ownerUrl: string) => migrate({ ownerUrl, masterKey, passwords: TEST_PASSWORDS })

/**
 * Triggers that must always fire: the triggers of the chain, and the trigger that refuses all logins except the owner's
 * while other triggers are off.
 */
const ALWAYS = ['chain_heads_forward_only', 'entries_extend_chain', 'proven_session']

test('every trigger of the schema is listed in guards, and the essential ones are enabled always', async (t) => {
  const owner = await connect(t, (await createTestDatabase(t)).ownerUrl)
  const { rows } = await owner.query<{ name: string; enabled: string; always: boolean | null }>(`
    select t.tgname as name, t.tgenabled as enabled, g.always
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    full join tallystick.guards g on g.relation = c.relname and g.name = t.tgname
    where t.oid is null or c.relnamespace = 'tallystick'::regnamespace and not t.tgisinternal`)
  assert.ok(rows.length > 100)
  for (const { name, enabled, always } of rows)
    assert.deepEqual([enabled, always], ALWAYS.includes(name) ? ['A', true] : ['O', false], name)
})

test('a session with session_replication_role = replica is refused when opened', async (t) => {
  const database = await createTestDatabase(t)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const set = (change: string) =>
    withClient(database.superuserUrl, (client) =>
      client.query(`alter database ${database.name} ${change} session_replication_role`),
    )
  await withClient(database.superuserUrl, (client) =>
    client.query(`alter database ${database.name} set session_replication_role = 'replica'`),
  )
  const refusal =
    /session_replication_role = replica: triggers and foreign keys are off.*alter role … reset session_replication_role/
  await assert.rejects(connect(t, database.apiUrl), refusal)
  await assert.rejects(connect(t, database.workerUrl), refusal)
  await assert.rejects(migrateNow(database.ownerUrl), refusal)
  await set('reset')
  const api = await connect(t, database.apiUrl)
  assert.equal((await appendEntries(api, [makeEntry(ledger)]))[0]!.outcome, 'appended')
  assert.deepEqual(await sizes(database, ledger), { head: 4, entries: 4 })
})

test('if the role is set later, neither API nor worker login can write', async (t) => {
  const { ownerUrl, superuserUrl } = await startTestPostgres(t)
  await migrateNow(ownerUrl)
  const database = new URL(ownerUrl).pathname.slice(1)
  await withClient(superuserUrl, (client) =>
    client.query('grant set on parameter session_replication_role to tallystick_api, tallystick_worker'),
  )
  const [api, worker] = await Promise.all(
    (['api', 'worker'] as const).map((login) =>
      connect(t, urlFor(ownerUrl, database, `tallystick_${login}`, TEST_PASSWORDS[login])),
    ),
  )
  const ledger = await createTestLedger(api!)
  for (const client of [api!, worker!]) await client.query("set session_replication_role = 'replica'")
  for (const client of [api!, worker!]) await assert.rejects(appendEntries(client, [makeEntry(ledger)]), OFF)
  const { rows } = await worker!.query<{ table: string; write: string }>(`
    select c.relname as table, p.write from pg_class c, unnest(array['insert', 'update', 'delete']) p (write)
    where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r'
      and case p.write when 'delete' then has_table_privilege(c.oid, 'delete')
        else has_any_column_privilege(c.oid, p.write) end`)
  assert.ok(rows.length > 20)
  for (const { table, write } of rows)
    await assert.rejects(worker!.query(await statement(table, write)), OFF, table)

  async function statement(table: string, write: string): Promise<string> {
    if (write === 'delete') return `delete from tallystick.${table}`
    if (write === 'insert') return `insert into tallystick.${table} select * from tallystick.${table}`
    const columns = await worker!.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0
         and has_column_privilege(attrelid, attnum, 'update') limit 1`,
      [`tallystick.${table}`],
    )
    const { name } = columns.rows[0]!
    return `update tallystick.${table} set ${name} = ${name}`
  }
})

const OFF = (error: Error & { code?: string }) =>
  error.code === '55000' && classifyFailure(error).kind === 'unavailable'

test('an entry that does not move its chain head fails with 55000, on every path of append_entries', async (t) => {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const ledger = await createTestLedger(api)
  const other = await createTestLedger(api)
  await withClient(database.ownerUrl, (client) =>
    client.query('alter table tallystick.entries disable trigger entries_extend_chain'),
  )
  // SQLSTATE 55000 concerns the database and not a row. So the server answers 503, and does not retry with half of the
  // batch.
  const unmoved = (error: Error & { code?: string }) =>
    error.code === '55000' && classifyFailure(error).kind === 'unavailable'
  await assert.rejects(appendEntries(api, [makeEntry(ledger)]), unmoved)
  await assert.rejects(appendEntries(api, [makeEntry(ledger), makeEntry(other)]), unmoved)
  await assert.rejects(createTestLedger(api), unmoved)
  assert.deepEqual(await sizes(database, ledger), { head: 3, entries: 3 })
})

test('a new connection detects disabled or missing guards, and migrate enables them', async (t) => {
  const database = await createTestDatabase(t)
  const superuser = await connect(t, database.superuserUrl)
  const refuses = async (sql: string, refusal: RegExp) => {
    await superuser.query(sql)
    await assert.rejects(openAs(database.apiUrl), refusal)
  }
  await refuses(
    'alter table tallystick.records disable trigger records_begin',
    /the trigger records_begin of records is off/,
  )
  // Makes the state that a restore with `pg_restore --disable-triggers` leaves.
  await refuses(
    'alter table tallystick.entries disable trigger all; alter table tallystick.entries enable trigger all',
    /the trigger entries_extend_chain of entries is off, the trigger records_begin of records is off: run `npm run op -- migrate`/,
  )
  await migrateNow(database.ownerUrl)
  await openAs(database.apiUrl)
  await refuses(
    'alter table tallystick.ledger_closures disable trigger all',
    /foreign keys of ledger_closures are off.*: let a superuser run `alter table tallystick.ledger_closures enable trigger all`/,
  )
  await superuser.query('alter table tallystick.ledger_closures enable trigger all')
  await migrateNow(database.ownerUrl)
  await refuses(
    'alter table tallystick.tree_tiles set unlogged',
    /the table tree_tiles is unlogged: as the owner run `alter table tallystick.tree_tiles set logged`/,
  )
  await superuser.query('alter table tallystick.tree_tiles set logged')
  await openAs(database.apiUrl)
  await refuses('drop trigger entries_append_only on tallystick.entries', MISSING)
  await assert.rejects(migrateNow(database.ownerUrl), MISSING)
  // The message of the refusal says that the owner must run the missing `create trigger` of migrations/schema.sql. The
  // test does this.
  const schema = readFileSync(new URL('../../migrations/schema.sql', import.meta.url), 'utf8')
  await withClient(database.ownerUrl, (owner) =>
    owner.query(/^CREATE TRIGGER entries_append_only .*$/m.exec(schema)![0]),
  )
  await migrateNow(database.ownerUrl)
  await openAs(database.apiUrl)
})

const MISSING =
  /^(?!.*turns triggers on again)(?=.*the trigger entries_append_only of entries is missing).*run the `create trigger` of each missing trigger \(migrations\/schema.sql\) as the owner/

test('after a new connection finds a disabled guard, open connections are closed', async (t) => {
  const database = await createTestDatabase(t)
  const pool = openReadPool(testDatabase(database.apiUrl), { warn: () => {} })
  t.after(() => pool.end())
  const busy = await pool.connect()
  await withClient(database.ownerUrl, (client) =>
    client.query('alter table tallystick.records disable trigger records_begin'),
  )
  const refusal = /the trigger records_begin of records is off/
  await assert.rejects(pool.query('select'), refusal)
  await busy.query('select')
  busy.release()
  await assert.rejects(pool.query('select'), refusal)
})

async function openAs(url: string): Promise<void> {
  await withClient(testDatabase(url), (client) => client.query('select'))
}

async function sizes(database: TestDatabase, { id }: TestLedger) {
  const client = new pg.Client({ connectionString: database.ownerUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ head: number; entries: number }>(
      `select h.size::int4 as head, (select count(*)::int4 from tallystick.entries e where e.ledger_id = h.ledger_id) as entries
       from tallystick.chain_heads h where h.ledger_id = $1`,
      [id],
    )
    return { ...rows[0]! }
  } finally {
    await client.end()
  }
}
