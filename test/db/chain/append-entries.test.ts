import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { APPEND_OUTCOMES, appendEntries } from '../../../src/db/chain/append-entries.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { firstRecordId } from '../../../src/proof/statement/batch-ids.ts'
import type { StepKind } from '../../../src/proof/statement/kinds.ts'
import { checkAllLedgers, checkLedger } from '../../helpers/check-ledger.ts'
import { connect } from '../../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/database.ts'
import {
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
  outcomesOf,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../../helpers/test-ledger.ts'
import {
  by,
  makeAutoVerdict,
  makeCreation,
  makeDocument,
  makeStep,
  makeWay,
  STEP_KINDS,
  TEST_PERFORMER,
  TEST_STRANGER,
} from '../../helpers/test-steps.ts'

const FIRST_SIZE = 3
const MINUTE_MS = 60_000

let shared: Promise<TestDatabase> | null = null

async function open(t: TestContext) {
  shared ??= createTestDatabase(t)
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
    await owner.query('select chain from tallystick.chain_heads where ledger_id = $1', [ledger.id])
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
    'select seq::int, chunk, count from tallystick.batch_chunks where ledger_id = $1',
    [ledger.id],
  )
  assert.deepEqual(rows, [{ seq: 4, chunk: 0, count: 5 }])
})

test('begins a ledger with its ledger-created entry, at seq 0, linked to its own genesis', async (t) => {
  const { owner, ledger } = await open(t)
  const { rows } = await owner.query(
    'select kind, chain, leaf from tallystick.entries where ledger_id = $1 order by seq',
    [ledger.id],
  )
  assert.deepEqual(
    rows.map((row) => row.kind),
    ['ledger-created', 'agent-registered', 'key-created'],
  )
  assert.deepEqual(rows[0].chain, linkOf(genesisOf(ledger.id), rows[0].leaf))
  const { rows: keys } = await owner.query(
    'select agent_id, scopes, created_seq from tallystick.api_keys where ledger_id = $1',
    [ledger.id],
  )
  assert.deepEqual(keys[0].scopes, ['records:write'])
  assert.equal(keys[0].createdSeq, 2)
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

test('a call fails with an entry before ledger-created, or a ledger-created with missing columns', async (t) => {
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
  await assert.rejects(appendEntries(api, noDetail), { code: '23502', table: 'api_keys' })
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
    ledger.id,
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

test('a second item for the same key or record in one call gets again', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeCreation(ledger)
  const step = makeStep(ledger, record, 'record-activated')
  const [first, twin] = ['request', 'another'].map((request) =>
    makeEntry(ledger, { idempotency: makeIdempotency('k', request) }),
  )
  assert.deepEqual(await append(record, first!, step, twin!), ['appended', 'appended', 'again', 'again'])
  assert.deepEqual(await append(step, twin!), ['appended', 'conflict'])
  await checkLedger(owner, ledger.id)
})

test('of five equal steps in one call four get again, and refused_state in the next call', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeCreation(ledger)
  await append(record)
  const steps = Array.from({ length: 5 }, () => makeStep(ledger, record, 'record-activated'))
  assert.deepEqual(await append(...steps), ['appended', 'again', 'again', 'again', 'again'])
  assert.deepEqual(await append(...steps.slice(1)), Array(4).fill('refused_state'))
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 2)
})

test('refuses an unknown kind, a missing version, and an extra version with refused_kind', async (t) => {
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

test('accepts kinds of the worker, and system as actor, only from the worker’s login', async (t) => {
  const { database, owner, ledger, append } = await open(t)
  const worker = await connect(t, database.workerUrl)
  const way = makeWay(ledger, 'SUBMITTED', { gate: 'auto' })
  for (const entry of way) await append(entry)
  const verified = makeStep(ledger, way.at(-1)!, 'completion-verified')
  assert.deepEqual(await append(verified), ['refused_kind'])
  assert.deepEqual(await append({ ...verified, ...by(ledger.agentId) }), ['refused_kind'])
  assert.deepEqual(outcomesOf(await appendEntries(worker, [verified])), ['appended'])
  const verdict = makeAutoVerdict(ledger, verified)
  assert.deepEqual(await append(verdict), ['refused_kind'])
  assert.deepEqual(outcomesOf(await appendEntries(worker, [verdict])), ['appended'])
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
  const record = makeCreation(ledger, { performerId: null })
  await append(record, makeEntry(ledger))
  const second = makeStep(ledger, record, 'record-activated')
  assert.deepEqual(await append(second), ['appended'])
  const third = makeStep(ledger, second, 'completion-submitted')
  assert.deepEqual(await append(makeEntry(ledger), third), ['appended', 'appended'])
  await checkLedger(owner, ledger.id)
  const { rows } = await owner.query(
    `select state, version, first_seq, last_seq, performer_id as performer
     from tallystick.gated_records where ledger_id = $1`,
    [ledger.id],
  )
  const stands = { state: 'SUBMITTED', version: 3, firstSeq: 3, lastSeq: 7 }
  assert.deepEqual(rows, [{ ...stands, performer: TEST_PERFORMER }])
})

test('a record that was notarized, by itself or in a batch, takes no step', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeEntry(ledger)
  const batch = makeBatch(ledger, 3)
  await append(record, batch)
  const ofBatch = { ...batch, subjectId: batch.chunks[0]!.firstRecordId }
  for (const last of [record, ofBatch]) {
    const steps = STEP_KINDS.map((kind) => makeStep(ledger, last, kind, by(ledger.agentId)))
    for (const step of steps) assert.match((await append(step))[0]!, /^refused_(state|kind)$/)
  }
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 2)
})

test('a step is stale with another previous leaf or version, and refused from another state', async (t) => {
  const { owner, ledger, append } = await open(t)
  const record = makeCreation(ledger)
  await append(record)
  const step = (changes: Partial<TestEntry> = {}) => makeStep(ledger, record, 'record-activated', changes)
  assert.deepEqual(await append(step({ previousLeaf: randomBytes(32) })), ['stale'])
  assert.deepEqual(await append(step({ previousLeaf: null })), ['stale'])
  assert.deepEqual(await append(step({ version: 3 })), ['stale'])
  assert.deepEqual(await append(step({ toState: 'CREATED' })), ['refused_state'])
  assert.deepEqual(await append(step({ toState: null })), ['refused_state'])
  assert.deepEqual(await append(step({ kind: 'record-created', toState: 'CREATED' })), ['refused_state'])
  assert.deepEqual(await append(makeStep(ledger, record, 'completion-submitted')), ['refused_state'])
  assert.deepEqual(await append(step()), ['appended'])
  assert.deepEqual(await append(step()), ['refused_state'], 'the loser of a race')
  assert.deepEqual(await append(step({ subjectId: randomId() })), ['refused_state'])
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 2)
})

test('the record of another ledger can be neither moved nor seen', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const other = await createTestLedger(api)
  const record = makeCreation(ledger)
  await append(record)
  assert.deepEqual(await append(makeStep(other, record, 'record-activated')), ['refused_state'])
  assert.deepEqual(await append(makeCreation(other, {}, { subjectId: record.subjectId })), ['appended'])
  await checkAllLedgers(owner)
})

test('when several outcomes apply to an item, the first of the list is answered', async (t) => {
  const { ledger, append } = await open(t)
  const record = makeCreation(ledger, { deadlineMs: Date.now() - MINUTE_MS })
  await append(record, makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') }))
  const known = makeIdempotency('k', 'request')
  // At first the item has all faults together. The faults are then corrected one by one, to test which outcome takes
  // precedence.
  const wrong = {
    idempotency: known,
    subjectId: record.subjectId,
    kind: 'no-such-kind',
    kid: randomBytes(32),
    version: 9,
    toState: 'NOWHERE',
    previousLeaf: randomBytes(32),
    partyId: TEST_STRANGER,
    recordedAtMs: 0,
    records: [],
  }
  const steps: [string, Partial<TestEntry>][] = [
    ['refused_ledger', { ledgerId: randomId() }],
    ['replayed', {}],
    ['conflict', { idempotency: makeIdempotency('k', 'another') }],
    ['refused_kind', { idempotency: null }],
    ['stale', { kind: 'record-activated' }],
    ['refused_state', { kid: ledger.kid }],
    ['stale', { toState: 'ACTIVE' }],
    ['refused_party', { version: 2, previousLeaf: record.leaf }],
    ['refused_deadline', { partyId: TEST_PERFORMER }],
    ['refused_clock', { kind: 'record-cancelled', toState: 'CANCELLED', partyId: ledger.agentId }],
    ['appended', { recordedAtMs: Date.now() }],
  ]
  let item = makeEntry(ledger, wrong)
  for (const [outcome, change] of steps) {
    const { ledgerId, ...rest } = change
    item = { ...item, ...rest }
    const tried = ledgerId ? { ...item, ledgerId } : item
    if (outcome === 'refused_kind') {
      // The second item is for the same record as the first, so its outcome is `again`, although the first item is
      // refused.
      assert.deepEqual(await append(item, { ...item, kind: 'record-activated' }), ['refused_kind', 'again'])
    }
    assert.deepEqual(await append(tried), [outcome])
  }
})

test('a refused item does not affect other items of its call', async (t) => {
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

test('malformed rows fail the whole call, and nothing is written', async (t) => {
  const { owner, api, ledger, append } = await open(t)
  const taken = makeEntry(ledger)
  const way = makeWay(ledger, 'ACTIVE')
  const stored = makeBatch(ledger, 2)
  for (const entry of [taken, ...way, stored]) await append(entry)
  const step = (kind: StepKind, changes: Partial<TestEntry>) => makeStep(ledger, way[1]!, kind, changes)
  const evidence = (changes: object) => ({ document: { ...makeDocument('evidence', id), ...changes } })
  const id = randomId()
  const [begin, chunked] = ['records_begin', 'batch_chunks_begin']
  const whole = makeBatch(ledger, 66)
  const last = whole.chunks[1]!
  const withRecord = (subjectId: Uuid) => ({ subjectId, records: [makeRecord(subjectId)] })
  const wrong: [object, TestEntry][] = [
    [{ constraint: 'entries_leaf' }, makeEntry(ledger, { leaf: randomBytes(32) })],
    [{ constraint: 'entries_leaf' }, makeEntry(ledger, { leaf: randomBytes(31) })],
    [{ constraint: 'entries_envelope_check' }, makeEntry(ledger, { envelope: randomBytes(32_769) })],
    [{ constraint: 'records_pkey' }, makeEntry(ledger, { subjectId: taken.subjectId })],
    [{ constraint: 'entries_make_records' }, makeEntry(ledger, { records: [] })],
    [{ constraint: begin }, makeEntry(ledger, { records: [makeRecord(randomId())] })],
    [{ constraint: begin }, makeBatch(ledger, 1, { records: [makeRecord(randomId())] })],
    [{ constraint: begin }, makeBatch(ledger, 1, { subjectId: id, records: [makeRecord(id)] })],
    [{ constraint: 'records_ids' }, makeEntry(ledger, withRecord(firstRecordId(id)))],
    [{ constraint: 'entries_batch' }, makeBatch(ledger, 1, { itemCount: null })],
    [{ constraint: 'entries_batch' }, makeEntry(ledger, { itemCount: 1 })],
    [{ constraint: 'entries_make_records' }, makeBatch(ledger, 1, { chunks: [] })],
    [{ constraint: chunked }, makeBatch(ledger, 1, { itemCount: 2 })],
    [{ constraint: chunked }, makeEntry(ledger, { chunks: makeBatch(ledger, 1).chunks })],
    [
      { constraint: 'entries_make_records' },
      step('completion-submitted', { chunks: makeBatch(ledger, 1).chunks }),
    ],
    [{ constraint: chunked }, makeBatch(ledger, 65, { chunks: whole.chunks.slice(0, 1) })],
    [{ constraint: chunked }, makeBatch(ledger, 65, { chunks: whole.chunks.slice(1) })],
    [{ constraint: chunked }, makeBatch(ledger, 66, { chunks: [whole.chunks[0]!, { ...last, count: 1 }] })],
    [
      { constraint: chunked },
      makeBatch(ledger, 64, {
        chunks: [
          { ...whole.chunks[0]!, count: 63 },
          { ...last, count: 1 },
        ],
      }),
    ],
    [
      { constraint: chunked },
      makeBatch(ledger, 66, { chunks: [whole.chunks[0]!, makeBatch(ledger, 66).chunks[1]!] }),
    ],
    [{ constraint: 'batch_chunks_ids' }, makeBatch(ledger, 2, { chunks: [{ ...last, chunk: 0 }] })],
    [{ constraint: 'batch_chunks_by_record' }, makeBatch(ledger, 66, { chunks: [...whole.chunks, last] })],
    [
      { constraint: 'batch_chunks_count_check' },
      makeBatch(ledger, 65, { chunks: [{ ...whole.chunks[0]!, count: 65 }] }),
    ],
    [{ constraint: 'batch_chunks_by_record' }, makeBatch(ledger, 2, { chunks: stored.chunks })],
    [
      { constraint: 'batch_keys_pkey' },
      makeBatch(ledger, 1, {
        chunks: [{ ...makeBatch(ledger, 1).chunks[0]!, keys: [Buffer.from('Tx'), Buffer.from('Tx')] }],
      }),
    ],
    [{ constraint: 'entries_make_records' }, step('completion-submitted', { records: [makeRecord(id)] })],
    [{ constraint: 'entries_make_gated_records' }, makeCreation(ledger, {}, { gated: undefined })],
    [
      { constraint: 'gated_records_begin' },
      makeEntry(ledger, { gated: way[0]!.gated, partyId: ledger.agentId }),
    ],
    [{ constraint: 'gated_records_begin' }, makeCreation(ledger, {}, { partyId: TEST_STRANGER })],
    [{ constraint: 'gated_records_pkey' }, step('record-cancelled', { gated: way[0]!.gated })],
    [{ code: '23502', column: 'principal_id' }, makeCreation(ledger, {}, { partyId: undefined })],
    [{ constraint: 'gated_records_parties' }, makeCreation(ledger, { performerId: ledger.agentId })],
    [{ constraint: 'gated_records_max_revisions_check' }, makeCreation(ledger, { maxRevisions: -1 })],
    [
      { constraint: 'gated_records_tolerances_check' },
      makeCreation(ledger, { tolerances: 'x'.repeat(16_385) }),
    ],
    [{ constraint: 'entries_make_documents' }, step('completion-submitted', { document: undefined })],
    [
      { constraint: 'documents_keep' },
      step('completion-submitted', evidence({ name: 'reason', subjectId: way[0]!.subjectId })),
    ],
    [{ constraint: 'documents_keep' }, step('completion-submitted', evidence({ name: 'values' }))],
    [{ constraint: 'documents_keep' }, step('record-cancelled', { document: makeDocument('reason', id) })],
    [{ constraint: 'documents_keep' }, step('record-cancelled', evidence({}))],
    [{ constraint: 'documents_keep' }, makeEntry(ledger, evidence({}))],
    [{ constraint: 'documents_digest_check' }, step('completion-submitted', evidence({ digest: id }))],
    [
      { constraint: 'documents_content_check' },
      step('completion-submitted', evidence({ content: 'x'.repeat(65_537) })),
    ],
    [
      { constraint: 'records_by_seq' },
      makeEntry(ledger, { subjectId: id, records: [makeRecord(id), makeRecord(randomId())] }),
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
    assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 4)
  }
  // A completion without evidence is refused, even if another item of the same call has a document: the reason of a
  // cancellation.
  const other = makeWay(ledger, 'CREATED')
  await append(...other)
  const reason = makeDocument('reason', other[0]!.subjectId)
  const cancelled = makeStep(ledger, other[0]!, 'record-cancelled', { document: reason })
  const submitted = step('completion-submitted', { document: undefined })
  const constraint = 'entries_make_documents'
  await assert.rejects(appendEntries(api, [submitted, cancelled]), { constraint })
  assert.equal(await checkLedger(owner, ledger.id), FIRST_SIZE + 5)
})

test('stores its input byte for byte', async (t) => {
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
    `select r.record_id as id, r.digest, r.salt, convert_from(r.payload, 'UTF8') as payload,
       convert_from(r.metadata, 'UTF8') as metadata, r.on_behalf_of, r.occurred_at,
       r.traceparent, r.type, e.envelope, e.leaf, e.recorded_at, e.key_id,
       e.actor_id
     from tallystick.records r join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
     where r.ledger_id = $1`,
    [ledger.id],
  )
  assert.deepEqual(rows, [
    {
      id,
      digest: record.digest,
      salt: record.salt,
      payload: record.payload,
      metadata: record.metadata,
      onBehalfOf: record.onBehalfOf,
      occurredAt: new Date(record.occurredAtMs!),
      traceparent: record.traceparent,
      type: 'generic/1',
      envelope: entry.envelope,
      leaf: leafOf(entry.envelope),
      recordedAt: new Date(entry.recordedAtMs),
      keyId: ledger.keyId,
      actorId: ledger.agentId,
    },
  ])
})

test('concurrent calls over many ledgers in random order never deadlock', async (t) => {
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
    [ledgers.map((l) => l.id)],
  )
  assert.deepEqual(rows, [{ size }])
})

test('of concurrent calls that create one ledger, one succeeds and the others get refused_ledger', async (t) => {
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

test('the outcomes are those that the header of append_entries lists, by its numbers', () => {
  const listed = [...readFunction().matchAll(/^-- +(\d+) ([a-z_]+)(?: {2,}|$)/gm)].map(([, number, name]) => [
    Number(number),
    name,
  ])
  assert.deepEqual(Object.fromEntries(listed), { ...APPEND_OUTCOMES })
})

test('the header lists the outcomes in the order in which append_entries decides', () => {
  const sql = readFunction()
  const [, decision] = /\bdecided as \(([\s\S]*?)\bend as outcome\b/.exec(sql)!
  const numbers = (text: string, pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, number]) => number).filter((number, i, all) => number !== all[i - 1])
  assert.deepEqual(
    numbers(sql, /^-- +(\d+) [a-z_]+(?: {2,}|$)/gm),
    numbers(decision!, /\b(?:then|else) (\d+)\b/g),
  )
})

function readFunction(): string {
  return readFileSync(new URL('../../../migrations/functions/append-entries.sql', import.meta.url), 'utf8')
}
