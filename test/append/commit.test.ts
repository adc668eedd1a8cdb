import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type AppendOutcome, commitBatch, commitTogether } from '../../src/append/commit.ts'
import type { EntryRow } from '../../src/db/chain/append-entries.ts'
import { classifyFailure } from '../../src/db/connect/failures.ts'
import { openWritePool } from '../../src/db/connect/pools.ts'
import { NIL_UUID } from '../../src/proof/ids.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect, openTestPool, type TestPoolConfig, testDatabase } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import { createTestLedger, makeEntry, makeIdempotency, type TestLedger } from '../helpers/test-ledger.ts'

/*
 * Tests what a commit guarantees for each way in which its call can end. Each fault is tested twice: once the commit
 * was persisted before the fault, and once it was not. After each fault the whole ledger is checked.
 */

const FIRST_SIZE = 3

let shared: Promise<TestDatabase> | null = null

/** Opens a new ledger and new pools for each test, directly and through a proxy. All tests use one database. */
async function open(t: TestContext) {
  shared ??= createTestDatabase(t)
  const database = await shared
  const owner = await connect(t, database.ownerUrl)
  const proxy = await startTcpProxy(t, database.apiUrl)
  const pool = openPool(t, database.apiUrl)
  const proxied = openPool(t, proxy.url)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const check = () => checkLedger(owner, ledger.id)
  return { database, owner, proxy, pool, proxied, ledger, check }
}

function openPool(t: TestContext, url: string, config?: TestPoolConfig): pg.Pool {
  const pool = config ? openTestPool(url, config) : openWritePool(testDatabase(url), { warn: () => {} })
  t.after(() => pool.end())
  return pool
}

const statusesOf = (outcomes: AppendOutcome[]) => outcomes.map((outcome) => outcome.status)

const keyed = (ledger: TestLedger, key: string): EntryRow =>
  makeEntry(ledger, { idempotency: makeIdempotency(key, 'request') })

async function commitOne(pool: pg.Pool, entry: EntryRow): Promise<AppendOutcome> {
  const [outcome] = await commitBatch(pool, [entry])
  return outcome!
}

/** Locks the ledger's head, so that appends wait. The returned function unlocks the head. */
async function lockHead(owner: pg.Client, ledger: TestLedger): Promise<() => Promise<unknown>> {
  await owner.query('begin')
  await owner.query('select from tallystick.chain_heads where ledger_id = $1 for update', [ledger.id])
  return () => owner.query('rollback')
}

/** Waits until some backend waits for a lock. Returns the pid of that backend. */
async function waitForWaiter(owner: pg.Client): Promise<number> {
  for (;;) {
    const { rows } = await owner.query<{ pid: number }>(
      `select l.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where not l.granted and a.datname = current_database()`,
    )
    if (rows[0]) return rows[0].pid
    await sleep(5)
  }
}

async function waitForSize(owner: pg.Client, ledger: TestLedger, size: number): Promise<void> {
  for (;;) {
    const { rows } = await owner.query('select size::int from tallystick.chain_heads where ledger_id = $1', [
      ledger.id,
    ])
    if (rows[0].size >= size) return
    await sleep(5)
  }
}

test('answers each entry with its outcome, in order', async (t) => {
  const { pool, ledger, check } = await open(t)
  await commitBatch(pool, [keyed(ledger, 'k')])
  const other = makeEntry(ledger, { idempotency: makeIdempotency('k', 'another') })
  const twin = makeEntry(ledger)
  const outcomes = await commitBatch(pool, [
    makeEntry(ledger),
    keyed(ledger, 'k'),
    other,
    makeEntry(ledger, { toState: 'NOWHERE' }),
    makeEntry(ledger, { recordedAtMs: 0 }),
    makeEntry({ ...ledger, id: NIL_UUID }),
    makeEntry(ledger, { kind: 'no-such-kind' }),
    makeEntry(ledger, { kid: Buffer.alloc(32) }),
    twin,
    { ...twin, version: 2, records: [] },
  ])
  assert.equal(outcomes[0]?.status === 'appended' && outcomes[0].seq, FIRST_SIZE + 1)
  assert.deepEqual(outcomes.slice(1, 8), [
    { status: 'replayed', seq: FIRST_SIZE },
    { status: 'conflict' },
    { status: 'refused', reason: 'state' },
    { status: 'refused', reason: 'clock' },
    { status: 'refused', reason: 'ledger' },
    { status: 'refused', reason: 'kind' },
    { status: 'stale' },
  ])
  assert.deepEqual(statusesOf(outcomes.slice(8)), ['appended', 'again'])
  assert.equal(await check(), FIRST_SIZE + 3)
})

test('an entry that Postgres refuses fails alone, at any position of the batch', async (t) => {
  const { pool, ledger, check } = await open(t)
  let size = await check()
  for (const guilty of [[0], [6], [3, 4], [0, 2, 5], [0, 1, 2, 3, 4, 5, 6]]) {
    const entries = Array.from({ length: 7 }, (_, i) =>
      guilty.includes(i) ? makeEntry(ledger, { leaf: Buffer.alloc(32) }) : makeEntry(ledger),
    )
    const outcomes = await commitBatch(pool, entries)
    for (const [i, outcome] of outcomes.entries()) {
      if (guilty.includes(i)) {
        assert.equal(
          outcome.status === 'failed' && (outcome.error as pg.DatabaseError).constraint,
          'entries_leaf',
        )
      } else {
        assert.equal(outcome.status === 'appended' && outcome.seq, size++)
      }
    }
    assert.equal(await check(), size)
  }
})

test('a value that cannot be encoded fails alone, with a known outcome, because nothing was sent', async (t) => {
  const { pool, ledger, check } = await open(t)
  const entries = [
    makeEntry(ledger),
    makeEntry(ledger, { recordedAtMs: Number.NaN }),
    makeEntry(ledger, { version: 2 ** 31 }),
    makeEntry(ledger),
  ]
  assert.deepEqual(statusesOf(await commitBatch(pool, entries)), ['appended', 'failed', 'failed', 'appended'])
  assert.equal(await check(), FIRST_SIZE + 2)
})

test('an entry that fails only at commit is not reported as appended', async (t) => {
  const { owner, pool, ledger, check } = await open(t)
  await owner.query(`
    create function public.refuse_at_commit() returns trigger language plpgsql as $$
      begin if length(new.envelope) = 77 then raise exception 'too late' using errcode = '23000'; end if; return null; end $$;
    create constraint trigger refuse_at_commit after insert on tallystick.entries deferrable initially deferred
      for each row execute function public.refuse_at_commit()`)
  const late = makeEntry(ledger, { envelope: Buffer.alloc(77, 1) })
  const outcomes = await commitBatch(pool, [makeEntry(ledger), late, makeEntry(ledger)])
  await owner.query('drop function public.refuse_at_commit cascade')
  assert.deepEqual(statusesOf(outcomes), ['appended', 'failed', 'appended'])
  assert.equal(await check(), FIRST_SIZE + 2)
})

test('commitTogether appends all entries or none', async (t) => {
  const { pool, ledger, check } = await open(t)
  const bad = makeEntry(ledger, { leaf: Buffer.alloc(32) })
  assert.equal((await commitTogether(pool, [makeEntry(ledger), bad])).status, 'failed')
  assert.equal(await check(), FIRST_SIZE)
  assert.equal((await commitTogether(pool, [makeEntry(ledger), makeEntry(ledger)])).status, 'appended')
  assert.equal(await check(), FIRST_SIZE + 2)
})

test('a server that can’t be reached: unavailable, and appended once it can', async (t) => {
  const { proxy, proxied, ledger, check } = await open(t)
  proxy.refuse()
  assert.deepEqual(statusesOf(await commitBatch(proxied, [keyed(ledger, 'k'), makeEntry(ledger)])), [
    'unavailable',
    'unavailable',
  ])
  assert.equal(await check(), FIRST_SIZE)
  proxy.accept()
  assert.equal((await commitOne(proxied, keyed(ledger, 'k'))).status, 'appended')
  assert.equal(await check(), FIRST_SIZE + 1)
})

test('a broken idle connection is replaced without an error', async (t) => {
  const { proxy, proxied, ledger, check } = await open(t)
  await commitOne(proxied, makeEntry(ledger))
  proxy.cut()
  await sleep(20)
  assert.equal((await commitOne(proxied, makeEntry(ledger))).status, 'appended')
  assert.equal(await check(), FIRST_SIZE + 2)
})

test('cut while sending, not persisted: unknown, and a retry appends', async (t) => {
  const { proxy, proxied, ledger, check } = await open(t)
  await commitOne(proxied, makeEntry(ledger))
  let size = await check()
  for (const bytes of [0, 1, 200]) {
    const entry = keyed(ledger, `cut after ${bytes}`)
    proxy.cutAfter({ toServer: bytes })
    // `appended` is possible after 0 bytes: if the pool notices the broken connection before the call, it sends the
    // entry on a new connection.
    const expected = bytes === 0 ? ['unknown', 'appended'] : ['unknown']
    const { status } = await commitOne(proxied, entry)
    assert.ok(expected.includes(status), `${status} after ${bytes} bytes`)
    if (status === 'unknown') {
      assert.equal(await check(), size)
      assert.equal((await commitOne(proxied, entry)).status, 'appended')
    }
    assert.equal(await check(), ++size)
  }
})

test('cut anywhere in the answer, persisted: unknown, and a retry gets the first outcome', async (t) => {
  const { proxy, proxied, ledger, check } = await open(t)
  await commitOne(proxied, makeEntry(ledger))
  const before = proxy.toClientBytes
  await commitOne(proxied, makeEntry(ledger))
  const answerBytes = proxy.toClientBytes - before
  let size = await check()
  for (let bytes = 1; bytes < answerBytes; bytes += 12) {
    await commitOne(proxied, makeEntry(ledger)) // This append opens a connection and prepares the statement.
    const entry = keyed(ledger, `answer cut after ${bytes}`)
    proxy.cutAfter({ toClient: bytes })
    assert.equal((await commitOne(proxied, entry)).status, 'unknown', `cut after ${bytes} of ${answerBytes}`)
    size += 2
    assert.equal(await check(), size)
    assert.deepEqual(await commitOne(proxied, entry), { status: 'replayed', seq: size - 1 })
    assert.equal(await check(), size)
  }
  proxy.cutAfter({ toClient: answerBytes })
  assert.equal((await commitOne(proxied, makeEntry(ledger))).status, 'appended', 'a whole answer counts')
})

test('a whole batch is unknown when its answer is lost, and each entry is there', async (t) => {
  const { owner, proxy, proxied, ledger, check } = await open(t)
  await commitOne(proxied, makeEntry(ledger))
  const entries = Array.from({ length: 5 }, (_, i) => keyed(ledger, `${i}`))
  proxy.hold()
  const committing = commitBatch(proxied, entries)
  await waitForSize(owner, ledger, FIRST_SIZE + 6)
  proxy.cut()
  proxy.resume()
  assert.deepEqual(statusesOf(await committing), Array(5).fill('unknown'))
  assert.deepEqual(
    await commitBatch(proxied, entries),
    entries.map((_, i) => ({ status: 'replayed', seq: FIRST_SIZE + 1 + i })),
  )
  assert.equal(await check(), FIRST_SIZE + 6)
})

test('cut while Postgres works: unknown, though it is appended later', async (t) => {
  const { database, owner, proxy, proxied, ledger, check } = await open(t)
  const entry = keyed(ledger, 'k')
  const unlock = await lockHead(owner, ledger)
  const committing = commitOne(proxied, entry)
  const watcher = await connect(t, database.ownerUrl)
  await waitForWaiter(watcher)
  proxy.cut()
  assert.equal((await committing).status, 'unknown')
  await unlock()
  await waitForSize(owner, ledger, FIRST_SIZE + 1)
  assert.deepEqual(await commitOne(proxied, entry), { status: 'replayed', seq: FIRST_SIZE })
  assert.equal(await check(), FIRST_SIZE + 1)
})

test('a backend that is ended while it works: unknown, not persisted, and a retry appends', async (t) => {
  const { database, owner, pool, ledger, check } = await open(t)
  const entry = keyed(ledger, 'k')
  const unlock = await lockHead(owner, ledger)
  const committing = commitOne(pool, entry)
  const superuser = await connect(t, database.superuserUrl)
  await superuser.query('select pg_terminate_backend($1)', [await waitForWaiter(superuser)])
  assert.equal((await committing).status, 'unknown')
  await unlock()
  assert.equal(await check(), FIRST_SIZE)
  assert.equal((await commitOne(pool, entry)).status, 'appended')
  assert.equal(await check(), FIRST_SIZE + 1)
})

test('an answer that does not come in time is unknown', async (t) => {
  const { database, owner, ledger, check } = await open(t)
  const pool = openPool(t, database.apiUrl, { query_timeout: 100 })
  const entry = keyed(ledger, 'k')
  const unlock = await lockHead(owner, ledger)
  assert.equal((await commitOne(pool, entry)).status, 'unknown')
  await unlock()
  await check()
  const { status } = await commitOne(openPool(t, database.apiUrl), entry)
  assert.ok(status === 'appended' || status === 'replayed')
  assert.equal(await check(), FIRST_SIZE + 1)
})

test('a statement that Postgres gave up: unavailable, nothing was written', async (t) => {
  const { database, owner, ledger, check } = await open(t)
  const pool = openPool(t, database.apiUrl, { settings: { statement_timeout: 100 } })
  const unlock = await lockHead(owner, ledger)
  const outcome = await commitOne(pool, keyed(ledger, 'k'))
  assert.equal(outcome.status === 'unavailable' && (outcome.error as pg.DatabaseError).code, '57014')
  await unlock()
  assert.equal(await check(), FIRST_SIZE)
  const patient = openPool(t, database.apiUrl)
  assert.equal((await commitOne(patient, keyed(ledger, 'k'))).status, 'appended')
})

test('a read-only database, as after a failover: unavailable, and the connection is replaced', async (t) => {
  const { database, ledger, check } = await open(t)
  const superuser = await connect(t, database.superuserUrl)
  const set = (value: string) =>
    superuser.query(
      `alter role tallystick_api in database ${database.name} set default_transaction_read_only = ${value}`,
    )
  await set('on')
  const pool = openPool(t, database.apiUrl)
  const outcome = await commitOne(pool, makeEntry(ledger))
  await set('off')
  assert.equal(outcome.status === 'unavailable' && (outcome.error as pg.DatabaseError).code, '25006')
  assert.equal(await check(), FIRST_SIZE)
  assert.equal((await commitOne(pool, makeEntry(ledger))).status, 'appended', 'the old connection was kept')
})

test('a rejected password: unavailable', async (t) => {
  const { database, ledger } = await open(t)
  const url = new URL(database.apiUrl)
  url.password = 'another'
  const outcome = await commitOne(openPool(t, url.href), makeEntry(ledger))
  assert.equal(outcome.status, 'unavailable')
})

test('no free connection in time: unavailable, and nothing was sent', async (t) => {
  const { database, ledger, check } = await open(t)
  // The timeout is 1 s because on a busy machine the first connection takes a while.
  const pool = openPool(t, database.apiUrl, { max: 1, connectionTimeoutMillis: 1_000 })
  const taken = await pool.connect()
  assert.equal((await commitOne(pool, makeEntry(ledger))).status, 'unavailable')
  taken.release()
  assert.equal(await check(), FIRST_SIZE)
  assert.equal((await commitOne(pool, makeEntry(ledger))).status, 'appended')
})

test('the loser of a deadlock tries again by itself', async (t) => {
  const { database, owner, pool, ledger, check } = await open(t)
  const superuser = await connect(t, database.superuserUrl)
  const role = `alter role tallystick_api in database ${database.name}`
  await superuser.query(`${role} set deadlock_timeout = '300ms'`)
  const other = await createTestLedger(await connect(t, database.apiUrl))
  const [first, second] = [ledger, other].sort((a, b) => (a.id < b.id ? -1 : 1)) as [TestLedger, TestLedger]
  // The test locks the two heads in an order in which our own code never locks them, so that a deadlock arises.
  const unlock = await lockHead(owner, second)
  const committing = commitBatch(pool, [makeEntry(first), makeEntry(second)])
  await waitForWaiter(superuser)
  // This statement returns only after `commitBatch` has detected the deadlock and released its lock on this row.
  await owner.query('select from tallystick.chain_heads where ledger_id = $1 for update', [first.id])
  await unlock()
  assert.deepEqual(statusesOf(await committing), ['appended', 'appended'])
  await superuser.query(`${role} reset deadlock_timeout`)
  assert.equal(await check(), FIRST_SIZE + 1)
  assert.equal(await checkLedger(owner, other.id), FIRST_SIZE + 1)
})

test('an entry that always fails with 40001: unavailable after one try and three retries', async (t) => {
  const { owner, pool, ledger, check } = await open(t)
  await owner.query(`
    create sequence public.tries;
    grant usage on sequence public.tries to tallystick_api;
    create function public.lose() returns trigger language plpgsql as $$
      begin perform nextval('public.tries'); raise exception 'lost' using errcode = '40001'; end $$;
    create trigger lose before insert on tallystick.entries for each row
      when (length(new.envelope) = 78) execute function public.lose()`)
  const outcomes = await commitBatch(pool, [
    makeEntry(ledger),
    makeEntry(ledger, { envelope: Buffer.alloc(78, 1) }),
  ])
  assert.deepEqual(statusesOf(outcomes), ['unavailable', 'unavailable'])
  const { rows } = await owner.query('select last_value::int from public.tries')
  await owner.query('drop function public.lose cascade; drop sequence public.tries')
  assert.equal(rows[0].lastValue, 4)
  assert.equal(await check(), FIRST_SIZE)
})

test('an error that is not from Postgres leaves the outcome unknown', () => {
  // EPIPE has five characters, like an SQLSTATE.
  for (const code of ['EPIPE', 'ECONNRESET', 'ETIMEDOUT', '23505', undefined]) {
    assert.equal(classifyFailure(Object.assign(new Error('socket'), { code })).kind, 'unknown', code)
  }
})
