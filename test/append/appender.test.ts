import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Appender } from '../../src/append/appender.ts'
import {
  ANSWERS_PER_SLICE_MAX,
  APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX,
  APPEND_CONNECTIONS,
  APPEND_WAIT_MS_MAX,
} from '../../src/append/limits.ts'
import type { EntryRow } from '../../src/db/chain/append-entries.ts'
import { openWritePool } from '../../src/db/connect/pools.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect, testDatabase } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import {
  adminEntry,
  createTestLedger,
  makeEntry,
  makeIdempotency,
  randomId,
  type TestLedger,
} from '../helpers/test-ledger.ts'
import { makeCreation, makeStep } from '../helpers/test-steps.ts'

const FIRST_SIZE = 3

let shared: Promise<TestDatabase> | null = null

async function open(t: TestContext) {
  shared ??= createTestDatabase(t)
  const database = await shared
  const [owner, locker] = [await connect(t, database.ownerUrl), await connect(t, database.ownerUrl)]
  const api = await connect(t, database.apiUrl)
  const pool = openWritePool(testDatabase(database.apiUrl), { warn: () => {} })
  const appender = new Appender(pool)
  t.after(async () => {
    await appender.close()
    await pool.end()
  })
  const ledger = await createTestLedger(api)
  return { database, owner, locker, api, appender, ledger, check: () => checkLedger(owner, ledger.id) }
}

/**
 * Occupies every connection: each one appends an entry to a ledger whose head is locked. The returned `release` unlocks
 * the heads, so that the entries commit.
 */
async function holdBatch(t: TestContext, about: { locker: pg.Client; api: pg.Client; appender: Appender }) {
  await about.locker.query('begin')
  const firsts: ReturnType<Appender['append']>[] = []
  for (let lane = 0; lane < APPEND_CONNECTIONS; lane++) {
    const ledger = await createTestLedger(about.api)
    const id = ledger.id
    await about.locker.query('select from tallystick.chain_heads where ledger_id = $1 for update', [id])
    firsts.push(about.appender.append(makeEntry(ledger)))
    while (about.appender.queued.entries > 0) await sleep(1)
  }
  let held = true
  const release = async () => {
    if (held) await about.locker.query('rollback')
    held = false
    return (await Promise.all(firsts))[0]!
  }
  t.after(release)
  return { release }
}

/**
 * Returns the number of the transaction that appended each seq, beginning at `from`. Transactions are counted from 0.
 */
async function transactionsOf(owner: pg.Client, ledger: TestLedger, from = FIRST_SIZE): Promise<number[]> {
  const { rows } = await owner.query(
    `select dense_rank() over (order by xmin::text::bigint)::int - 1 as n from tallystick.entries
     where ledger_id = $1 and seq >= $2 order by seq`,
    [ledger.id, from],
  )
  return rows.map((row) => row.n)
}

const keyed = (ledger: TestLedger, key: string): EntryRow =>
  makeEntry(ledger, { idempotency: makeIdempotency(key, 'request') })

test('entries that arrive during a commit share the next batch', async (t) => {
  const { database, owner, locker, api, appender, ledger, check } = await open(t)
  const superuser = await connect(t, database.superuserUrl)
  const held = await holdBatch(t, { locker, api, appender })
  const pending = Array.from({ length: 30 }, () => appender.append(makeEntry(ledger)))
  const countWriters = async (): Promise<number> => {
    const { rows } = await superuser.query(
      `select count(*)::int from pg_stat_activity where datname = current_database()
       and state = 'active' and application_name = 'tallystick write'`,
    )
    return rows[0].count
  }
  while ((await countWriters()) < APPEND_CONNECTIONS) await sleep(1)
  await sleep(30)
  assert.equal(appender.queued.entries, 30, 'each lane has one batch in flight, and no other')
  assert.equal(await countWriters(), APPEND_CONNECTIONS)
  assert.equal((await held.release()).status, 'appended')
  await Promise.all(pending)
  assert.deepEqual(await transactionsOf(owner, ledger), Array(30).fill(0))
  assert.equal(await check(), FIRST_SIZE + 30)
})

test('entries that arrive in one turn of the event loop share a batch, even when idle', async (t) => {
  const { owner, appender, ledger } = await open(t)
  await Promise.all(Array.from({ length: 20 }, () => appender.append(makeEntry(ledger))))
  assert.deepEqual(await transactionsOf(owner, ledger), Array(20).fill(0))
})

test('an idle appender commits each entry by itself', async (t) => {
  const { owner, appender, ledger, check } = await open(t)
  for (let i = 0; i < 20; i++) await appender.append(makeEntry(ledger))
  assert.deepEqual(
    await transactionsOf(owner, ledger),
    Array.from({ length: 20 }, (_, i) => i),
  )
  assert.equal(await check(), FIRST_SIZE + 20)
})

test('settles every promise once, each with its own position', async (t) => {
  const { api, appender, ledger, check } = await open(t)
  const other = await createTestLedger(api)
  const seqs = new Map<TestLedger, number[]>([
    [ledger, []],
    [other, []],
  ])
  const append = async (about: TestLedger) => {
    const outcome = await appender.append(makeEntry(about))
    assert.ok(outcome.status === 'appended')
    seqs.get(about)!.push(outcome.seq - FIRST_SIZE)
  }
  await Promise.all(Array.from({ length: 700 }, () => [append(ledger), append(other)]).flat())
  for (const taken of seqs.values())
    assert.deepEqual(
      taken.sort((a, b) => a - b),
      Array.from({ length: 700 }, (_, i) => i),
    )
  assert.equal(await check(), FIRST_SIZE + 700)
})

test('administrative entries share no batch with another ledger, and only few share one batch', async (t) => {
  const { owner, locker, api, appender, ledger } = await open(t)
  const other = await createTestLedger(api)
  const held = await holdBatch(t, { locker, api, appender })
  const name = () => randomId()
  const agent = () => appender.append(adminEntry(ledger, 'agent-registered', randomId(), { name: name() }))
  const few = APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX
  const all = [appender.append(makeEntry(ledger)), ...Array.from({ length: few + 1 }, agent)]
  all.push(appender.append(makeEntry(other)), appender.append(makeEntry(ledger)))
  assert.equal(appender.queued.entries, few + 4)
  await held.release()
  for (const outcome of await Promise.all(all)) assert.equal(outcome.status, 'appended')
  assert.equal(appender.queued.entries, 0)
  const inBatches = await transactionsOf(owner, ledger)
  assert.deepEqual(inBatches, [0, ...Array(few).fill(1), 2, 3])
})

test('a ledger with many waiting entries does not delay a ledger with few', async (t) => {
  const { owner, locker, api, appender, ledger } = await open(t)
  const shallow = await createTestLedger(api)
  const held = await holdBatch(t, { locker, api, appender })
  const deep = Array.from({ length: 2_000 }, () => appender.append(makeEntry(ledger)))
  const few = Array.from({ length: 3 }, () => appender.append(makeEntry(shallow)))
  await held.release()
  await Promise.all([...few, ...deep])
  const { rows } = await owner.query(
    `select count(distinct xmin::text) as before from tallystick.entries
     where ledger_id = $1 and seq >= $3 and xmin::text::bigint < (
       select max(xmin::text::bigint) from tallystick.entries where ledger_id = $2 and seq >= $3)`,
    [ledger.id, shallow.id, FIRST_SIZE],
  )
  // One transaction may come before the shallow ledger's: two batches run at the same time, and the second batch may
  // get the lower transaction number.
  assert.ok(Number(rows[0].before) <= 1, 'the shallow ledger was in the first batch')
})

test('the answers of one batch are sent in slices, so that other requests are read in between', async (t) => {
  const { appender, ledger } = await open(t)
  let turn = 0
  let isDone = false
  const count = () => {
    turn++
    if (!isDone) setImmediate(count)
  }
  const turns = Array.from({ length: 2 * ANSWERS_PER_SLICE_MAX }, async () => {
    await appender.append(makeEntry(ledger))
    return turn
  })
  setImmediate(count)
  const counts = Map.groupBy(await Promise.all(turns), (turn) => turn)
  isDone = true
  for (const answered of counts.values()) assert.ok(answered.length <= ANSWERS_PER_SLICE_MAX)
})

test('a locked head of one ledger delays no other ledger', async (t) => {
  const { locker, api, appender, ledger, check } = await open(t)
  const stuck = await createTestLedger(api)
  await locker.query('begin')
  await locker.query('select from tallystick.chain_heads where ledger_id = $1 for update', [stuck.id])
  const waiting = Array.from({ length: 50 }, () => appender.append(makeEntry(stuck)))
  await sleep(20)
  for (let i = 0; i < 20; i++) assert.equal((await appender.append(makeEntry(ledger))).status, 'appended')
  assert.equal(await check(), FIRST_SIZE + 20)
  await locker.query('rollback')
  for (const outcome of await Promise.all(waiting)) assert.equal(outcome.status, 'appended')
})

test('a second entry for the same record or key goes first in the next batch', async (t) => {
  const { owner, locker, api, appender, ledger, check } = await open(t)
  const held = await holdBatch(t, { locker, api, appender })
  const record = makeCreation(ledger)
  const step = makeStep(ledger, record, 'record-activated')
  const third = makeStep(ledger, step, 'completion-submitted')
  const items = [record, keyed(ledger, 'k'), step, keyed(ledger, 'k'), third, makeEntry(ledger)]
  const pending = Promise.all(items.map((item) => appender.append(item)))
  await held.release()
  const outcomes = await pending
  assert.deepEqual(
    outcomes.map((outcome) => [outcome.status, 'seq' in outcome ? outcome.seq - FIRST_SIZE : null]),
    [
      ['appended', 0],
      ['appended', 1],
      ['appended', 3],
      ['replayed', 1],
      ['appended', 4],
      ['appended', 2],
    ],
  )
  assert.deepEqual(await transactionsOf(owner, ledger), [0, 0, 0, 1, 2])
  assert.equal(await check(), FIRST_SIZE + 5)
})

test('an entry that Postgres refuses does not fail other entries of its batch', async (t) => {
  const { locker, api, appender, ledger, check } = await open(t)
  const held = await holdBatch(t, { locker, api, appender })
  const items = Array.from({ length: 40 }, (_, i) =>
    i % 13 === 5 ? makeEntry(ledger, { leaf: Buffer.alloc(32) }) : makeEntry(ledger),
  )
  const pending = Promise.all(items.map((item) => appender.append(item)))
  await held.release()
  const statuses = (await pending).map((outcome) => outcome.status)
  assert.deepEqual(
    statuses,
    items.map((_, i) => (i % 13 === 5 ? 'failed' : 'appended')),
  )
  assert.equal(await check(), FIRST_SIZE + 37)
})

test('refuses entries at once as overloaded behind a batch in flight for too long', async (t) => {
  const { locker, api, appender, ledger } = await open(t)
  const held = await holdBatch(t, { locker, api, appender })
  assert.equal(await Promise.race([appender.append(makeEntry(ledger)), sleep(20, 'taken')]), 'taken')
  await sleep(APPEND_WAIT_MS_MAX + 100)
  assert.equal((await appender.append(makeEntry(ledger))).status, 'overloaded')
  await held.release()
})

test('close refuses new entries and returns after all accepted entries are committed', async (t) => {
  const { locker, api, appender, ledger, check } = await open(t)
  const held = await holdBatch(t, { locker, api, appender })
  let settled = 0
  for (let i = 0; i < 1_000; i++) {
    void appender.append(makeEntry(ledger)).then((outcome) => {
      if (outcome.status === 'appended') settled++
    })
  }
  const closing = Promise.all([appender.close(), appender.close()])
  assert.equal((await appender.append(makeEntry(ledger))).status, 'unavailable')
  await held.release()
  await closing
  assert.equal(settled, 1_000)
  assert.equal(await check(), FIRST_SIZE + 1_000)
  await appender.close()
})

test('with random connection faults, every entry settles once, and a retry replays the first result', async (t) => {
  const { database, owner, api } = await open(t)
  const proxy = await startTcpProxy(t, database.apiUrl)
  const pool = openWritePool(testDatabase(proxy.url), { warn: () => {} })
  const appender = new Appender(pool)
  const ledgers = [await createTestLedger(api), await createTestLedger(api)]
  const seen = new Set<string>()
  const seqs = new Map<string, number>()
  let working = true
  const isAllSeen = () => seen.has('unknown') && seen.has('replayed')

  const client = async (name: number) => {
    for (let i = 0; i < 40 || (i < 400 && !isAllSeen()); i++) {
      const ledger = ledgers[(name + i) % ledgers.length]!
      const entry = keyed(ledger, `${name} ${i}`)
      for (;;) {
        const outcome = await appender.append({ ...entry, recordedAtMs: Date.now() })
        seen.add(outcome.status)
        if (outcome.status === 'appended' || outcome.status === 'replayed') {
          const at = `${ledger.id} ${outcome.seq}`
          assert.ok(!seqs.has(at), 'two requests were answered with the same entry')
          seqs.set(at, i)
          break
        }
        assert.ok(outcome.status === 'unknown' || outcome.status === 'unavailable', outcome.status)
        await sleep(1)
      }
    }
  }
  const cutting = (async () => {
    while (working) {
      // The pause is usually short and sometimes long. With a constant pause, almost no append would succeed on a slow
      // machine.
      await sleep(5 + Math.random() ** 3 * 150)
      const bytes = Math.floor(Math.random() * 3_000)
      if (Math.random() < 0.4) proxy.cutAfter({ toServer: bytes })
      else if (Math.random() < 0.7) proxy.cutAfter({ toClient: bytes >> 2 })
      else proxy.cut()
    }
  })()
  await Promise.all(Array.from({ length: 16 }, (_, name) => client(name)))
  working = false
  await cutting
  await appender.close()
  await pool.end()
  let entries = 0
  for (const ledger of ledgers) entries += (await checkLedger(owner, ledger.id)) - FIRST_SIZE
  assert.equal(entries, seqs.size, 'nothing lost, nothing doubled')
  assert.ok(seqs.size >= 16 * 40)
  assert.ok(isAllSeen(), `${[...seen]}`)
})
