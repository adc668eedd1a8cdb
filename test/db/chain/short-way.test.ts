import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { firstRecordId } from '../../../src/proof/statement/batch-ids.ts'
import { checkLedger } from '../../helpers/check-ledger.ts'
import { connect } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { runs } from '../../helpers/runs.ts'
import {
  adminEntry,
  createTestLedger,
  makeBatch,
  makeChunks,
  makeEntry,
  makeIdempotency,
  makeItem,
  makeRecord,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../../helpers/test-ledger.ts'

/*
 * append_entries has a fast path for calls that only notarize. The test sends the same items to two ledgers. For one
 * ledger, the call also has a refused item, which prevents the fast path. Both calls must have the same results and
 * store the same rows.
 */

const SECOND_MS = 1_000

/** Generates a value of `arbitrary` in one of `many` cases, otherwise null. */
const oneIn = <T>(many: number, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: many - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

const item = fc.record({
  records: fc.constantFrom(1, 1, 1, 3, 66),
  /** Index of a shared id; null for a new id. */
  subject: oneIn(6, fc.nat(3)),
  key: oneIn(2, fc.nat(3)),
  request: fc.constantFrom('a', 'a', 'a', 'b'),
  defect: oneIn(
    8,
    fc.constantFrom(
      ...['kid', 'clock', 'state', 'previous', 'system', 'references'],
      ...['count', 'chunkless', 'both', 'gap', 'twin'],
    ),
  ),
})
type Item = typeof item extends fc.Arbitrary<infer T> ? T : never

const call = fc.array(item, { minLength: 1, maxLength: 6 })

test('property: the short path of append_entries decides and stores like the long path', async (t) => {
  const database = await createTestDatabase(t)
  const [api, owner] = [await connect(t, database.apiUrl), await connect(t, database.ownerUrl)]
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(null, null, null, 'frozen', 'restored'),
      async (calls, closed) => {
        const [short, long] = [await createTestLedger(api), await createTestLedger(api)]
        if (closed !== null) {
          const ids = [short.id, long.id]
          await owner.query('update tallystick.chain_heads set closed = $1 where ledger_id = any ($2)', [
            closed,
            ids,
          ])
        }
        const subjects = Array.from({ length: 4 }, randomId)
        for (const items of calls) {
          const made = items.map((one) => describe(one, subjects))
          const taken = await answersOf(
            api,
            made.map((one) => one(short)),
          )
          const compared = await answersOf(api, [...made.map((one) => one(long)), nobodyTakes(long)])
          assert.deepEqual(taken, Array.isArray(compared) ? compared.slice(0, -1) : compared)
        }
        assert.deepEqual(await contentsOf(owner, short), await contentsOf(owner, long))
        await checkLedger(owner, short.id)
      },
    ),
    { numRuns: runs(400), endOnFailure: true },
  )
})

test('the short path fails the whole call if an entry violates a constraint', async (t) => {
  const database = await createTestDatabase(t)
  const [api, owner] = [await connect(t, database.apiUrl), await connect(t, database.ownerUrl)]
  const ledger = await createTestLedger(api)
  const first = makeEntry(ledger)
  await appendEntries(api, [first])
  const offences: [TestEntry, RegExp][] = [
    [makeEntry(ledger, { subjectId: first.subjectId }), /records_pkey/],
    [makeEntry(ledger, { records: [] }), /must come with their rows/],
    [makeEntry(ledger, { records: [makeRecord(randomId())] }), /about it/],
    [makeEntry(ledger, { leaf: randomBytes(32) }), /entries_leaf/],
    [makeBatch(ledger, 2, { kind: 'record-notarized', itemCount: null }), /as many records as it says/],
    [makeBatch(ledger, 2, { itemCount: 3 }), /as many records as it says/],
    [makeBatch(ledger, 2, { chunks: [] }), /must come with their rows/],
  ]
  for (const [entry, message] of offences) {
    await assert.rejects(appendEntries(api, [entry]), message)
    await assert.rejects(appendEntries(api, [makeEntry(ledger), entry]), message)
  }
  assert.equal(await checkLedger(owner, ledger.id), 4)
})

/**
 * Returns a function that makes an entry for a ledger. The entries for both ledgers are equal except for random
 * members.
 */
function describe(one: Item, subjects: readonly TestEntry['subjectId'][]): (ledger: TestLedger) => TestEntry {
  const subjectId = one.subject === null ? randomId() : subjects[one.subject]!
  const record = makeRecord(subjectId, one.defect === 'references' ? { references: '["crm:1"]' } : {})
  const items = Array.from({ length: one.records }, () => makeItem())
  const first = firstRecordId(one.defect === 'twin' ? subjects[0]! : randomId())
  const envelope = randomBytes(120)
  const idempotency = one.key === null ? null : makeIdempotency(`key ${one.key}`, one.request)
  const recordedAtMs = Date.now() - (one.defect === 'clock' ? 60 * SECOND_MS : 0)
  const keyId = randomId()
  return (ledger) => {
    const chunks = makeChunks(ledger, first, items)
    return makeEntry(ledger, {
      ...(one.records === 1
        ? { records: [record] }
        : { kind: 'batch-notarized', records: [], itemCount: one.records, chunks }),
      subjectId,
      keyId,
      envelope,
      idempotency,
      recordedAtMs,
      ...(one.defect === 'kid' && { kid: Buffer.alloc(32) }),
      ...(one.defect === 'state' && { toState: 'CREATED' }),
      ...(one.defect === 'previous' && { previousLeaf: Buffer.alloc(32) }),
      ...(one.defect === 'system' && { actorId: null }),
      ...(one.defect === 'count' && { itemCount: one.records + 1 }),
      ...(one.defect === 'chunkless' && { chunks: [] }),
      ...(one.defect === 'both' && { records: [record], chunks }),
      ...(one.defect === 'gap' && { chunks: chunks.slice(1) }),
    })
  }
}

/** Returns the outcomes and seqs. If the call violates a constraint, returns the constraint's name instead. */
async function answersOf(api: pg.Client, entries: readonly TestEntry[]) {
  try {
    return (await appendEntries(api, entries)).map(({ outcome, seq }) => ({ outcome, seq }))
  } catch (error) {
    return (error as pg.DatabaseError).constraint
  }
}

/** Returns an entry that only the worker's login may append. This test uses the API's login, which is refused. */
function nobodyTakes(ledger: TestLedger): TestEntry {
  return adminEntry(ledger, 'server-key-rotated', randomId(), {})
}

async function contentsOf(owner: pg.Client, { id }: TestLedger) {
  const { rows } = await owner.query(
    `select e.seq, e.kind, e.subject_id, e.version, e.item_count, e.prev_seq, e.key_id, e.recorded_at, e.leaf, e.envelope,
       (select json_agg(to_jsonb(r) - 'ledger_id' - 'actor_id' order by r.record_id)
         from tallystick.records r where r.ledger_id = e.ledger_id and r.first_seq = e.seq) as records,
       (select json_agg(to_jsonb(c) - 'ledger_id' order by c.chunk)
         from tallystick.batch_chunks c where c.ledger_id = e.ledger_id and c.seq = e.seq) as chunks,
       (select json_agg(array[encode(case when substr(k.key, 1, 1) = 'A' then 'A' else k.key end, 'hex'), k.chunk::text] order by k.key, k.chunk)
         from tallystick.batch_keys k where k.ledger_id = e.ledger_id and k.seq = e.seq) as chunk_keys,
       (select json_agg(to_jsonb(k) - 'ledger_id' - 'actor_id') from tallystick.idempotency_keys k
         where k.ledger_id = e.ledger_id and k.seq = e.seq) as keys
     from tallystick.entries e where e.ledger_id = $1 and e.seq >= 3 order by e.seq`,
    [id],
  )
  return rows
}
