import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { checkAllLedgers, checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { eraseInDatabase } from '../helpers/erase-documents.ts'
import {
  adminEntry,
  createTestLedger,
  makeEntry,
  makeIdempotency,
  outcomesOf,
  randomId,
  type TestEntry,
  type TestLedger,
} from '../helpers/test-ledger.ts'
import { makeWay } from '../helpers/test-steps.ts'

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const [api, worker, owner] = await Promise.all(
    [database.apiUrl, database.workerUrl, database.ownerUrl].map((url) => connect(t, url)),
  )
  const ledger = await createTestLedger(api!)
  const append = async (client: pg.Client, ...entries: TestEntry[]) =>
    outcomesOf(await appendEntries(client, entries))
  return { api: api!, worker: worker!, owner: owner!, ledger, append }
}

const refusedBy = (constraint: string) => ({ code: '23000', constraint })

function ending(ledger: TestLedger, kind: string, subjectId: Uuid = ledger.id, detail: object = {}) {
  return adminEntry(ledger, kind, subjectId, detail)
}

async function newServerKey(owner: pg.Client): Promise<Buffer> {
  const kid = randomBytes(32)
  await owner.query(
    "insert into tallystick.server_keys (kid, use, alg, spki) values ($1, 'envelope', 'EdDSA', $1)",
    [kid],
  )
  return kid
}

test('a frozen ledger accepts no entries except the worker’s server-key-rotated', async (t) => {
  const { api, worker, owner, ledger, append } = await open(t)
  const other = await createTestLedger(api)
  const idempotency = makeIdempotency('k', 'request')
  assert.deepEqual(await append(api, makeEntry(ledger, { idempotency })), ['appended'])
  await api.query('select tallystick.set_ledger_frozen($1, true)', [ledger.id])
  assert.deepEqual(
    await append(
      api,
      makeEntry(ledger),
      makeEntry(other),
      makeEntry(ledger, { idempotency }),
      makeEntry(ledger, { idempotency: makeIdempotency('k', 'another') }),
      ending(ledger, 'ledger-restored'),
    ),
    ['refused_frozen', 'appended', 'replayed', 'conflict', 'refused_frozen'],
  )
  const kid = await newServerKey(owner)
  const rotation = ending(ledger, 'server-key-rotated', ledger.id, { newKid: kid.toString('hex') })
  assert.deepEqual(await append(api, rotation), ['refused_frozen'])
  assert.deepEqual(await append(worker, rotation), ['appended'])
  await api.query('select tallystick.set_ledger_frozen($1, false)', [ledger.id])
  assert.deepEqual(await append(api, makeEntry(ledger)), ['stale'])
  assert.deepEqual(await append(api, makeEntry(ledger, { kid })), ['appended'])
  await checkAllLedgers(owner)
})

test('a ledger closed as restored accepts only ledger-restored', async (t) => {
  const { api, worker, owner, ledger, append } = await open(t)
  assert.deepEqual(await append(api, ending(ledger, 'ledger-restored')), ['refused_state'])
  const close = async (size: number, chain: Buffer) => {
    const { rows } = await worker.query<{ closed: number }>(
      'select cardinality(tallystick.close_restored_ledgers($1, $2, $3, $4)) as closed',
      [[ledger.id], [size], [chain], [null]],
    )
    return rows[0]!.closed === 1
  }
  const { rows } = await owner.query(
    'select seq, chain from tallystick.entries where ledger_id = $1 and seq = 1',
    [ledger.id],
  )
  assert.equal(await close(2, rows[0].chain), false, 'what the chain holds is no reason')
  const known = randomBytes(32)
  assert.equal(await close(90, known), true)
  assert.equal(await close(90, known), false, 'it is closed as restored')
  assert.deepEqual(await append(api, makeEntry(ledger)), ['refused_closed'])
  // `set_ledger_frozen` cannot reopen a closed ledger.
  for (const frozen of [true, false])
    await api.query('select tallystick.set_ledger_frozen($1, $2)', [ledger.id, frozen])
  assert.deepEqual(await append(api, makeEntry(ledger)), ['refused_closed'])
  assert.deepEqual(await append(api, ending(ledger, 'ledger-restored')), ['appended'])
  assert.deepEqual(await append(api, makeEntry(ledger)), ['appended'])
  assert.equal(await close(90, known), false, 'it was acknowledged')
  assert.equal(await close(91, known), true, 'that is another one')
  await checkAllLedgers(owner)
})

test('only the worker may append server-key-rotated, as the only entry of its call', async (t) => {
  const { api, worker, owner, ledger, append } = await open(t)
  const kid = await newServerKey(owner)
  const rotation = () => ending(ledger, 'server-key-rotated', ledger.id, { newKid: kid.toString('hex') })
  assert.deepEqual(await append(api, rotation()), ['refused_kind'])
  await assert.rejects(append(worker, rotation(), makeEntry(ledger)), refusedBy('entries_end_once'))
  const unknown = ending(ledger, 'server-key-rotated', ledger.id, { newKid: '00'.repeat(32) })
  await assert.rejects(append(worker, unknown), refusedBy('chain_heads_forward_only'))
  const move = 'update tallystick.chain_heads set envelope_kid = $2 where ledger_id = $1'
  await assert.rejects(owner.query(move, [ledger.id, kid]), refusedBy('chain_heads_forward_only'))
  for (const client of [api, worker])
    await assert.rejects(client.query(move, [ledger.id, kid]), { code: '42501' })
  assert.deepEqual(await append(worker, rotation()), ['appended'])
  assert.deepEqual(await append(worker, rotation()), ['stale'])
  await checkAllLedgers(owner)
})

test('key-revoked and agent-disabled are refused for an unknown id and the second time', async (t) => {
  const { api, owner, ledger, append } = await open(t)
  const { rows } = await owner.query<{ id: Uuid }>(
    'select key_id as id from tallystick.api_keys where ledger_id = $1',
    [ledger.id],
  )
  for (const [kind, id] of [
    ['key-revoked', rows[0]!.id],
    ['agent-disabled', ledger.agentId],
  ] as const) {
    assert.deepEqual(await append(api, ending(ledger, kind, id)), ['appended'])
    await assert.rejects(append(api, ending(ledger, kind, id)), refusedBy('entries_end_once'))
    await assert.rejects(append(api, ending(ledger, kind, randomId())), refusedBy('entries_end_once'))
  }
  const secrets = await owner.query('select from tallystick.api_key_secrets')
  assert.equal(secrets.rowCount, 0, 'a revoked key has no secrets')
  await checkAllLedgers(owner)
})

test('only an erasure removes an idempotency key’s fingerprint; a retry with the key is then a conflict', async (t) => {
  const { api, worker, owner, ledger, append } = await open(t)
  const idempotency = makeIdempotency('k', 'request')
  const record = makeEntry(ledger, { idempotency })
  const kept = makeEntry(ledger, { idempotency: makeIdempotency('other', 'request') })
  assert.deepEqual(await append(api, record, kept), ['appended', 'appended'])
  const forget = 'update tallystick.idempotency_keys set salt = null, fingerprint = null where seq = $1'
  await assert.rejects(owner.query(forget, [3]), refusedBy('idempotency_keys_append_only'))
  const detail = { document: 'payload', documentSeq: 3, reason: null }
  const erasure = ending(ledger, 'payload-erased', record.subjectId, detail)
  assert.deepEqual(await append(api, erasure), ['appended'])
  await assert.rejects(append(api, { ...erasure, ...makeErasureAgain(ledger, record) }), {
    constraint: 'erasures_pkey',
  })
  await assert.rejects(eraseInDatabase(api, ledger.id, [5]), { code: '42501' })
  await eraseInDatabase(worker, ledger.id, [5])
  await assert.rejects(owner.query(forget, [4]), refusedBy('idempotency_keys_append_only'))
  assert.deepEqual(await append(api, makeEntry(ledger, { idempotency })), ['conflict'])
  const { rows } = await owner.query(
    'select payload, salt, metadata, reference_list from tallystick.records where first_seq = 3',
  )
  assert.deepEqual(rows, [{ payload: null, salt: null, metadata: null, referenceList: null }])
})

test('erasing a step’s document also removes its request’s fingerprint, and nothing else of the record', async (t) => {
  const { api, worker, owner, ledger, append } = await open(t)
  const way = makeWay(ledger, 'SUBMITTED').map((entry, i) => ({
    ...entry,
    idempotency: makeIdempotency(`step ${i}`, 'request'),
  }))
  for (const entry of way) await append(api, entry)
  const { subjectId } = way[2]!.document!
  await append(api, ending(ledger, 'payload-erased', subjectId, { document: 'evidence', documentSeq: 5 }))
  const read = async () =>
    (
      await owner.query(
        `select k.seq, k.salt is null as forgotten, d.content is null as empty, d.erased_seq
         from tallystick.idempotency_keys k left join tallystick.documents d using (ledger_id, seq)
         where ledger_id = $1 order by seq`,
        [ledger.id],
      )
    ).rows
  const erase = () => eraseInDatabase(worker, ledger.id, [6])
  const before = await read()
  assert.equal(await erase(), 1)
  assert.equal(await erase(), 0, 'it is gone already')
  assert.deepEqual(await read(), [
    ...before.slice(0, 2),
    { seq: 5, forgotten: true, empty: true, erasedSeq: 6 },
  ])
  await assert.rejects(
    owner.query('update tallystick.idempotency_keys set salt = null, fingerprint = null where seq = 3'),
    refusedBy('idempotency_keys_append_only'),
  )
  await checkLedger(owner, ledger.id)
})

function makeErasureAgain(ledger: TestLedger, record: TestEntry): Partial<TestEntry> {
  const { envelope, leaf } = ending(ledger, 'payload-erased', record.subjectId)
  return { envelope, leaf }
}

test('keys that sign nowhere are retired and their secrets destroyed, but never the newest', async (t) => {
  const { api, worker, owner, ledger, append } = await open(t)
  const retire = async () =>
    Number((await worker.query('select tallystick.retire_envelope_keys() as retired')).rows[0].retired)
  const first = await owner.query("select kid from tallystick.server_keys where use = 'envelope'")
  assert.equal(await retire(), 0, 'it is the newest')
  const kid = await newServerKey(owner)
  await owner.query(
    "update tallystick.server_keys set activated_at = now() - interval '1 hour' where use = 'envelope'",
  )
  await owner.query(
    "update tallystick.server_keys set activated_at = now() - interval '30 minutes' where kid = $1",
    [kid],
  )
  assert.equal(await retire(), 1, 'the first signs for no ledger: these tests use kids of their own')
  const left = await owner.query('select kid from tallystick.envelope_key_secrets')
  assert.ok(!left.rows.some((row) => row.kid.equals(first.rows[0].kid)))
  await assert.rejects(api.query('select tallystick.retire_envelope_keys()'), { code: '42501' })
  const rotation = ending(ledger, 'server-key-rotated', ledger.id, { newKid: kid.toString('hex') })
  assert.deepEqual(await append(worker, rotation), ['appended'])
})
