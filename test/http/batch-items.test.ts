import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CHUNK_COLUMNS,
  CHUNK_ERASURES,
  type ChunkColumns,
  recordsOfChunk,
} from '../../src/db/chunks/read-chunks.ts'
import { PACKED_TYPES } from '../../src/db/connect/packed-bytes.ts'
import { PARENT_DEPTH_MAX } from '../../src/db/limits.ts'
import { BATCH_THREAD_BYTES_MIN } from '../../src/http/limits.ts'
import { formatId, parseIdBytes } from '../../src/proof/ids.ts'
import { BATCH_PARENTS_MAX } from '../../src/proof/request-limits.ts'
import { expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { fullItem, samplesOfItem } from '../helpers/every-member.ts'
import { addAgent, addAgentsWithKeys } from '../helpers/more-keys.ts'
import { digestOf, itemLeafOf, openEnvelope, rootOf } from '../helpers/open-envelope.ts'
import { sharedApp } from '../helpers/shared-app.ts'

type Item = { readonly [name: string]: unknown }
type Answer = {
  readonly batch: string
  readonly entry: { readonly seq: number }
  readonly records: readonly { readonly id: string; readonly digest: string; readonly salt: string }[]
}

const REFERENCES = ['erp:order/1', 'https://erp.example/ü', 'erp:order/1']
const TRACES = ['4bf92f3577b34da6a3ce929d0e0e4736', '0af7651916cd43dd8448eb211c80319c'].map(
  (trace) => `00-${trace}-00f067aa0ba902b7-01`,
)
const [OF_REQUEST, OF_ITEM] = TRACES as [string, string]
const NOWHERE = 'rec_00000000000000000000000000'

const items = (...members: Item[]) => members.map((member, i) => ({ ...genericBody({ i }), ...member }))

/** Two sizes of one request. The event loop builds the small batch, and a thread builds the large batch. */
const SIZES = {
  'a small body': (records: readonly Item[]) => records,
  'a body that a thread builds': (records: readonly Item[]) => [
    ...records,
    genericBody({ text: 'x'.repeat(BATCH_THREAD_BYTES_MIN) }),
  ],
} as const

const postTo = (app: TestApp, records: readonly Item[], options: object = {}) =>
  app.send('POST', '/v1/records/batch', { body: { records }, ...options })

async function notarize(app: TestApp, records: readonly Item[], options: object = {}): Promise<Answer> {
  return expectStatus(201, await postTo(app, records, options)).json()
}

const read = async (app: TestApp, id: string) =>
  expectStatus(200, await app.send('GET', `/v1/records/${id}`)).json()

async function ancestorsOf(app: TestApp, id: string): Promise<string[]> {
  const { parent } = await read(app, id)
  return parent === null ? [] : [parent, ...(await ancestorsOf(app, parent))]
}

async function stored(app: TestApp, seq: number) {
  const { rows } = await app.deps.readPool.query<ChunkColumns>({
    text: `select ${CHUNK_COLUMNS} from tallystick.batch_chunks c ${CHUNK_ERASURES}
      where c.ledger_id = $1 and c.seq = $2 order by c.chunk`,
    values: [app.ledgerId, seq],
    types: PACKED_TYPES,
  })
  return (await Promise.all(rows.map((row) => recordsOfChunk(app.deps.readPool, row)))).flat()
}

/** Asserts with the second implementation of docs/formats that the batch signs exactly these items. */
async function assertSigned(app: TestApp, { entry, records, batch }: Answer, signed: readonly Item[]) {
  const [row] = await app.sql<{ envelope: Buffer }>(
    'select envelope from tallystick.entries where ledger_id = $1 and seq = $2',
    [app.ledgerId, entry.seq],
  )
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const { statement } = openEnvelope(row!.envelope.toString('base64'), keys)
  const leaves = records.map(({ id, digest }, i) =>
    itemLeafOf({ record: id, type: 'generic/1', digest, ...signed[i] }),
  )
  const sha256 = rootOf(leaves).toString('hex')
  assert.deepEqual(statement.subject, [{ name: batch, digest: { sha256 } }])
  const [line] = await app.entries(`?after=${entry.seq - 1}&limit=1`)
  assert.deepEqual(line.items.map(itemLeafOf), leaves)
}

for (const [size, ofSize] of Object.entries(SIZES)) {
  test(`${size}: parent, references and trace of items are signed, stored and answered`, async () => {
    const app = await sharedApp()
    const outside = await app.notarize()
    const records = ofSize(
      items(
        { parent: outside.id },
        { parent: 0, references: REFERENCES },
        { parent: 1, traceparent: OF_ITEM, references: [] },
        {},
      ),
    )
    const answer = await notarize(app, records, { headers: { traceparent: OF_REQUEST } })
    const ids = answer.records.map(({ id }) => id)
    const parents = [outside.id, ids[0], ids[1], null, null].slice(0, records.length)
    const references = [null, REFERENCES, null, null, null].slice(0, records.length)
    const traces = [OF_REQUEST, OF_REQUEST, OF_ITEM, OF_REQUEST, OF_REQUEST].slice(0, records.length)
    const shown = await Promise.all(ids.map((id) => read(app, id)))
    assert.deepEqual(
      shown.map((record) => [record.parent, record.references, record.batch]),
      parents.map((parent, i) => [parent, references[i], answer.batch]),
    )
    const held = await stored(app, answer.entry.seq)
    assert.deepEqual(
      held.map(({ recordId, parentId, traceparent }) => [
        formatId('rec', recordId),
        parentId && formatId('rec', parentId),
        traceparent,
      ]),
      ids.map((id, i) => [id, parents[i], traces[i]]),
    )
    assert.equal(String(held[1]!.references), JSON.stringify(REFERENCES))
    const digest = digestOf(answer.records[1]!.salt, REFERENCES)
    await assertSigned(
      app,
      answer,
      ids.map((_, i) => ({
        ...(parents[i] && { parent: parents[i] }),
        ...(references[i] && { references: digest }),
        traceparent: traces[i],
      })),
    )
  })

  test(`${size}: an item’s parent may be in an earlier batch, or a record hidden from the caller`, async () => {
    const app = await sharedApp()
    const made = await addAgentsWithKeys(app, { blind: ['records:write', 'records:read:own'] })
    const { key } = made.blind
    const earlier = await notarize(app, items({}, { parent: 0 }))
    const alone = await app.notarize()
    const parents = [earlier.records[1]!.id, alone.id]
    for (const parent of parents) {
      assert.equal((await app.send('GET', `/v1/records/${parent}`, { key })).statusCode, 404)
      expectStatus(201, await app.send('POST', '/v1/records', { body: { ...genericBody(), parent }, key }))
    }
    const answer = await notarize(app, ofSize(items(...parents.map((parent) => ({ parent })))), { key })
    const shown = await Promise.all(answer.records.slice(0, 2).map(({ id }) => read(app, id)))
    assert.deepEqual(
      shown.map(({ parent }) => parent),
      parents,
    )
    assert.deepEqual(
      await ancestorsOf(app, answer.records[0]!.id),
      earlier.records.map(({ id }) => id).reverse(),
    )
  })

  test(`${size}: one bad item refuses the whole batch, with its index`, async () => {
    const app = await sharedApp()
    const chain = await notarize(
      app,
      items(...Array.from({ length: PARENT_DEPTH_MAX }, (_, i) => (i ? { parent: i - 1 } : {}))),
    )
    const deepest = chain.records.at(-1)!.id
    const foreign = await app.newLedger()
    const theirs = expectStatus(
      201,
      await app.send('POST', '/v1/records', { body: genericBody(), key: foreign.key.key }),
    ).json()
    const [held] = chain.records
    const beyond = formatId('rec', (await app.deps.entropy.uuidv7(Date.now())) as never)
    const before = await app.written()
    const refused = async (code: string, members: Item, path: string) => {
      const response = await postTo(app, ofSize(items({}, { parent: 0 }, members)))
      const problem = assertProblem(response, 422, code, JSON.stringify(members))
      assert.equal(problem['path'], path, response.body)
      if (code !== 'invalid_request') assert.equal(problem['index'], 2)
    }
    const parent = '/records/2/parent'
    await refused('unknown_parent', { parent: 2 }, parent)
    await refused('unknown_parent', { parent: 3 }, parent)
    await refused('unknown_parent', { parent: 1_999 }, parent)
    await refused('unknown_parent', { parent: NOWHERE }, parent)
    await refused('unknown_parent', { parent: beyond }, parent)
    await refused('unknown_parent', { parent: theirs.id }, parent)
    await refused('unknown_parent', { parent: nextId(chain.records.at(-1)!.id) }, parent)
    await refused('parent_too_deep', { parent: deepest }, parent)
    for (const wrong of [-1, 1.5, 2_000, '0', 'rec_1', deepest.toUpperCase(), null, held])
      await refused('invalid_request', { parent: wrong }, parent)
    for (const references of ['a:1', Array(17).fill('a:1'), null, {}])
      await refused('invalid_request', { references }, '/records/2/references')
    for (const wrong of ['', 'x'.repeat(257), 'a\u0007', 1])
      await refused('invalid_request', { references: [wrong] }, '/records/2/references/0')
    await refused('invalid_request', { references: Array(16).fill('ü'.repeat(256)) }, '/records/2/references')
    for (const traceparent of [
      '',
      'x',
      `01${OF_ITEM.slice(2)}`,
      OF_ITEM.toUpperCase(),
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      null,
    ])
      await refused('invalid_request', { traceparent }, '/records/2/traceparent')
    assert.deepEqual(await app.written(), before)
  })

  test(`${size}: items may reach the maximum depth through earlier items, and not exceed it`, async () => {
    const app = await sharedApp()
    const outside = await notarize(app, items({}, { parent: 0 }))
    const below = (count: number) =>
      ofSize(
        items(
          { parent: outside.records[1]!.id },
          ...Array.from({ length: count - 1 }, (_, i) => ({ parent: i })),
        ),
      )
    const answer = await notarize(app, below(PARENT_DEPTH_MAX - 2))
    const deepest = answer.records[PARENT_DEPTH_MAX - 3]!.id
    assert.equal((await ancestorsOf(app, deepest)).length, PARENT_DEPTH_MAX - 1)
    const before = await app.written()
    const problem = assertProblem(await postTo(app, below(PARENT_DEPTH_MAX - 1)), 422, 'parent_too_deep')
    const index = PARENT_DEPTH_MAX - 2
    assert.deepEqual([problem['path'], problem['index']], [`/records/${index}/parent`, index])
    assert.deepEqual(await app.written(), before)
  })

  test(`${size}: items may name at most ${BATCH_PARENTS_MAX} different records outside the batch`, async () => {
    const app = await sharedApp()
    const outside = await notarize(app, items(...Array.from({ length: BATCH_PARENTS_MAX + 1 }, () => ({}))))
    const under = outside.records.map(({ id }) => ({ parent: id }))
    const most = under.slice(0, BATCH_PARENTS_MAX)
    const answer = await notarize(app, ofSize(items(...most, ...most)))
    assert.equal((await read(app, answer.records[BATCH_PARENTS_MAX]!.id)).parent, under[0]!.parent)
    const before = await app.written()
    assertProblem(await postTo(app, ofSize(items(...under))), 422, 'invalid_request')
    assert.deepEqual(await app.written(), before)
  })

  test(`${size}: a replay gets the first answer; a change of any member is refused with idempotency_key_reused`, async () => {
    const app = await sharedApp()
    const [agent, known] = [app.ledger.agent.id, await addAgent(app, 'other')]
    const records = [(await app.notarize()).id, (await app.notarize()).id] as const
    const samples = samplesOfItem({ agents: [agent, known], records })
    // The type is not changed, because the ledger has no other type. build-batch.test.ts tests other types.
    const { salt: _salt, type: _type, ...members } = samples
    const full = fullItem({ agents: [agent, known], records })
    const headers = { 'idempotency-key': 'items' }
    const first = expectStatus(201, await postTo(app, ofSize(items({}, full)), { headers }))
    const before = await app.written()
    const second = expectStatus(201, await postTo(app, ofSize(items({}, full)), { headers }))
    assert.equal(second.body, first.body)
    assert.equal(second.headers['idempotency-replayed'], 'true')
    const changes = Object.entries(members).map(([name, [, second]]) => ({ [name]: second }))
    for (const change of [...changes, { parent: 0 }, { references: [] }]) {
      const response = await postTo(app, ofSize(items({}, { ...full, ...change })), { headers })
      assertProblem(response, 422, 'idempotency_key_reused', JSON.stringify(change))
    }
    assert.deepEqual(await app.written(), before)
  })
}

test('ids of a batch are consecutive over all chunks, and the first has 12 low zero bits', async () => {
  const app = await sharedApp()
  const { records } = await notarize(
    app,
    items(...Array.from({ length: 2_000 }, (_, i) => (i % 16 ? { parent: i - 1 } : {}))),
  )
  const numbers = records.map(({ id }) => BigInt(`0x${Buffer.from(parseIdBytes('rec', id)).toString('hex')}`))
  assert.equal(numbers[0]! & 0xfffn, 0n)
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => numbers[0]! + BigInt(i)),
  )
  for (const index of [0, 63, 64, 1_999])
    assert.deepEqual((await read(app, records[index]!.id)).payload, { i: index })
  assert.equal((await app.send('GET', `/v1/records/${nextId(records[1_999]!.id)}`)).statusCode, 404)
})

test('a thread builds a batch only if the body is large', async (t) => {
  const app = await sharedApp()
  const run = t.mock.method(app.deps.threads, 'run')
  await notarize(app, SIZES['a small body'](items({})))
  assert.equal(run.mock.callCount(), 0)
  await notarize(app, SIZES['a body that a thread builds'](items({})))
  assert.equal(run.mock.callCount(), 1)
})

test('an invalid traceparent header is ignored, and an item’s own is stored', async () => {
  const app = await sharedApp()
  const answer = await notarize(app, items({}, { traceparent: OF_ITEM }), { headers: { traceparent: 'x' } })
  const traces = (await stored(app, answer.entry.seq)).map(({ traceparent }) => traceparent)
  assert.deepEqual(traces, [null, OF_ITEM])
})

/** Returns the next id in order. The last digit of `id` must not be the greatest digit. */
function nextId(id: string): string {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'
  return `${id.slice(0, -1)}${digits[digits.indexOf(id.at(-1)!) + 1]}`
}
