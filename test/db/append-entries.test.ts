import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { appendEntries } from '../../src/db/append-entries.ts'
import { toUuid } from '../../src/db/uuid.ts'
import { checkAllLedgers, checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import {
  addTestStep,
  adminEntry,
  createTestLedger,
  firstEntries,
  genesisOf,
  leafOf,
  linkOf,
  makeBatch,
  makeEntry,
  makeIdempotency,
  makeRecord,
  makeStep,
  outcomesOf,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../helpers/test-ledger.ts'

const FIRST_SIZE = 3
const MINUTE_MS = 60_000

let shared: Promise<TestDatabase> | null = null

async function openDatabase(t: TestContext): Promise<TestDatabase> {
  const database = await createTestDatabase(t)
  await addTestStep(await connect(t, database.ownerUrl))
  return database
}

/** A ledger of its own for each test, in one database. */
async function open(t: TestContext) {
  shared ??= openDatabase(t)
  const database = await shared
  const owner = await connect(t, database.ownerUrl)
  const api = await connect(t, database.apiUrl)
  const ledger = await createTestLedger(api)
  const append = async (...entries: TestEntry[]) => outcomesOf(await appendEntries(api, entries))
  return { database, owner, api, ledger, append }
}

test('appends entries and answers the seq of each and the chain that its leaf leads to', async (t) => {
  const { api, owner, ledger } = await open(t)
  const [head] = (
    await owner.query('select chain from tallystick.chain_heads where ledger_id = $1', [toUuid(ledger.id)])
  ).rows
  const entries = [makeEntry(ledger), makeBatch(ledger, 5), makeEntry(ledger)]
  const answers = await appendEntries(api, entries)
  let chain: Buffer = head.chain
  for (const [i, answer] of answers.entries()) {
    chain = linkOf(chain, entries[i]!.leaf)
    assert.deepEqual(answer, { outcome: 'appended', seq: FIRST_SIZE + i, chain: chain.toString('hex') })
  }
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 3)
  const { rows } = await owner.query(
    'select count(*)::int from tallystick.records where ledger_id = $1 and first_seq = 4',
    [toUuid(ledger.id)],
  )
  assert.equal(rows[0].count, 5)
})

test('begins a ledger with its ledger-created entry, at seq 0, linked to its own genesis', async (t) => {
  const { owner, ledger } = await open(t)
  const { rows } = await owner.query(
    'select kind, chain, leaf from tallystick.entries where ledger_id = $1 order by seq',
    [toUuid(ledger.id)],
  )
  assert.deepEqual(
    rows.map((row) => row.kind),
    ['ledger-created', 'agent-registered', 'key-created'],
  )
  assert.deepEqual(rows[0].chain, linkOf(genesisOf(ledger.id), rows[0].leaf))
  const { rows: keys } = await owner.query(
    'select agent_id, scopes, created_seq from tallystick.api_keys where ledger_id = $1',
    [toUuid(ledger.id)],
  )
  assert.deepEqual(keys[0].scopes, ['records:write'])
  assert.equal(keys[0].created_seq, '2')
})

test('refuses entries of a ledger that does not exist, and a second ledger-created', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const stranger: TestLedger = { ...ledger, id: randomId() }
  const [again] = await firstEntries(api, ledger)
  assert.deepEqual(await append(makeEntry(stranger), makeEntry(ledger), again!), [
    'refused_ledger',
    'appended',
    'refused_ledger',
  ])
  await checkAllLedgers(owner)
})

test('a ledger-created that is refused leaves nothing behind, and may come again', async (t) => {
  const { owner, api, append } = await open(t)
  const ledger = { id: randomId(), agentId: randomId(), keyId: randomId(), kid: randomBytes(32) }
  const entries = await firstEntries(api, ledger)
  const late = { ...entries[0]!, recordedAtMs: Date.now() - MINUTE_MS }
  assert.deepEqual(await append(late), ['refused_clock'])
  const heads = await owner.query('select from tallystick.chain_heads where size = 0')
  assert.equal(heads.rowCount, 0)
  assert.deepEqual(await append(makeEntry(ledger)), ['refused_ledger'], 'nothing but ledger-created is first')
  assert.deepEqual(await append(...entries), ['appended', 'appended', 'appended'])
  await checkAllLedgers(owner)
})

test('fails a call in which something stands before the ledger-created, and one without its columns', async (t) => {
  const { owner, api } = await open(t)
  const ledger = { id: randomId(), agentId: randomId(), keyId: randomId(), kid: randomBytes(32) }
  const [created, agent, key] = await firstEntries(api, ledger)
  const constraint = 'entries_begin'
  await assert.rejects(appendEntries(api, [agent!, created!]), { constraint })
  await assert.rejects(appendEntries(api, [{ ...created!, subjectId: randomId() }]), { constraint })
  await assert.rejects(appendEntries(api, [{ ...created!, detail: null }]), {
    code: '23502',
    table: 'ledgers',
  })
  const noDetail = [created!, agent!, { ...key!, detail: null }]
  await assert.rejects(appendEntries(api, noDetail), { code: '23502', table: 'api_key_secrets' })
  await checkAllLedgers(owner)
})

test('answers a known idempotency key with the first seq, and another request under it with conflict', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  await append(makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') }))
  const [replay, conflict, other] = await appendEntries(api, [
    makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') }),
    makeEntry(ledger, { idempotency: makeIdempotency('k', 'another') }),
    makeEntry(ledger, { idempotency: makeIdempotency('other', 'request') }),
  ])
  assert.deepEqual([replay!.outcome, replay!.seq], ['replayed', FIRST_SIZE])
  assert.deepEqual([conflict!.outcome, conflict!.seq], ['conflict', FIRST_SIZE])
  assert.deepEqual([other!.outcome, other!.seq], ['appended', FIRST_SIZE + 1])
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 2)
  const { rows } = await owner.query('select count(*)::int from tallystick.records where ledger_id = $1', [
    toUuid(ledger.id),
  ])
  assert.equal(rows[0].count, 2, 'a replay makes no second record')
})

test('the same idempotency key of another actor or of another ledger is another key', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const other = await createTestLedger(api)
  const idempotency = makeIdempotency('k', 'request')
  const entries = [
    makeEntry(ledger, { idempotency }),
    makeEntry(ledger, { idempotency, actorId: randomId() }),
    makeEntry(other, { idempotency }),
    makeEntry(other, { idempotency, actorId: ledger.agentId }),
  ]
  assert.deepEqual(await append(...entries), Array(4).fill('appended'))
  assert.deepEqual(await append(...entries), Array(4).fill('replayed'))
  await checkAllLedgers(owner)
})

test('replays with the key only: a replay of another record, kid and clock is still a replay', async (t) => {
  const { ledger, append } = await open(t)
  await append(makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') }))
  const replay = {
    idempotency: makeIdempotency('k', 'request'),
    kid: randomBytes(32),
    recordedAtMs: 0,
    kind: 'no-such-kind',
  }
  assert.deepEqual(await append(makeEntry(ledger, replay)), ['replayed'])
})

test('a refused item uses neither its idempotency key nor a seq', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const idempotency = makeIdempotency('k', 'request')
  assert.deepEqual(await append(makeEntry(ledger, { idempotency, recordedAtMs: Date.now() - MINUTE_MS })), [
    'refused_clock',
  ])
  const [answer] = await appendEntries(api, [makeEntry(ledger, { idempotency })])
  assert.deepEqual([answer!.outcome, answer!.seq], ['appended', FIRST_SIZE])
  await checkLedger(owner, ledger.id)
})

test('a second item for the same key or the same record in one call is for the next batch', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeEntry(ledger)
  const step = makeStep(ledger, record.subjectId, 2, record.leaf)
  const [first, twin] = ['request', 'another'].map((request) =>
    makeEntry(ledger, { idempotency: makeIdempotency('k', request) }),
  )
  assert.deepEqual(await append(record, first!, step, twin!), ['appended', 'appended', 'again', 'again'])
  assert.deepEqual(await append(step, twin!), ['appended', 'conflict'])
  await checkLedger(owner, ledger.id)
})

test('of many steps for one record at once, those that it has passed are decided in one call', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeEntry(ledger)
  await append(record)
  const steps = Array.from({ length: 5 }, () => makeStep(ledger, record.subjectId, 2, record.leaf))
  assert.deepEqual(await append(...steps), ['appended', 'again', 'again', 'again', 'again'])
  assert.deepEqual(await append(...steps.slice(1)), ['stale', 'stale', 'stale', 'stale'])
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 2)
})

test('refuses unknown kinds, and kinds with or without a version against the table', async (t) => {
  const { owner, ledger, append } = await open(t)
  const admin = adminEntry(ledger, 'agent-registered', randomId(), { name: 'another' })
  assert.deepEqual(
    await append(
      makeEntry(ledger, { kind: 'no-such-kind' }),
      makeEntry(ledger, { version: null, records: [] }),
      { ...admin, version: 1 },
      admin,
    ),
    ['refused_kind', 'refused_kind', 'refused_kind', 'appended'],
  )
  await checkLedger(owner, ledger.id)
})

test("takes a worker's kind from the worker's login only", async (t) => {
  const { database, owner, ledger, append } = await open(t)
  const worker = await connect(t, database.workerUrl)
  const record = makeEntry(ledger)
  await append(record)
  const step = makeStep(ledger, record.subjectId, 2, record.leaf, { kind: 'test-worker-step' })
  assert.deepEqual(await append(step), ['refused_kind'])
  assert.deepEqual(outcomesOf(await appendEntries(worker, [step])), ['appended'])
  await checkLedger(owner, ledger.id)
})

test('an entry signed by another key than the ledger’s is stale', async (t) => {
  const { ledger, append } = await open(t)
  assert.deepEqual(await append(makeEntry(ledger, { kid: randomBytes(32) }), makeEntry(ledger)), [
    'stale',
    'appended',
  ])
})

test('refuses a clock that is more than 30 s off, either way', async (t) => {
  const { ledger, append } = await open(t)
  const now = Date.now()
  const at = [-32_000, -28_000, 28_000, 32_000].map((offMs) =>
    makeEntry(ledger, { recordedAtMs: now + offMs }),
  )
  assert.deepEqual(await append(...at), ['refused_clock', 'appended', 'appended', 'refused_clock'])
})

test('moves a record along its transitions, each step bound to the one before', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeEntry(ledger)
  await append(record, makeEntry(ledger))
  const second = makeStep(ledger, record.subjectId, 2, record.leaf)
  assert.deepEqual(await append(second), ['appended'])
  const third = makeStep(ledger, record.subjectId, 3, second.leaf)
  assert.deepEqual(await append(makeEntry(ledger), third), ['appended', 'appended'])
  await checkLedger(owner, ledger.id)
  const { rows } = await owner.query(
    'select state, version, first_seq, last_seq from tallystick.records where ledger_id = $1 and version > 1',
    [toUuid(ledger.id)],
  )
  assert.deepEqual(rows, [{ state: 'DONE', version: 3, first_seq: '3', last_seq: '7' }])
})

test('moves one record of a batch', async (t) => {
  const { owner, ledger, append } = await open(t)
  const batch = makeBatch(ledger, 3)
  await append(batch)
  assert.deepEqual(await append(makeStep(ledger, batch.records[1]!.recordId, 2, batch.leaf)), ['appended'])
  await checkLedger(owner, ledger.id)
})

test('a step is stale with another previous leaf or version, and refused from another state', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeEntry(ledger)
  await append(record)
  const step = (version: number, previous: Uint8Array, changes: Partial<TestEntry> = {}) =>
    makeStep(ledger, record.subjectId, version, previous, changes)
  assert.deepEqual(await append(step(2, randomBytes(32))), ['stale'])
  assert.deepEqual(await append(step(2, record.leaf, { previousLeaf: null })), ['stale'])
  assert.deepEqual(await append(step(3, record.leaf)), ['stale'])
  assert.deepEqual(await append(step(2, record.leaf, { toState: 'RECORDED' })), ['refused_state'])
  assert.deepEqual(await append(step(2, record.leaf, { toState: null })), ['refused_state'])
  assert.deepEqual(await append(step(2, record.leaf, { kind: 'record-notarized', toState: 'RECORDED' })), [
    'refused_state',
  ])
  const second = step(2, record.leaf)
  assert.deepEqual(await append(second), ['appended'])
  assert.deepEqual(await append(step(2, record.leaf)), ['stale'], 'the loser of a race')
  assert.deepEqual(await append(makeStep(ledger, randomId(), 2, record.leaf)), ['refused_state'])
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 2)
})

test('the record of another ledger can be neither moved nor seen', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const other = await createTestLedger(api)
  const record = makeEntry(ledger)
  await append(record)
  assert.deepEqual(await append(makeStep(other, record.subjectId, 2, record.leaf)), ['refused_state'])
  assert.deepEqual(await append(makeEntry(other, { subjectId: record.subjectId })), ['appended'])
  await checkAllLedgers(owner)
})

test('when several outcomes apply to an item, the first of the list is answered', async (t) => {
  const { ledger, append } = await open(t)
  const record = makeEntry(ledger)
  await append(record, makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') }))
  const known = makeIdempotency('k', 'request')
  // Everything that can be wrong with an item is, and then less and less.
  const wrong = {
    idempotency: known,
    subjectId: record.subjectId,
    kind: 'no-such-kind',
    kid: randomBytes(32),
    version: 9,
    toState: 'NOWHERE',
    previousLeaf: randomBytes(32),
    recordedAtMs: 0,
    records: [],
  }
  const steps: [string, Partial<TestEntry>][] = [
    ['refused_ledger', { ledgerId: randomId() }],
    ['replayed', {}],
    ['conflict', { idempotency: makeIdempotency('k', 'another') }],
    ['refused_kind', { idempotency: null }],
    ['stale', { kind: 'test-step' }],
    ['refused_state', { kid: ledger.kid }],
    ['stale', { toState: 'DONE' }],
    ['refused_clock', { version: 2, previousLeaf: record.leaf }],
    ['appended', { recordedAtMs: Date.now() }],
  ]
  let item = makeEntry(ledger, wrong)
  for (const [outcome, change] of steps) {
    const { ledgerId, ...rest } = change
    item = { ...item, ...rest }
    const tried = ledgerId ? { ...item, ledgerId } : item
    if (outcome === 'refused_kind') {
      // `again` stands before it: with a twin in front, whatever becomes of the twin.
      assert.deepEqual(await append(item, { ...item, kind: 'test-step' }), ['refused_kind', 'again'])
    }
    assert.deepEqual(await append(tried), [outcome])
  }
})

test('a refused item never spoils its neighbours', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const record = makeEntry(ledger)
  await append(record, makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') }))
  const refused: [string, TestEntry][] = [
    ['refused_ledger', makeEntry({ ...ledger, id: randomId() })],
    ['replayed', makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') })],
    ['conflict', makeEntry(ledger, { idempotency: makeIdempotency('k', 'another') })],
    ['refused_kind', makeEntry(ledger, { kind: 'no-such-kind' })],
    ['stale', makeEntry(ledger, { kid: randomBytes(32) })],
    ['refused_state', makeEntry(ledger, { toState: 'NOWHERE' })],
    ['refused_clock', makeEntry(ledger, { recordedAtMs: 0 })],
    ['refused_clock', makeBatch(ledger, 4, { recordedAtMs: 0 })],
  ]
  const entries = refused.flatMap(([, entry]) => [makeEntry(ledger), entry, makeBatch(ledger, 2)])
  const answers = await appendEntries(api, entries)
  assert.deepEqual(
    outcomesOf(answers),
    refused.flatMap(([outcome]) => ['appended', outcome, 'appended']),
  )
  const seqs = answers.filter((answer) => answer.outcome === 'appended').map((answer) => answer.seq)
  assert.deepEqual(
    seqs,
    seqs.map((_, i) => FIRST_SIZE + 2 + i),
  )
  await checkAllLedgers(owner)
})

test('fails as a whole, and writes nothing, on rows that no caller of ours makes', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const taken = makeEntry(ledger)
  await append(taken)
  const id = randomId()
  const begin = 'records_begin'
  const wrong: [object, TestEntry][] = [
    [{ constraint: 'entries_leaf' }, makeEntry(ledger, { leaf: randomBytes(32) })],
    [{ constraint: 'entries_leaf' }, makeEntry(ledger, { leaf: randomBytes(31) })],
    [{ constraint: 'entries_envelope_check' }, makeEntry(ledger, { envelope: randomBytes(32_769) })],
    [{ constraint: 'records_pkey' }, makeEntry(ledger, { subjectId: taken.subjectId })],
    [{ constraint: 'entries_make_records' }, makeEntry(ledger, { records: [] })],
    [{ constraint: begin }, makeEntry(ledger, { records: [makeRecord(randomId())] })],
    [{ constraint: begin }, makeEntry(ledger, { subjectId: id, records: [makeRecord(id, { index: 0 })] })],
    [{ constraint: begin }, makeBatch(ledger, 0, { records: [makeRecord(randomId(), { index: 1 })] })],
    [{ constraint: begin }, makeBatch(ledger, 0, { records: [makeRecord(randomId())] })],
    [{ constraint: begin }, makeBatch(ledger, 0, { subjectId: id, records: [makeRecord(id)] })],
    [{ constraint: begin }, makeStep(ledger, taken.subjectId, 2, taken.leaf, { records: [makeRecord(id)] })],
    [
      { constraint: 'records_by_seq' },
      makeBatch(ledger, 0, { records: [0, 1, 1].map((index) => makeRecord(randomId(), { index })) }),
    ],
    [
      { constraint: 'records_payload_check' },
      makeEntry(ledger, { subjectId: id, records: [makeRecord(id, { payload: `"${'x'.repeat(65_535)}"` })] }),
    ],
    [
      { constraint: 'records_digest_check' },
      makeEntry(ledger, { subjectId: id, records: [makeRecord(id, { digest: randomBytes(20) })] }),
    ],
    [
      { constraint: 'idempotency_keys_key_hash_check' },
      makeEntry(ledger, { idempotency: { ...makeIdempotency('k', 'r'), keyHash: randomBytes(32) } }),
    ],
  ]
  for (const [error, entry] of wrong) {
    await assert.rejects(appendEntries(api, [makeEntry(ledger), entry]), error)
    assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 1)
  }
})

test('stores what it was given, byte for byte', async (t) => {
  const { api, owner, ledger } = await open(t)
  const id = randomId()
  const record = makeRecord(id, {
    payload: '{"a":"€ 𝄞"}',
    metadata: '{"b":null}',
    onBehalfOf: randomId(),
    occurredAtMs: Date.parse('1969-07-20T20:17:40.123Z'),
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  })
  const entry = makeEntry(ledger, { subjectId: id, records: [record] })
  await appendEntries(api, [entry])
  const { rows } = await owner.query(
    `select uuid_send(r.record_id) as id, r.digest, r.salt, convert_from(r.payload, 'UTF8') as payload,
       convert_from(r.metadata, 'UTF8') as metadata, uuid_send(r.on_behalf_of) as on_behalf_of, r.occurred_at,
       r.traceparent, r.type, e.envelope, e.leaf, e.recorded_at, uuid_send(e.key_id) as key_id,
       uuid_send(e.actor_id) as actor_id
     from tallystick.records r join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
     where r.ledger_id = $1`,
    [toUuid(ledger.id)],
  )
  assert.deepEqual(rows, [
    {
      id,
      digest: record.digest,
      salt: record.salt,
      payload: record.payload,
      metadata: record.metadata,
      on_behalf_of: record.onBehalfOf,
      occurred_at: new Date(record.occurredAtMs!),
      traceparent: record.traceparent,
      type: 'generic/1',
      envelope: entry.envelope,
      leaf: leafOf(entry.envelope),
      recorded_at: new Date(entry.recordedAtMs),
      key_id: ledger.keyId,
      actor_id: ledger.agentId,
    },
  ])
})

test('many calls over many ledgers in random order wait for each other, and never in a circle', async (t) => {
  const { database, owner, api, ledger } = await open(t)
  const ledgers = [ledger]
  while (ledgers.length < 12) ledgers.push(await createTestLedger(api))
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(t, database.apiUrl)))
  const callsPerClient = 25
  await Promise.all(
    clients.map(async (client) => {
      for (let call = 0; call < callsPerClient; call++) {
        const shuffled = ledgers.toSorted(() => Math.random() - 0.5)
        const answers = await appendEntries(
          client,
          shuffled.map((l) => makeEntry(l)),
        )
        assert.deepEqual(outcomesOf(answers), Array(ledgers.length).fill('appended'))
      }
    }),
  )
  await checkAllLedgers(owner)
  const size = FIRST_SIZE + clients.length * callsPerClient
  const { rows } = await owner.query(
    'select distinct size::int from tallystick.chain_heads where ledger_id = any ($1)',
    [ledgers.map((l) => toUuid(l.id))],
  )
  assert.deepEqual(rows, [{ size }])
})

test('two calls that make the same ledger at once: one makes it, the other is refused', async (t) => {
  const { database, owner, api } = await open(t)
  const clients = await Promise.all([0, 1, 2, 3].map(() => connect(t, database.apiUrl)))
  const ledger = { id: randomId(), agentId: randomId(), keyId: randomId(), kid: randomBytes(32) }
  const [created] = await firstEntries(api, ledger)
  const answers = await Promise.all(clients.map((client) => appendEntries(client, [created!])))
  assert.deepEqual(answers.map((answer) => answer[0]!.outcome).sort(), [
    'appended',
    'refused_ledger',
    'refused_ledger',
    'refused_ledger',
  ])
  await checkAllLedgers(owner)
})

test('an empty call appends nothing', async (t) => {
  const { append } = await open(t)
  assert.deepEqual(await append(), [])
})
