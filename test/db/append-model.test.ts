import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type pg from 'pg'
import { type AppendAnswer, appendEntries } from '../../src/db/append-entries.ts'
import { toUuid } from '../../src/db/uuid.ts'
import { AppendModel, hex, type ModelLedger } from '../helpers/append-model.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import {
  addTestStep,
  firstEntries,
  makeBatch,
  makeEntry,
  makeIdempotency,
  makeStep,
  randomId,
  sha256,
  type TestEntry,
  type TestLedger,
} from '../helpers/test-ledger.ts'

const LEDGERS = 3
const DEFECTS = ['kid', 'clock', 'previous', 'version', 'state', 'ledger', 'kind', 'worker', 'event'] as const
const MINUTE_MS = 60_000

/** What fast-check makes; an item's numbers pick among what is there when it is its turn. */
const itemArbitrary = fc.record({
  ledger: fc.nat({ max: LEDGERS - 1 }),
  shape: fc.oneof(
    { weight: 3, arbitrary: fc.constant('one' as const) },
    { weight: 1, arbitrary: fc.constant('batch' as const) },
    { weight: 5, arbitrary: fc.constant('step' as const) },
    { weight: 1, arbitrary: fc.constant('first' as const) },
  ),
  actor: fc.nat({ max: 1 }),
  key: fc.option(fc.nat({ max: 5 }), { freq: 2 }),
  request: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
  record: fc.nat({ max: 7 }),
  defect: fc.option(fc.constantFrom(...DEFECTS), { freq: 2 }),
})
type Item = typeof itemArbitrary extends fc.Arbitrary<infer T> ? T : never
const callsArbitrary = fc.array(fc.array(itemArbitrary, { minLength: 1, maxLength: 10 }), {
  minLength: 1,
  maxLength: 14,
})

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.ownerUrl)
  await addTestStep(owner)
  return { database, owner, api: await connect(t, database.apiUrl) }
}

const makeLedgers = (count: number): TestLedger[] =>
  Array.from({ length: count }, () => ({
    id: randomId(),
    agentId: randomId(),
    keyId: randomId(),
    kid: randomBytes(32),
  }))

test('any calls end as if their items had come one after another', async (t) => {
  const { owner, api } = await open(t)
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(callsArbitrary, async (calls) => {
      const ledgers = makeLedgers(LEDGERS)
      const model = new AppendModel()
      for (const ledger of ledgers) {
        await appendBoth(api, model, await firstEntries(api, ledger))
      }
      for (const call of calls) {
        const items = call.map((item) => makeItem(item, ledgers, model))
        const answers = await appendBoth(api, model, items)
        for (const answer of answers) seen.add(answer.outcome)
        for (const ledger of ledgers) await compare(owner, ledger, model.ledgers.get(hex(ledger.id))!)
      }
      for (const ledger of ledgers) await checkLedger(owner, ledger.id)
    }),
    { numRuns: 60 },
  )
  assert.equal(seen.size, 9, `the calls lead to every outcome: ${[...seen]}`)
})

test('calls of four connections at once leave one dense, linked chain, and take each key once', async (t) => {
  const { database, owner } = await open(t)
  const clients = await Promise.all([0, 1, 2, 3].map(() => connect(t, database.apiUrl)))
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(callsArbitrary, callsArbitrary, callsArbitrary, callsArbitrary),
      async (all) => {
        const ledgers = makeLedgers(LEDGERS)
        const start = new AppendModel()
        for (const ledger of ledgers)
          await appendBoth(clients[0]!, start, await firstEntries(clients[0]!, ledger))
        const done = await Promise.all(
          all.map(async (calls, i) => {
            // Each connection knows its own records; keys, ledgers and chains are everybody's.
            const own = new AppendModel()
            for (const [id, ledger] of start.ledgers) own.ledgers.set(id, { ...ledger, records: new Map() })
            const results: [TestEntry, AppendAnswer][] = []
            for (const call of calls) {
              const items = call.map((item) => makeItem(item, ledgers, own))
              const answers = await appendEntries(clients[i]!, items)
              for (const [n, item] of items.entries()) {
                results.push([item, answers[n]!])
                if (answers[n]!.outcome === 'appended') remember(own, item)
              }
            }
            return results
          }),
        )
        await judge(owner, ledgers, done.flat())
      },
    ),
    { numRuns: 12 },
  )
})

/** Outcomes, seqs and chains of a call are the model's. */
async function appendBoth(api: pg.Client, model: AppendModel, items: TestEntry[]): Promise<AppendAnswer[]> {
  const answers = await appendEntries(api, items)
  const expected = model.append(items)
  for (const [i, answer] of answers.entries()) {
    const { outcome, seq } = expected[i]!
    const ledger = model.ledgers.get(hex(items[i]!.ledgerId))
    const chain = outcome === 'appended' ? ledger!.entries[seq]!.chain : '0'.repeat(64)
    assert.deepEqual(answer, { outcome, seq, chain }, `item ${i} of ${items.length}: ${items[i]!.kind}`)
  }
  return answers
}

function makeItem(item: Item, ledgers: TestLedger[], model: AppendModel): TestEntry {
  const ledger = { ...ledgers[item.ledger]! }
  const idempotency = item.key === null ? null : makeIdempotency(`${item.key}`, `${item.request}`)
  const about = { actorId: sha256(ledger.id, Buffer.of(item.actor)).subarray(0, 16), idempotency }
  return spoil(item, { ...shape(item, ledger, model), ...about })
}

function shape(item: Item, ledger: TestLedger, model: AppendModel): TestEntry {
  if (item.shape === 'batch') return makeBatch(ledger, 1 + item.record)
  if (item.shape === 'first') {
    return makeEntry(ledger, { kind: 'ledger-created', subjectId: ledger.id, version: null, records: [] })
  }
  const records = [...model.ledgers.get(hex(ledger.id))!.records]
  const picked = records[item.record % Math.max(1, records.length)]
  if (item.shape === 'one' || !picked) return makeEntry(ledger)
  const [id, record] = picked
  return makeStep(ledger, Buffer.from(id, 'hex'), record.version + 1, Buffer.from(record.lastLeaf, 'hex'))
}

function spoil(item: Item, entry: TestEntry): TestEntry {
  switch (item.defect) {
    case 'kid':
      return { ...entry, kid: randomBytes(32) }
    case 'clock':
      return { ...entry, recordedAtMs: entry.recordedAtMs + (item.record % 2 ? MINUTE_MS : -MINUTE_MS) }
    case 'previous':
      return { ...entry, previousLeaf: entry.previousLeaf && item.record % 2 ? null : randomBytes(32) }
    case 'version':
      return { ...entry, version: (entry.version ?? 0) + (item.record % 2 ? 1 + item.record : -1) }
    case 'state':
      return { ...entry, toState: 'NOWHERE' }
    case 'ledger':
      return entry.kind === 'ledger-created' ? entry : { ...entry, ledgerId: randomId() }
    case 'kind':
      return { ...entry, kind: 'no-such-kind' }
    case 'worker':
      return { ...entry, kind: 'test-worker-step' }
    case 'event':
      return { ...entry, version: null, records: [] }
    default:
      return entry
  }
}

/** Heads, entries, records and idempotency keys are the model's. */
async function compare(owner: pg.Client, ledger: TestLedger, model: ModelLedger): Promise<void> {
  const id = toUuid(ledger.id)
  const read = async (sql: string) => (await owner.query({ text: sql, values: [id], rowMode: 'array' })).rows
  assert.deepEqual(
    await read(`select size::int, encode(chain, 'hex') from tallystick.chain_heads where ledger_id = $1`),
    [[model.entries.length, hex(model.chain)]],
  )
  assert.deepEqual(
    await read(`select seq::int, kind, replace(subject_id::text, '-', ''), version, prev_seq::int,
      encode(leaf, 'hex'), encode(chain, 'hex') from tallystick.entries where ledger_id = $1 order by seq`),
    model.entries.map((e) => [e.seq, e.kind, e.subject, e.version, e.prevSeq, e.leaf, e.chain]),
  )
  const byFirst = (a: unknown[], b: unknown[]) =>
    (a[3] as number) - (b[3] as number) || (a[5] as number) - (b[5] as number)
  assert.deepEqual(
    (
      await read(`select replace(record_id::text, '-', ''), state, version, first_seq::int, last_seq::int, item_index
        from tallystick.records where ledger_id = $1`)
    ).sort(byFirst),
    [...model.records]
      .map(([record, r]) => [record, r.state, r.version, r.firstSeq, r.lastSeq, r.index])
      .sort(byFirst),
  )
  const keys =
    await read(`select replace(actor_id::text, '-', ''), encode(key_hash, 'hex'), seq::int, salt, fingerprint
    from tallystick.idempotency_keys where ledger_id = $1`)
  assert.equal(keys.length, model.requests.size)
  for (const [actor, key, seq, salt, fingerprint] of keys) {
    const first = model.requests.get(`${actor} ${key}`)
    assert.equal(seq, first?.seq)
    assert.deepEqual(fingerprint, sha256(salt, Buffer.from(first!.request, 'hex')))
  }
}

function remember(own: AppendModel, item: TestEntry): void {
  const { records } = own.ledgers.get(hex(item.ledgerId))!
  const lastLeaf = hex(item.leaf)
  const record = records.get(hex(item.subjectId))
  if (record && item.version !== null) Object.assign(record, { version: item.version, lastLeaf })
  for (const { recordId, index } of item.records) {
    records.set(hex(recordId), { firstSeq: 0, index, state: 'RECORDED', version: 1, lastSeq: 0, lastLeaf })
  }
}

/** What must hold whatever the order was. */
async function judge(
  owner: pg.Client,
  ledgers: TestLedger[],
  results: [TestEntry, AppendAnswer][],
): Promise<void> {
  for (const ledger of ledgers) {
    const size = await checkLedger(owner, ledger.id)
    const own = results.filter(([item]) => hex(item.ledgerId) === hex(ledger.id))
    const appended = own.filter(([, answer]) => answer.outcome === 'appended')
    const seqs = appended.map(([, answer]) => answer.seq).sort((a, b) => a - b)
    assert.deepEqual(
      seqs,
      Array.from({ length: size - 3 }, (_, i) => i + 3),
      'every seq was answered once',
    )
    const firsts = new Map<string, number>()
    for (const [item, answer] of appended) {
      if (!item.idempotency) continue
      const key = `${hex(item.actorId!)} ${hex(item.idempotency.keyHash)}`
      assert.ok(!firsts.has(key), 'a key was taken twice')
      firsts.set(key, answer.seq)
    }
    for (const [item, answer] of own) {
      if (answer.outcome !== 'replayed' && answer.outcome !== 'conflict') continue
      assert.equal(answer.seq, firsts.get(`${hex(item.actorId!)} ${hex(item.idempotency!.keyHash)}`))
    }
  }
}
