import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import type { EntryDetail } from '../../src/db/chain/entry-details.ts'
import { STATEMENT } from '../../src/proof/statement/kinds.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import {
  adminEntry,
  createTestLedger,
  leafOf,
  makeEntry,
  outcomesOf,
  type TestEntry,
  type TestLedger,
} from '../helpers/test-ledger.ts'

/* Tests pairs of entries: a statement from outside, and the entry directly behind it that registers the statement. */

let shared: Promise<TestDatabase> | null = null

async function open(t: TestContext) {
  shared ??= createTestDatabase(t)
  const database = await shared
  const [api, owner] = [await connect(t, database.apiUrl), await connect(t, database.ownerUrl)]
  const ledger = await createTestLedger(api)
  const policy = adminEntry(ledger, 'registration-policy-set', ledger.id, {})
  await appendEntries(api, [policy])
  const append = async (...entries: TestEntry[]) => outcomesOf(await appendEntries(api, entries))
  return { api, owner, ledger, policy, append, check: () => checkLedger(owner, ledger.id) }
}

function makeRegistration(
  ledger: TestLedger,
  policy: TestEntry,
  changes: Partial<TestEntry> = {},
  said: object = {},
): TestEntry {
  const statement = changes.statement ?? randomBytes(120)
  const detail = {
    ...{
      policy: Buffer.from(policy.leaf).toString('hex'),
      issuer: 'i',
      subject: 's',
      contentType: 'c',
      kid: '6b',
    },
    ...said,
  }
  return makeEntry(ledger, {
    kind: 'statement-registered',
    version: null,
    toState: null,
    records: [],
    previousLeaf: leafOf(statement),
    statement,
    detail: detail as EntryDetail,
    ...changes,
  })
}

test('statement and registration are appended adjacently, among other items of the call', async (t) => {
  const { ledger, owner, policy, check, api } = await open(t)
  const size = await check()
  const registrations = [makeRegistration(ledger, policy), makeRegistration(ledger, policy)]
  const answers = await appendEntries(api, [makeEntry(ledger), ...registrations, makeEntry(ledger)])
  assert.deepEqual(
    answers.map(({ outcome, seq }) => [outcome, seq - size]),
    [0, 2, 4, 5].map((place) => ['appended', place]),
  )
  assert.equal(await check(), size + 6)
  const { rows } = await owner.query(
    `select e.kind, e.prev_seq::int, e.subject_id, s.seq::int from tallystick.entries e
     left join tallystick.statements s on s.ledger_id = e.ledger_id and s.seq = e.seq
     where e.ledger_id = $1 and e.seq > $2 and e.seq < $2 + 5 order by e.seq`,
    [ledger.id, size],
  )
  assert.deepEqual(
    rows,
    registrations.flatMap(({ subjectId }, i) => {
      const at = size + 1 + 2 * i
      return [
        { kind: 'statement', prevSeq: null, subjectId, seq: at },
        { kind: 'statement-registered', prevSeq: at, subjectId, seq: null },
      ]
    }),
  )
})

test('half a pair, or two entries that do not belong together, get refused_kind', async (t) => {
  const { ledger, policy, append, check } = await open(t)
  const size = await check()
  const { statement, ...alone } = makeRegistration(ledger, policy)
  const half = makeEntry(ledger, {
    kind: STATEMENT,
    subjectId: alone.subjectId,
    version: null,
    toState: null,
    records: [],
    envelope: statement!,
  })
  assert.deepEqual(await append(alone), ['refused_kind'])
  assert.deepEqual(await append(half), ['refused_kind'])
  assert.deepEqual(await append(alone, half), ['refused_kind', 'refused_kind'])
  assert.deepEqual(await append(half, makeEntry(ledger), alone), ['refused_kind', 'appended', 'refused_kind'])
  assert.deepEqual(await append(half, { ...alone, previousLeaf: randomBytes(32) }), [
    'refused_kind',
    'refused_kind',
  ])
  const other = await createTestLedger((await open(t)).api)
  assert.deepEqual(await append(half, { ...alone, ledgerId: other.id, kid: other.kid }), [
    'refused_kind',
    'refused_kind',
  ])
  assert.deepEqual(await append(half, half, alone), ['refused_kind', 'appended', 'appended'])
  assert.equal(await check(), size + 3)
})

test('a registration with another kid is stale, with a wrong clock refused_clock, and neither entry is appended', async (t) => {
  const { ledger, policy, append, check } = await open(t)
  const size = await check()
  assert.deepEqual(await append(makeRegistration(ledger, policy, { kid: randomBytes(32) })), ['stale'])
  assert.deepEqual(await append(makeRegistration(ledger, policy, { recordedAtMs: Date.now() - 60_000 })), [
    'refused_clock',
  ])
  assert.equal(await check(), size)
})

test('a registration under an older policy, or of a registered statement, is refused', async (t) => {
  const { ledger, policy, append, check } = await open(t)
  const first = makeRegistration(ledger, policy)
  assert.deepEqual(await append(first), ['appended'])
  const size = await check()
  const again = makeRegistration(ledger, policy, { statement: first.statement! })
  await assert.rejects(append(again), { constraint: 'statements_ledger_id_leaf_key' })
  const next = adminEntry(ledger, 'registration-policy-set', ledger.id, {})
  // A new policy also applies to later items of the call in which it is set.
  await assert.rejects(append(next, makeRegistration(ledger, policy)), { constraint: 'statements_policy' })
  assert.deepEqual(await append(next, makeRegistration(ledger, next)), ['appended', 'appended'])
  await assert.rejects(append(makeRegistration(ledger, policy)), { constraint: 'statements_policy' })
  assert.equal(await check(), size + 3)
})

test('a registration without an issuer is refused', async (t) => {
  const { ledger, policy, append } = await open(t)
  await assert.rejects(append(makeRegistration(ledger, policy, {}, { issuer: null })), /null value/)
})
