import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { database } from '../../src/verify/database.ts'
import { formatReport } from '../../src/verify/report.ts'
import { SourceError } from '../../src/verify/source.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { makePublish } from '../helpers/checkpoints.ts'

/*
 * Verifies a ledger in its database, first unchanged. Then the owner of the database removes or adds rows. The owner
 * has disabled all triggers and constraints, but has no signing key. tamper-columns.test.ts changes columns.
 */

/** Number of entries in a full tile. The ledger has more entries, so that each kind of tile exists. */
const TILE_ENTRIES = 256

async function fill(t: TestContext, app: TestApp): Promise<void> {
  const publish = await makePublish(t, app)
  const { agent } = app.ledger
  await app.notarize()
  await publish()
  const notarize = (i: number) =>
    app.notarize({ ...genericBody({ i }), metadata: { i } }, { headers: { 'idempotency-key': `key-${i}` } })
  for (let i = 0; i < TILE_ENTRIES; i += 64)
    await Promise.all(Array.from({ length: 64 }, (_, n) => notarize(i + n)))
  const whole = { occurredAt: '2026-01-02T03:04:05.678Z', onBehalfOf: agent.id }
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await app.notarize({ ...genericBody(), ...whole }, { headers: { traceparent } })
  const body = { records: [{ ...genericBody(), ...whole }, genericBody({ n: 2 }), genericBody({ n: 3 })] }
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body, headers: { traceparent } }))
  await publish()
  await app.notarize()
}

const verify = (
  app: TestApp,
  url = app.database.superuserUrl,
  ledger: string | null = app.ledger.ledger.id,
) => verifyLedger(database(url, ledger))

test('a ledger in its database', async (t) => {
  const app = await buildTestApp(t)
  await fill(t, app)
  await t.test('verifies under the owner’s login and under those of the servers', () => verifiesAsEach(app))
  const owner = await disarm(t, app)
  await t.test('missing rows, and rows that no entry explains, are found', () => findsRows(app, owner))
  await t.test('a cut-off tail is found by the ledger’s own checkpoints, or else by a kept one', () =>
    findsCutOffTail(app, owner),
  )
})

async function verifiesAsEach(app: TestApp): Promise<void> {
  const line =
    'INTEGRITY_OK entries=263 records=262 keys=self-asserted checkpoint=own covered=262 own=262 of 263'
  for (const url of [app.database.superuserUrl, app.database.ownerUrl]) {
    const report = await verify(app, url)
    assert.equal(formatReport(report), line)
    assert.deepEqual(report.notices, [])
  }
  const threaded = await verifyLedger(database(app.database.ownerUrl, null), { threads: 2 })
  assert.equal(formatReport(threaded), line)
  const asApi = await verify(app, app.database.apiUrl, null)
  assert.equal(formatReport(asApi), line)
  assert.match(asApi.notices[0]!, /idempotency keys/)
}

test('records of any date verify, also of 1970 and before', async (t) => {
  const app = await buildTestApp(t)
  const times = [
    '1970-01-01T00:00:00Z',
    '1969-12-31T23:59:59.999Z',

    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
  ]
  for (const occurredAt of times) await app.notarize({ ...genericBody(), occurredAt })
  const report = await verify(app)
  assert.equal(report.failure, null)
})

test('reports what cannot be read, and why, without the password', async (t) => {
  const app = await buildTestApp(t)
  const other = await app.newLedger()
  const fails = async (work: Promise<unknown>, kind: string, pattern: RegExp) =>
    assert.rejects(work, (error) => {
      assert.ok(error instanceof SourceError, `${error}`)
      assert.equal(error.kind, kind, error.message)
      assert.match(error.message, pattern)
      assert.doesNotMatch(error.message, /test-owner|wrong-password/)
      return true
    })
  await fails(verify(app, undefined, null), 'usage', new RegExp(`2 ledgers.*${other.ledger.id}`, 's'))
  await fails(verify(app, undefined, 'led_x'), 'usage', /not the id of a ledger/)
  await fails(verify(app, undefined, 'led_01jegv5gyme00r000000000001'), 'not_a_ledger', /has no ledger/)
  const url = new URL(app.database.ownerUrl)
  url.password = 'wrong-password'
  await fails(verify(app, url.href), 'denied', /refuses the login/)
  url.pathname = '/nowhere'
  url.password = new URL(app.database.ownerUrl).password
  await fails(verify(app, url.href), 'not_a_ledger', /no such database/)
  url.port = '1'
  await fails(verify(app, url.href), 'unavailable', /ECONNREFUSED/)
  const empty = new URL(app.database.superuserUrl)
  empty.pathname = '/postgres'
  await fails(verify(app, empty.href), 'not_a_ledger', /schema/)
})

/** Conditions for the rows to remove, for tables with several kinds of rows. */
const ROWS: Record<string, string[]> = {
  entries: [
    'seq = 0',
    'seq = 2',
    'seq = 100',
    "kind = 'batch-notarized'",
    'seq = (select max(seq) from tallystick.entries)',
  ],
  records: ['first_seq = 3', 'on_behalf_of is not null'],
  checkpoints: ['size < 10', 'size > 10'],
  tree_tiles: ['level = 0', 'level = 1'],
  server_keys: ["use = 'envelope'", "use = 'note'"],
}

const REMOVED = [
  'entries',
  'records',
  'batch_chunks',
  'batch_keys',
  'agents',
  'api_keys',
  'ledgers',
  'chain_heads',
  'tree_tiles',
  'tree_frontiers',
  'server_keys',
]

async function findsRows(app: TestApp, { tamper }: Owner): Promise<void> {
  const missed: string[] = []
  const expectFound = async (table: string, sql: string) => {
    const report = await tamper(table, sql).catch((error) => {
      // If the head or the ledger's row is missing, the ledger cannot be verified. The command also reports this case.
      if (error instanceof SourceError) return { ok: false } as const
      throw error
    })
    if (!report || report.ok) missed.push(sql)
  }
  for (const table of REMOVED) {
    for (const row of ROWS[table] ?? ['true']) {
      await expectFound(
        table,
        `delete from tallystick.${table} where ctid = (select ctid from tallystick.${table} where ${row} limit 1)`,
      )
    }
  }
  const copy = (table: string, changes: string, row = 'true') =>
    expectFound(
      table,
      `insert into tallystick.${table} select (jsonb_populate_record(t, ${changes})).* from
       tallystick.${table} t where t.ctid = (select ctid from tallystick.${table} where ${row} limit 1)`,
    )
  const id = (name: string) => `jsonb_build_object('${name}', gen_random_uuid()`
  await copy('entries', "jsonb_build_object('seq', (select max(seq) + 1 from tallystick.entries))")
  for (const seq of ['first_seq', '100', '100000']) {
    await copy('records', `${id('record_id')}, 'first_seq', ${seq}, 'last_seq', ${seq})`)
  }
  for (const seq of ['seq', '100', '100000']) {
    await copy('batch_chunks', `${id('first_record_id')}, 'seq', ${seq}, 'chunk', 1)`)
    await copy('batch_keys', `jsonb_build_object('seq', ${seq}, 'chunk', 1)`)
  }
  await copy('agents', `${id('agent_id')}, 'name', 'another')`)
  await copy('agents', `${id('agent_id')}, 'name', 'another', 'registered_seq', 9999)`)
  await copy('api_keys', `${id('key_id')}, 'secret_hash', '\\x00')`)
  await copy('idempotency_keys', "jsonb_build_object('key_hash', '\\x00', 'seq', 9999)")
  await copy('idempotency_keys', `${id('actor_id')})`)
  await copy('tree_tiles', "jsonb_build_object('tile_index', 9)")
  await copy('tree_tiles', "jsonb_build_object('level', 3)")
  await copy('checkpoints', "jsonb_build_object('size', 20)")
  for (const table of [
    'entries',
    'records',
    'batch_chunks',
    'batch_keys',
    'agents',
    'checkpoints',
    'tree_tiles',
    'tree_frontiers',
  ]) {
    await copy(table, `${id('ledger_id')})`)
  }
  assert.deepEqual(missed, [])
  assert.ok((await verify(app)).ok, 'all of it was undone')
}

async function findsCutOffTail(app: TestApp, { asOwner }: Owner): Promise<void> {
  const [kept] = await app.sql<{ note: string }>(
    'select note from tallystick.checkpoints order by size desc limit 1',
  )
  await asOwner(
    `delete from tallystick.entries where seq >= 200;
     delete from tallystick.records where first_seq >= 200;
     delete from tallystick.batch_chunks where seq >= 200;
     delete from tallystick.batch_keys where seq >= 200;
     delete from tallystick.idempotency_keys where seq >= 200;
     update tallystick.chain_heads set size = 200, chain = (select chain from tallystick.entries where seq = 199)`,
  )
  assert.equal((await verify(app)).ok, false)
  await asOwner(
    `delete from tallystick.checkpoints;
     delete from tallystick.tree_frontiers;
     delete from tallystick.tree_tiles`,
  )
  assert.equal(formatReport(await verify(app)).slice(0, 24), 'INTEGRITY_OK entries=200')
  const found = await verifyLedger(database(app.database.superuserUrl, null), { checkpoints: [kept!.note] })
  assert.equal(found.failure?.code, 'checkpoint_beyond_chain')
}

type Owner = Awaited<ReturnType<typeof disarm>>

/**
 * Drops all triggers, foreign keys and checks, as an owner could. Returns functions that change rows and undo each
 * change.
 */
async function disarm(t: TestContext, app: TestApp) {
  const constraints = await app.sql<{ sql: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as sql
     from pg_constraint where connamespace = 'tallystick'::regnamespace and contype in ('c', 'f')`,
  )
  for (const { sql } of constraints) await app.sql(sql)
  await app.sql('drop index tallystick.records_by_seq')
  const owner = new pg.Client({ connectionString: app.database.superuserUrl })
  await owner.connect()
  t.after(() => owner.end())
  await owner.query('set session_replication_role = replica')
  return {
    asOwner: (sql: string) => owner.query(sql),
    /** Changes rows. Returns null if no row was changed. */
    async tamper(table: string, sql: string) {
      await owner.query(`create temporary table original as table tallystick.${table}`)
      try {
        const { rowCount } = await owner.query(sql)
        return rowCount ? await verify(app) : null
      } finally {
        await owner.query(`delete from tallystick.${table}; insert into tallystick.${table} table original`)
        await owner.query('drop table original')
      }
    },
  }
}
