import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { appendEntries, type EntryRow } from '../../../src/db/chain/append-entries.ts'
import type { EntryDetail } from '../../../src/db/chain/entry-details.ts'
import {
  arrayChunks,
  bytea,
  encodeColumn,
  int4,
  text,
  timestamptz,
  uuid,
} from '../../../src/db/connect/binary-array.ts'
import { uuidOfBytes } from '../../../src/proof/ids.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { codePoint } from '../../helpers/code-points.ts'
import { connect } from '../../helpers/connect.ts'
import { createTestDatabase, TEST_MASTER_KEY, type TestDatabase } from '../../helpers/database.ts'
import {
  createTestLedger,
  makeBatch,
  makeEntry,
  randomId,
  type TestLedger,
} from '../../helpers/test-ledger.ts'

/*
 * Findings H1, M1, M3 and M6: a thief has a database login but not the master key. The thief reads every table, and so
 * knows every id, kid and leaf. The thief can call each function and write each table for which the login has the
 * right. No attempt may leave a row behind.
 */

const UNPROVEN = '28000'
const LOGINS = ['api', 'worker'] as const
const APPENDS = 1_000

type Thief = {
  readonly database: TestDatabase
  readonly ledger: TestLedger
  readonly thief: pg.Client
  rows(): Promise<unknown>
}

async function rob(t: TestContext, login: (typeof LOGINS)[number]): Promise<Thief> {
  const database = await createTestDatabase(t)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const thief = await connectBare(t, database[`${login}Url`])
  const owner = await connect(t, database.superuserUrl)
  return { database, ledger, thief, rows: () => readRows(owner) }
}

/** Opens a connection without a proof of the master key. */
async function connectBare(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  return client
}

async function readRows(owner: pg.Client): Promise<unknown> {
  const { rows } = await owner.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('tallystick', 'tallystick_jobs') order by 1`,
  )
  const digests = rows.map(
    ({ name }) =>
      `'${name}', (select md5(coalesce(string_agg(r::text, '' order by r::text), '')) from ${name} r)`,
  )
  const parts = Array.from({ length: Math.ceil(digests.length / 40) }, (_, i) =>
    digests.slice(i * 40, i * 40 + 40),
  )
  const { rows: found } = await owner.query(
    `select ${parts.map((part, i) => `json_build_object(${part.join(', ')}) as p${i}`).join(', ')}`,
  )
  return found[0]
}

/** Calls append_entries as appendEntries does, but with another MAC. */
async function callWith(
  client: pg.Client,
  entries: readonly EntryRow[],
  mac: (right: Buffer) => Buffer | null,
): Promise<string> {
  const master = makeMasterKey(TEST_MASTER_KEY)
  const stub = {
    mac: (chunks: Iterable<Uint8Array>) => mac(master.databaseMac(chunks)),
    query: (query: pg.QueryConfig) => client.query(query),
  }
  try {
    const answers = await appendEntries(stub as unknown as pg.Client, entries)
    return answers.map(({ outcome }) => outcome).join()
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error)
  }
}

for (const login of LOGINS) {
  test(`${APPENDS} calls of append_entries by the ${login}'s login alone append nothing`, async (t) => {
    const { ledger, thief, rows } = await rob(t, login)
    const kinds = (
      await thief.query<{ kind: string }>('select kind from tallystick.entry_kinds order by 1')
    ).rows.map(({ kind }) => kind)
    const before = await rows()
    const other = makeMasterKey(randomBytes(32))
    const forge = fc.sample(
      fc.record({
        kind: fc.constantFrom(...kinds),
        version: fc.option(fc.nat({ max: 3 }), { nil: null }),
        detail: fc.option(fc.dictionary(fc.string(), fc.jsonValue()), { nil: null }),
        batch: fc.nat({ max: 3 }),
        mac: fc.nat({ max: 4 }),
      }),
      APPENDS,
    )
    for (const { kind, version, detail, batch, mac } of forge) {
      const entry =
        batch === 0
          ? makeBatch(ledger, 3)
          : { ...makeEntry(ledger), kind, version, detail: detail as EntryDetail, subjectId: ledger.id }
      const macs = [
        () => null,
        () => randomBytes(40),
        (right: Buffer) => Buffer.concat([right.subarray(0, 8), randomBytes(32)]),
        (right: Buffer) => right.subarray(0, 8),
        () => other.databaseMac([randomBytes(32)]),
      ]
      assert.equal(await callWith(thief, [entry], macs[mac]!), UNPROVEN, `${kind} was not refused`)
    }
    assert.deepEqual(await rows(), before)
  })
}

test('a MAC is valid for one call: any changed, swapped or missing argument is refused', async (t) => {
  const { ledger, thief, rows } = await rob(t, 'api')
  const before = await rows()
  const entry = makeEntry(ledger)
  const mac = (entries: readonly EntryRow[]) => captureMac(entries)
  const right = await mac([entry])
  const record = entry.records[0]!
  const changed: EntryRow[][] = [
    [{ ...entry, kind: 'agent-registered' }],
    [{ ...entry, actorId: randomId() }],
    [{ ...entry, recordedAtMs: entry.recordedAtMs + 1 }],
    [{ ...entry, detail: {} }],
    [{ ...entry, records: [{ ...record, payload: '{"test":false}' }] }],
    [{ ...entry, records: [{ ...record, metadata: '{}' }] }],
    [{ ...entry, records: [] }],
    [entry, entry],
    [],
  ]
  for (const entries of changed) assert.equal(await callWith(thief, entries, () => right), UNPROVEN)
  assert.deepEqual(await rows(), before)
  assert.equal(await callWith(thief, [entry], () => right), 'appended', 'the MAC itself was right')
})

async function captureMac(entries: readonly EntryRow[]): Promise<Buffer> {
  let captured: Buffer | null = null
  await callWith(
    { query: async () => ({ rows: [{ answer: '' }] }) } as unknown as pg.Client,
    entries,
    (right) => {
      captured = right
      return right
    },
  )
  return captured!
}

test('Postgres returns every array as it was sent, so that both sides hash the same bytes', async (t) => {
  const { thief } = await rob(t, 'api')
  const columns = [
    [uuid, 'uuid', fc.uint8Array({ minLength: 16, maxLength: 16 }).map(uuidOfBytes)],
    [bytea, 'bytea', fc.uint8Array({ maxLength: 40 })],
    [int4, 'int4', fc.integer()],
    [text, 'text', fc.string({ unit: codePoint }).filter((value) => !value.includes('\0'))],
    [timestamptz, 'timestamptz', fc.integer({ min: -60_000_000_000_000, max: 250_000_000_000_000 })],
  ] as const
  for (const [codec, type, arbitrary] of columns) {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(arbitrary as fc.Arbitrary<unknown>, { nil: null }), { maxLength: 6 }),
        async (values) => {
          const sent = encodeColumn(codec as never, values, (value) => value as never)
          const nested = Buffer.concat([...arrayChunks([sent, sent])])
          const { rows } = await thief.query<{ one: Buffer; two: Buffer }>(
            `select array_send($1::${type}[]) as one, array_send(array[array_send($1::${type}[]), array_send($1::${type}[])]) as two`,
            [sent],
          )
          assert.deepEqual(rows[0], { one: sent, two: nested })
        },
      ),
      { numRuns: 60, endOnFailure: true },
    )
  }
})

for (const login of LOGINS) {
  test(`the ${login}'s login alone changes no row of any table that it may write into`, async (t) => {
    const { database, thief, rows } = await rob(t, login)
    const before = await rows()
    const owner = await connect(t, database.superuserUrl)
    const { rows: grants } = await owner.query<{ name: string; privilege: string; column: string }>(
      `select format('%I.%I', n.nspname, c.relname) as name, p.privilege, min(a.attname) as column
       from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname in ('tallystick', 'tallystick_jobs')
       cross join unnest('{insert,update,delete}'::text[]) p (privilege)
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         and (p.privilege = 'delete' or has_column_privilege($1, c.oid, a.attnum, p.privilege))
       where c.relkind in ('r', 'p') and (p.privilege <> 'delete' or has_table_privilege($1, c.oid, 'delete'))
       group by 1, 2 order by 1, 2`,
      [`tallystick_${login}`],
    )
    assert.equal(grants.length > 20, login === 'worker')
    for (const { name, privilege, column } of grants) {
      const sql = {
        insert: `insert into ${name} (${column}) select ${column} from ${name}`,
        update: `update ${name} set ${column} = ${column}`,
        delete: `delete from ${name}`,
      }[privilege]!
      await assert.rejects(thief.query(sql), { code: UNPROVEN, constraint: 'session_mac' }, sql)
    }
    assert.deepEqual(await rows(), before)
  })

  test(`the ${login}'s login alone changes nothing by any function that it may call`, async (t) => {
    const { database, ledger, thief, rows } = await rob(t, login)
    const before = await rows()
    const calls = await listCalls(await connect(t, database.superuserUrl), `tallystick_${login}`)
    for (const name of MUST_REFUSE[login])
      assert.ok(calls.has(name), `${name} is no function of the ${login}'s login any more`)
    const id = ledger.id
    for (const [name, types] of calls) {
      const call = `select * from tallystick.${name}(${types.map((type, i) => argumentOf(type, i, id)).join(', ')})`
      const code = await thief.query(call).then(
        () => 'done',
        (error: pg.DatabaseError) => error.code,
      )
      if (MUST_REFUSE[login].includes(name)) assert.equal(code, UNPROVEN, call)
      assert.deepEqual(await rows(), before, call)
    }
  })
}

/**
 * Functions that write even if their arguments match no row. Every call of such a function must be refused. All other
 * functions change nothing without a matching row.
 */
const MUST_REFUSE: Record<(typeof LOGINS)[number], string[]> = {
  api: [
    'append_entries',
    'begin_peer_request',
    'create_webhook',
    'invite_peer',
    'keep_fork',
    'request_audit',
    'set_ledger_frozen',
    'set_ledger_rate_limit',
    'set_ledger_tiles_public',
  ],
  worker: ['append_entries', 'request_audit', 'retire_envelope_keys'],
}

async function listCalls(owner: pg.Client, login: string): Promise<Map<string, string[]>> {
  const { rows } = await owner.query<{ name: string; types: string[] }>(
    `select p.proname as name, array(select format_type(a, null) from unnest(p.proargtypes) with ordinality x (a, i) order by i) as types
     from pg_proc p where p.pronamespace = 'tallystick'::regnamespace and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
       and has_function_privilege($1, p.oid, 'execute')`,
    [login],
  )
  return new Map(rows.map(({ name, types }) => [name, types]))
}

/**
 * Returns an argument of the type. The first argument is usually a ledger's id, so the id of an existing ledger is
 * used.
 */
function argumentOf(type: string, place: number, ledgerId: string): string {
  if (type.endsWith('[]')) return `'{}'::${type}`
  const values: Record<string, string> = {
    uuid: place === 0 ? `'${ledgerId}'` : `'${randomUUID()}'`,
    bytea: `'\\x${randomBytes(32).toString('hex')}'`,
    text: "'{}'",
    jsonb: "'{}'",
    boolean: 'true',
    'timestamp with time zone': "now() + interval '1 hour'",
    interval: "'1 hour'",
  }
  return `(${values[type] ?? 5})::${type}`
}

test('every table requires a proven session, except tables that only append_entries writes', async (t) => {
  const { database } = await rob(t, 'api')
  const { rows } = await (await connect(t, database.superuserUrl)).query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace in ('tallystick'::regnamespace, 'tallystick_jobs'::regnamespace) and c.relkind in ('r', 'p')
       and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'proven_session' and t.tgenabled = 'A')
     order by 1`,
  )
  const filled = [
    'batch_chunks',
    'batch_keys',
    'chain_heads',
    'documents',
    'entries',
    'gated_records',
    'idempotency_keys',
    'open_deadlines',
    'record_references',
    'records',
  ]
  assert.deepEqual(
    rows.map(({ name }) => name),
    filled,
  )
})

test('the proof of a session is valid for that session alone, and ends with `discard all`', async (t) => {
  const { database, thief, rows } = await rob(t, 'api')
  const proven = await connect(t, database.apiUrl)
  const { rows: seen } = await proven.query("select current_setting('tallystick.session_mac') as mac")
  const before = await rows()
  const freeze = `select tallystick.set_ledger_frozen('${randomUUID()}', true)`
  await proven.query(freeze)
  for (const mac of [seen[0].mac, 'x'.repeat(80), '', '0'.repeat(80), seen[0].mac.slice(0, 79)]) {
    await thief.query(`set tallystick.session_mac = '${mac}'`)
    await assert.rejects(thief.query(freeze), { code: UNPROVEN }, mac)
  }
  await proven.query('discard all')
  await assert.rejects(proven.query(freeze), { code: UNPROVEN })
  assert.deepEqual(await rows(), before)
})

test('the proof of a session is invisible to other sessions of its login', async (t) => {
  const { database, thief } = await rob(t, 'api')
  let isOver = false
  const seen = new Set<string>()
  const watch = (async () => {
    while (!isOver) {
      const { rows } = await thief.query<{ query: string }>(
        "select query from pg_stat_activity where usename = 'tallystick_api' and pid <> pg_backend_pid()",
      )
      for (const { query } of rows) seen.add(query)
    }
  })()
  for (let i = 0; i < 20; i++) await connect(t, database.apiUrl)
  isOver = true
  await watch
  const texts = [...seen].filter((query) => query.includes('session_mac') || query.includes('set_config'))
  assert.ok(texts.length > 0, 'the thief has seen how sessions are proven')
  for (const text of texts) assert.doesNotMatch(text, /[0-9a-f]{80}/)
})

test('a function that a login creates never replaces one that a proven session calls', async (t) => {
  const { database, ledger, thief, rows } = await rob(t, 'api')
  // Makes a grant that a database has if it was upgraded from Postgres 14.
  const owner = await connect(t, database.superuserUrl)
  await owner.query('grant create on schema public to public')
  const limit = `tallystick.set_ledger_rate_limit('${ledger.id}', 1, 1)`
  await thief.query(
    `create function public.now() returns timestamptz language sql as 'select clock_timestamp() from ${limit.replaceAll("'", "''")}'`,
  )
  const { rows: found } = await thief.query<{ name: string }>(
    'select quote_ident(current_database()) as name',
  )
  await thief.query(
    `alter role tallystick_api in database ${found[0]!.name} set search_path = public, pg_catalog`,
  )
  const before = await rows()
  await (await connect(t, database.apiUrl)).query('select now()')
  assert.deepEqual(await rows(), before)
})

test('only the owner’s login can read the keys of the MACs', async (t) => {
  const { database } = await rob(t, 'api')
  for (const url of [database.apiUrl, database.workerUrl]) {
    const client = await connect(t, url)
    for (const sql of [
      'select * from tallystick.mac_keys',
      "select tallystick.mac_holds('', '')",
      'select tallystick.require_proof()',
      "update tallystick.mac_keys set inner_pad = ''",
    ]) {
      await assert.rejects(client.query(sql), { code: '42501' }, sql)
    }
  }
})
