import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { checkLogin, ensureLogins } from '../../../src/db/connect/logins.ts'
import { toUuid } from '../../../src/db/connect/uuid.ts'
import { findRecords } from '../../../src/db/records/read-records.ts'
import { checkSchema, listMigrations, migrate } from '../../../src/db/schema/migrate.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { checkLedger } from '../../helpers/check-ledger.ts'
import { connect } from '../../helpers/connect.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  startTestPostgres,
  TEST_MASTER_KEY,
  TEST_PASSWORDS,
} from '../../helpers/database.ts'
import { appendTo5, migrateTo } from '../../helpers/older-ledger.ts'
import { TEST_SETTINGS } from '../../helpers/postgres.ts'
import { runScript } from '../../helpers/run-script.ts'
import {
  adminEntry,
  createTestLedger,
  firstEntries,
  makeBatch,
  makeEntry,
  makeIdempotency,
  makeRecord,
  randomId,
} from '../../helpers/test-ledger.ts'
import { makeWay } from '../../helpers/test-steps.ts'

const masterKey = makeMasterKey(TEST_MASTER_KEY)
const passwords = { api: TEST_PASSWORDS.api, worker: TEST_PASSWORDS.worker }
const names = listMigrations().map((migration) => migration.name)

/** What `npm run migrate` does, in a process of its own; its standard output. */
async function migrateInProcess(ownerUrl: string, apiUrl: string, workerUrl: string): Promise<string> {
  const { code, stdout, stderr } = await runScript('src/run/migrate.ts', [], {
    env: {
      DATABASE_URL: ownerUrl,
      TALLYSTICK_API_DATABASE_URL: apiUrl,
      TALLYSTICK_WORKER_DATABASE_URL: workerUrl,
      TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('base64'),
    },
  })
  assert.equal(code, 0, stderr)
  return stdout
}

function withLogin(url: string, login: keyof typeof passwords): string {
  const changed = new URL(url)
  changed.username = `tallystick_${login}`
  changed.password = passwords[login]
  return changed.href
}

async function checkMigrated(t: TestContext, ownerUrl: string): Promise<void> {
  const owner = await connect(t, ownerUrl)
  const { rows } = await owner.query('select name from tallystick.schema_migrations order by version')
  assert.deepEqual(
    rows.map((row) => row.name),
    names,
  )
  const keys = await owner.query('select use from tallystick.server_keys order by use')
  assert.deepEqual(
    keys.rows.map((row) => row.use),
    ['envelope', 'note'],
    'the first keys were made once',
  )
  await checkSchema(owner)
  for (const login of ['api', 'worker'] as const) {
    const client = await connect(t, withLogin(ownerUrl, login))
    await checkSchema(client)
    await checkLogin(client, 'worker')
  }
}

test('several processes may migrate one database at once: one does, the others find it done', async (t) => {
  const { ownerUrl } = await createEmptyDatabase(t)
  await prepareLogins(t)
  // Without passwords to set: setting one would make them wait for each other by accident.
  const [apiUrl, workerUrl] = (['api', 'worker'] as const).map((login) => {
    const url = new URL(withLogin(ownerUrl, login))
    url.password = ''
    return url.href
  }) as [string, string]
  const outputs = await Promise.all([1, 2, 3].map(() => migrateInProcess(ownerUrl, apiUrl, workerUrl)))
  const applied = outputs.filter((output) => output.includes(names[0]!))
  assert.equal(applied.length, 1, outputs.join('\n'))
  await checkMigrated(t, ownerUrl)
})

test('several databases of one server may be migrated at once, though they share the logins', async (t) => {
  const databases = await Promise.all([1, 2, 3, 4].map(() => createEmptyDatabase(t)))
  await prepareLogins(t)
  const all = databases.flatMap(({ ownerUrl }) => [ownerUrl, ownerUrl])
  const applied = await Promise.all(all.map((ownerUrl) => migrate({ ownerUrl, masterKey, passwords })))
  assert.equal(applied.filter((list) => list.length > 0).length, databases.length)
  for (const { ownerUrl } of databases) await checkMigrated(t, ownerUrl)
})

test('works on Postgres 15 as well as on the embedded one', { skip: skipWithout15() }, async (t) => {
  const settings = { ...TEST_SETTINGS, max_connections: 20, shared_buffers: '16MB' }
  const postgres = await startTestPostgres(t, { binDir: BIN_15, settings })
  const { ownerUrl } = postgres
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), names)
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
  await checkMigrated(t, ownerUrl)
  const ledger = await createTestLedger(await connect(t, withLogin(ownerUrl, 'api')))
  assert.equal(await checkLedger(await connect(t, ownerUrl), ledger.id), 3)
})

const BIN_15 = '/usr/lib/postgresql/15/bin'

function skipWithout15(): string | false {
  return existsSync('/usr/lib/postgresql/15/bin/postgres') ? false : 'this machine has no Postgres 15'
}

/** Their passwords are everybody's in this suite: a database that is made from the template sets them. */
async function prepareLogins(t: TestContext): Promise<void> {
  await createTestDatabase(t)
}

test('refuses a master key that does not open what is there', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const other = makeMasterKey(new Uint8Array(32))
  await assert.rejects(
    migrate({ ownerUrl, masterKey: other, passwords }),
    /TALLYSTICK_MASTER_KEY is not the one/,
  )
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
})

test('a database from before there were gated records keeps all that it holds, and goes on', async (t) => {
  const { ownerUrl } = await createEmptyDatabase(t)
  await prepareLogins(t)
  const owner = await connect(t, ownerUrl)
  await migrateTo(owner, 5)
  const ledger = { id: randomId(), agentId: randomId(), keyId: randomId(), kid: randomBytes(32) }
  const record = makeRecord(randomId(), { references: '["order 7"]', metadata: '{}' })
  const keyed = { records: [record], idempotency: makeIdempotency('k', 'request') }
  const [erased, kept] = [makeEntry(ledger, { subjectId: record.recordId, ...keyed }), makeEntry(ledger)]
  const batch = makeBatch(ledger, 3)
  const erasure = adminEntry(ledger, 'payload-erased', Buffer.from(erased.subjectId), { document: 'payload' })
  for (const entry of [...(await firstEntries(owner, ledger)), erased, kept, batch, erasure]) {
    assert.equal(await appendTo5(owner, entry), 0)
  }
  const id = toUuid(ledger.id)
  await owner.query('select tallystick.erase_document($1, 6)', [id])
  const entries = await readAll(owner, 'entries', id)

  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), names.slice(5))

  await checkMigrated(t, ownerUrl)
  assert.deepEqual(await readAll(owner, 'entries', id), entries)
  assert.equal(await checkLedger(owner, ledger.id), 7)
  const { rows } = await owner.query(
    'select document, document_seq, seq, erased_at is not null as done from tallystick.erasures',
  )
  assert.deepEqual(rows, [{ document: 'payload', document_seq: '3', seq: '6', done: true }])
  const keys = [erased, kept, { subjectId: batch.records[2]!.recordId }].map(({ subjectId }) => ({
    ledgerId: id,
    recordId: toUuid(subjectId),
  }))
  assert.deepEqual(
    (await findRecords(owner, keys)).map((row) => [
      row!.state,
      row!.version,
      row!.seq,
      row!.payload === null,
    ]),
    [
      ['RECORDED', 1, '3', true],
      ['RECORDED', 1, '4', false],
      ['RECORDED', 1, '5', false],
    ],
  )
  for (const entry of [makeEntry(ledger), ...makeWay(ledger, 'SUBMITTED')]) {
    assert.equal((await appendEntries(owner, [entry]))[0]!.outcome, 'appended')
  }
  assert.equal(await checkLedger(owner, ledger.id), 11)
})

async function readAll(owner: pg.Client, table: string, ledgerId: string): Promise<unknown[]> {
  const { rows } = await owner.query(`select * from tallystick.${table} where ledger_id = $1 order by seq`, [
    ledgerId,
  ])
  return rows
}

test('a failed migration leaves nothing behind', async (t) => {
  const { ownerUrl } = await createEmptyDatabase(t)
  await prepareLogins(t)
  const owner = await connect(t, ownerUrl)
  // Something that stands in the way of the last statements.
  await owner.query('create schema tallystick; create table tallystick.tree_tiles ()')
  await assert.rejects(migrate({ ownerUrl, masterKey, passwords }), { code: '42P07' })
  const { rows } = await owner.query(
    "select relname from pg_class where relnamespace = 'tallystick'::regnamespace",
  )
  assert.deepEqual(rows, [{ relname: 'tree_tiles' }])
  await owner.query('drop table tallystick.tree_tiles')
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), names)
})

test('a server refuses a database that is not migrated, or not far enough', async (t) => {
  const { ownerUrl, superuserUrl } = await createEmptyDatabase(t)
  const owner = await connect(t, ownerUrl)
  await assert.rejects(checkSchema(owner), /not migrated: run `npm run migrate`/)
  await prepareLogins(t)
  await migrate({ ownerUrl, masterKey, passwords })
  await checkSchema(owner)
  const superuser = await connect(t, superuserUrl)
  await superuser.query('delete from tallystick.schema_migrations where version = 2')
  await assert.rejects(checkSchema(owner), /lacks 0002-append-entries.sql: run/)
})

test('a server, and migrate, refuse a database that is newer than they are', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await owner.query("insert into tallystick.schema_migrations values (9999, '9999-later.sql', '')")
  await assert.rejects(checkSchema(owner), /migration 9999\) is newer than this version/)
  await assert.rejects(migrate({ ownerUrl, masterKey, passwords }), /migration 9999\) is newer/)
})

test('a server and migrate go on with a newer schema that says that it serves them, and with no other', async (t) => {
  const { ownerUrl, apiUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  const newest = listMigrations().at(-1)!.version
  await owner.query("insert into tallystick.schema_migrations values (9998, '9998-later.sql', '')")
  await owner.query('insert into tallystick.schema_serves values (9998, $1)', [newest])
  await checkSchema(await connect(t, apiUrl))
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), [])
  // One more, for which the version between is the oldest.
  await owner.query("insert into tallystick.schema_migrations values (9999, '9999-later.sql', '')")
  await owner.query('insert into tallystick.schema_serves values (9999, 9998)')
  await assert.rejects(checkSchema(owner), /migration 9999\) is newer than this version[\s\S]*upgrading.md/)
})

test('a migration that serves older code says so in its first line, and the database knows it', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const { rows } = await (await connect(t, ownerUrl)).query(
    'select version, serves_from from tallystick.schema_serves order by version',
  )
  const since = listMigrations().filter(({ servesFrom }) => servesFrom !== null)
  assert.deepEqual(
    rows,
    since.map(({ version, servesFrom }) => ({ version, serves_from: servesFrom })),
  )
  for (const { name, version, servesFrom } of since)
    assert.ok(servesFrom! < version, `${name} serves code that is newer than it is`)
})

test('a migration that has to wait for a lock gives up at once, before appends wait behind it, and changes nothing', async (t) => {
  const { ownerUrl, superuserUrl } = await createEmptyDatabase(t)
  await prepareLogins(t)
  const owner = await connect(t, ownerUrl)
  await migrateTo(owner, 5)
  const reader = await connect(t, superuserUrl)
  await reader.query('begin; select count(*) from tallystick.records')
  await assert.rejects(
    migrate({ ownerUrl, masterKey, passwords }),
    /0006-gated-records.sql changes a table that somebody/,
  )
  const { rows } = await owner.query('select max(version) as version from tallystick.schema_migrations')
  assert.deepEqual(rows, [{ version: 5 }])
  await reader.query('rollback')
  assert.deepEqual(await migrate({ ownerUrl, masterKey, passwords }), names.slice(5))
})

test('a server, and migrate, refuse a database that was migrated with other files', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await owner.query("update tallystick.schema_migrations set sha256 = 'another' where version = 1")
  await assert.rejects(checkSchema(owner), /0001-core.sql is not the file/)
  await assert.rejects(migrate({ ownerUrl, masterKey, passwords }), /0001-core.sql is not the file/)
})

test('leaves the password of a login alone that it was not given', async (t) => {
  const { ownerUrl, apiUrl } = await createTestDatabase(t)
  const owner = await connect(t, ownerUrl)
  await ensureLogins(owner, { api: null, worker: null })
  await connect(t, apiUrl)
})

test('takes the logins of the API and of the worker', async (t) => {
  const { apiUrl, workerUrl } = await createTestDatabase(t)
  await checkLogin(await connect(t, apiUrl), 'server')
  await checkLogin(await connect(t, workerUrl), 'worker')
  await assert.rejects(checkLogin(await connect(t, workerUrl), 'server'), /may read the note key/)
})

test('refuses logins that could do more than a stolen pod may', async (t) => {
  const database = await createTestDatabase(t)
  const superuser = await connect(t, database.superuserUrl)
  await assert.rejects(
    checkLogin(superuser, 'worker'),
    /login postgres is too powerful .* may become a superuser/,
  )
  await assert.rejects(
    checkLogin(await connect(t, database.ownerUrl), 'worker'),
    /may write into entries.*owns a table/,
  )

  const login = `login_${database.name}`
  await superuser.query(`create role ${login} login password 'test' noinherit`)
  const url = new URL(database.apiUrl)
  url.username = login
  url.password = 'test'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    await superuser.query(`grant usage on schema tallystick to ${login}`)
    await checkLogin(client, 'worker')
    const powers: [string, string, RegExp][] = [
      // noinherit: it has none of the owner's rights until it says SET ROLE
      [`grant tallystick_owner to ${login}`, `revoke tallystick_owner from ${login}`, /may become its owner/],
      [`alter role ${login} superuser`, `alter role ${login} nosuperuser`, /superuser/],
      [`alter role ${login} createrole`, `alter role ${login} nocreaterole`, /may create roles/],
      [
        `grant pg_write_all_data to ${login}`,
        `revoke pg_write_all_data from ${login}`,
        /may write everything/,
      ],
      ...['insert', 'update', 'delete', 'truncate', 'trigger'].map((privilege): [string, string, RegExp] => [
        `grant ${privilege} on tallystick.entries to ${login}`,
        `revoke ${privilege} on tallystick.entries from ${login}`,
        /may write into entries/,
      ]),
      [
        `grant update (envelope) on tallystick.entries to ${login}`,
        `revoke update (envelope) on tallystick.entries from ${login}`,
        /may write columns of entries/,
      ],
      [
        `grant create on schema tallystick to ${login}`,
        `revoke create on schema tallystick from ${login}`,
        /may create in the schema/,
      ],
      [
        `alter function tallystick.append_details owner to ${login}`,
        'alter function tallystick.append_details owner to tallystick_owner',
        /owns a function/,
      ],
    ]
    for (const [give, take, reason] of powers) {
      await superuser.query(give)
      await assert.rejects(checkLogin(client, 'worker'), reason, give)
      await superuser.query(take)
      await checkLogin(client, 'worker')
    }
  } finally {
    await client.end()
    await superuser.query(`revoke all on schema tallystick from ${login}; drop role ${login}`)
  }
})
