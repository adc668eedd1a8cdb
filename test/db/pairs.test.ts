import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import {
  createTestLedger,
  linkOf,
  makeEntry,
  makeIdempotency,
  outcomesOf,
  type TestEntry,
} from '../helpers/test-ledger.ts'
import { by, makeAutoVerdict, makeStep, makeWay } from '../helpers/test-steps.ts'

/* Tests pairs of entries: the worker's completion-verified, and the `auto` verdict directly behind it. */

let shared: Promise<TestDatabase> | null = null

async function open(t: TestContext) {
  shared ??= createTestDatabase(t)
  const database = await shared
  const [api, worker] = [await connect(t, database.apiUrl), await connect(t, database.workerUrl)]
  const owner = await connect(t, database.ownerUrl)
  const ledger = await createTestLedger(api)
  const makePair = async (changes: { verified?: Partial<TestEntry>; verdict?: Partial<TestEntry> } = {}) => {
    const way = makeWay(ledger, 'SUBMITTED', { gate: 'auto' })
    for (const entry of way) await appendEntries(api, [entry])
    const verified = makeStep(ledger, way.at(-1)!, 'completion-verified', changes.verified)
    return [verified, makeAutoVerdict(ledger, verified, changes.verdict)] as const
  }
  const append = async (...entries: TestEntry[]) => outcomesOf(await appendEntries(worker, entries))
  return { api, worker, owner, ledger, makePair, append, check: () => checkLedger(owner, ledger.id) }
}

test('verification and verdict are appended adjacently, among other items of the call', async (t) => {
  const { worker, owner, ledger, makePair, check } = await open(t)
  const pairs = [await makePair(), await makePair()]
  const size = await check()
  const [head] = (
    await owner.query('select chain from tallystick.chain_heads where ledger_id = $1', [ledger.id])
  ).rows
  const entries = [makeEntry(ledger), ...pairs[0]!, ...pairs[1]!, makeEntry(ledger)]
  let chain: Buffer = head.chain
  for (const [i, answer] of (await appendEntries(worker, entries)).entries()) {
    chain = linkOf(chain, entries[i]!.leaf)
    assert.deepEqual(answer, { outcome: 'appended', seq: size + i, chain: chain.toString('hex') })
  }
  assert.equal(await check(), size + 6)
  const { rows } = await owner.query(
    'select state, version, last_seq::int, revisions from tallystick.gated_records where ledger_id = $1 order by last_seq',
    [ledger.id],
  )
  assert.deepEqual(
    rows,
    [2, 4].map((after) => ({ state: 'ACCEPTED', version: 5, lastSeq: size + after, revisions: 0 })),
  )
})

test('a pair of DISCREPANT and REJECTED is appended', async (t) => {
  const { makePair, append, check } = await open(t)
  const pair = await makePair({ verified: { toState: 'DISCREPANT' }, verdict: { toState: 'REJECTED' } })
  assert.deepEqual(await append(...pair), ['appended', 'appended'])
  await check()
})

test('neither of a pair is appended if the other is refused', async (t) => {
  const { ledger, makePair, append, check } = await open(t)
  const wrong: [string[], Awaited<ReturnType<typeof makePair>>][] = [
    [['again', 'refused_party'], await makePair({ verdict: { toState: 'REJECTED' } })],
    [['again', 'refused_party'], await makePair({ verified: { toState: 'DISCREPANT' } })],
    [['again', 'refused_state'], await makePair({ verdict: { toState: 'CANCELLED' } })],
    [['again', 'refused_clock'], await makePair({ verdict: { recordedAtMs: 0 } })],
    [['again', 'stale'], await makePair({ verdict: { kid: randomBytes(32) } })],
    [['refused_clock', 'again'], await makePair({ verified: { recordedAtMs: 0 } })],
    [['refused_party', 'again'], await makePair({ verified: by(ledger.agentId) })],
    [['stale', 'again'], await makePair({ verified: { previousLeaf: randomBytes(32) } })],
  ]
  const size = await check()
  for (const [outcomes, pair] of wrong) assert.deepEqual(await append(...pair), outcomes)
  const all = [makeEntry(ledger), ...wrong.flatMap(([, pair]) => pair)]
  assert.deepEqual(await append(...all), ['appended', ...wrong.flatMap(([outcomes]) => outcomes)])
  assert.equal(await check(), size + 1)
})

test('the entries of a refused pair may be appended one by one', async (t) => {
  const { makePair, append, check } = await open(t)
  const [verified, verdict] = await makePair({ verdict: { toState: 'REJECTED' } })
  assert.deepEqual(await append(verified, verdict), ['again', 'refused_party'])
  assert.deepEqual(await append(verified), ['appended'])
  assert.deepEqual(await append({ ...verdict, toState: 'ACCEPTED' }), ['appended'])
  await check()
})

test('two entries that are not adjacent or not linked are decided separately', async (t) => {
  const { ledger, makePair, append, check } = await open(t)
  const other = await makePair()
  const cases: [string[], readonly TestEntry[]][] = []
  const [first, second] = await makePair()
  cases.push([
    ['appended', 'appended', 'again'],
    [first, makeEntry(ledger), second],
  ])
  const [third, fourth] = await makePair()
  cases.push([
    ['refused_state', 'again'],
    [fourth, third],
  ])
  for (const verdict of [
    { previousLeaf: randomBytes(32) },
    { previousLeaf: null },
    { version: 6 },
    { version: 4 },
    by(ledger.agentId),
  ]) {
    cases.push([['appended', 'again'], await makePair({ verdict })])
  }
  for (const [outcomes, items] of cases) assert.deepEqual(await append(...items), outcomes)
  // A verification and a verdict of two different records are not a pair. So each entry is decided separately.
  const [verified] = await makePair()
  assert.deepEqual(await append(verified, other[1]), ['appended', 'refused_state'])
  await check()
})

test('of a pair and a third item for one record in a call, the later gets again', async (t) => {
  const { ledger, makePair, append, check } = await open(t)
  const pair = await makePair()
  const another = makeStep(
    ledger,
    { ...pair[0], version: 3, leaf: pair[0].previousLeaf! },
    'completion-verified',
  )
  assert.deepEqual(await append(another, ...pair), ['appended', 'again', 'again'])
  const next = await makePair()
  assert.deepEqual(await append(...next, ...next), ['appended', 'appended', 'again', 'again'])
  await check()
})

test('the API’s login may append neither the pair nor its verdict: refused_kind', async (t) => {
  const { api, makePair, check } = await open(t)
  const pair = await makePair()
  const size = await check()
  assert.deepEqual(outcomesOf(await appendEntries(api, [...pair])), ['refused_kind', 'again'])
  assert.deepEqual(outcomesOf(await appendEntries(api, [pair[1]])), ['refused_kind'])
  assert.equal(await check(), size)
})

test('a frozen ledger refuses both entries of a pair with refused_frozen', async (t) => {
  const { owner, ledger, makePair, append, check } = await open(t)
  const pair = await makePair()
  const freeze = (on: boolean) => owner.query('select tallystick.set_ledger_frozen($1, $2)', [ledger.id, on])
  await freeze(true)
  assert.deepEqual(await append(...pair), ['refused_frozen', 'refused_frozen'])
  await freeze(false)
  assert.deepEqual(await append(...pair), ['appended', 'appended'])
  await check()
})

test('a replayed key in the call does not affect a pair next to it', async (t) => {
  const { ledger, makePair, append, check } = await open(t)
  const keyed = () => makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') })
  await append(keyed())
  assert.deepEqual(await append(keyed(), ...(await makePair()), keyed()), [
    'replayed',
    'appended',
    'appended',
    'replayed',
  ])
  await check()
})
