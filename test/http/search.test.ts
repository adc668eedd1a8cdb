import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus, type SendOptions, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { movedCursor } from '../helpers/cursors.ts'
import { fullItem, fullRecord, searchesOf } from '../helpers/every-member.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACED = { headers: { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` } }

async function list(app: TestApp, query: Record<string, string> = {}, options: SendOptions = {}) {
  const response = await app.send('GET', `/v1/records?${new URLSearchParams(query)}`, options)
  return expectStatus(200, response).json() as { data: { id: string }[]; nextCursor: string | null }
}

const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)

test('lists complete records, newest first or oldest first, those of a batch in its order', async () => {
  const app = await sharedApp()
  const first = await app.notarize()
  const body = { records: [1, 2, 3].map((n) => ({ type: 'generic/1', payload: { n } })) }
  const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body })).json()
  const last = await app.notarize()
  const ids = [first.id, ...idsOf({ data: batch.records }), last.id]

  const page = await list(app, { order: 'asc' })
  assert.deepEqual(idsOf(page), ids)
  assert.equal(page.nextCursor, null)
  assert.deepEqual(idsOf(await list(app)), ids.reverse())
  for (const record of page.data)
    assert.deepEqual(record, (await app.send('GET', `/v1/records/${record.id}`)).json())
})

test('finds a record by each of its properties, and not by other values', async () => {
  const app = await sharedApp()
  const client = await addAgent(app, 'client')
  const parent = await app.notarize()
  const body = {
    type: 'generic/1',
    payload: { n: 1 },
    parent: parent.id,
    references: ['erp:order/1', 'https://erp.example/ü?a=1&b=2'],
    onBehalfOf: client,
    occurredAt: '2026-02-28T12:00:00Z',
  }
  const record = await app.notarize(body, TRACED)
  const found: [Record<string, string>, string[]][] = [
    [{ type: 'generic/1' }, [record.id, parent.id]],
    [{ type: 'generic/2' }, []],
    [{ state: 'RECORDED' }, [record.id, parent.id]],
    [{ state: 'ACTIVE' }, []],
    [{ actor: app.ledger.agent.id }, [record.id, parent.id]],
    [{ actor: client }, []],
    [{ onBehalfOf: client }, [record.id]],
    [{ onBehalfOf: app.ledger.agent.id }, []],
    [{ parent: parent.id }, [record.id]],
    [{ parent: record.id }, []],
    [{ reference: 'erp:order/1' }, [record.id]],
    [{ reference: 'https://erp.example/ü?a=1&b=2' }, [record.id]],
    [{ reference: 'erp:order' }, []],
    [{ traceId: TRACE_ID }, [record.id]],
    [{ traceId: '1'.repeat(32) }, []],
    [{ occurredAfter: '2026-02-28T12:00:00Z' }, [record.id]],
    [{ occurredAfter: '2026-02-28T12:00:00.001Z' }, []],
    [{ occurredBefore: '2026-02-28T12:00:00.001Z' }, [record.id]],
    [{ occurredBefore: '2026-02-28T12:00:00Z' }, []],
    [{ recordedAfter: record.recordedAt, traceId: TRACE_ID }, [record.id]],
    [{ recordedBefore: record.recordedAt, traceId: TRACE_ID }, []],
    [{ recordedAfter: '2020-01-01T00:00:00Z' }, [record.id, parent.id]],
    [{ recordedBefore: '2020-01-01T00:00:00Z' }, []],
    [{ type: 'generic/1', onBehalfOf: client, traceId: TRACE_ID }, [record.id]],
    [{ parent: parent.id, reference: 'erp:order' }, []],
  ]
  for (const [query, ids] of found)
    assert.deepEqual(idsOf(await list(app, query)), ids, JSON.stringify(query))
})

test('finds a single and a batched record by each searchable member, and not by another value', async () => {
  const app = await sharedApp()
  const agents = [await addAgent(app, 'first'), await addAgent(app, 'second')] as const
  const records = [(await app.notarize()).id, (await app.notarize()).id] as const
  const { body, headers } = fullRecord({ agents, records })
  const single = await app.notarize(body, { headers })
  const batch = { records: [fullItem({ agents, records })] }
  const made = expectStatus(201, await app.send('POST', '/v1/records/batch', { body: batch })).json()
  const ids = [made.records[0].id, single.id]
  for (const { member, finds, misses } of searchesOf({ agents, records })) {
    const found = idsOf(await list(app, finds)).filter((id) => ids.includes(id))
    assert.deepEqual(found, ids, member)
    const missed = idsOf(await list(app, misses))
    assert.ok(!missed.some((id) => ids.includes(id)), member)
  }
})

test('a cursor continues where its page ended, and is refused by another list', async () => {
  const app = await sharedApp()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift((await app.notarize()).id)
  const first = await list(app, { limit: '2' })
  await app.notarize()
  const second = await list(app, { limit: '2', cursor: first.nextCursor! })
  const third = await list(app, { limit: '2', cursor: second.nextCursor! })
  assert.deepEqual([first, second, third].flatMap(idsOf), ids)
  assert.equal(third.nextCursor, null)

  const refused = async (query: Record<string, string>) => {
    const response = await app.send('GET', `/v1/records?${new URLSearchParams(query)}`)
    assertProblem(response, 422, 'invalid_request')
  }
  const cursor = first.nextCursor!
  await refused({ cursor: `x${cursor}` })
  for (const text of ['', '{}', '"x"', '1e9', 'null', '[null]'])
    await refused({ cursor: Buffer.from(text).toString('base64url') })
  for (const place of [[], [1], [1, 0, 0], [null, 0], ['1', 0], [-1, 0], [0, -1], [1.5, 0], [1e16, 0]])
    await refused({ cursor: movedCursor(cursor, place) })
})

test('refuses malformed and unknown filters with 422 invalid_request', async () => {
  const app = await sharedApp()
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=1e2',
    'order=up',
    'type=Generic/1',
    'state=recorded',
    'state=DONE',
    'actor=rec_00000000000000000000000000',
    'parent=x',
    'reference=',
    `reference=${'x'.repeat(257)}`,
    'reference=%00',
    'traceId=AF7651916CD43DD8448EB211C80319C0',
    `digest=${'00'.repeat(32)}`,
    'occurredAfter=2026-02-30T00:00:00Z',
    'recordedBefore=yesterday',
    'recordedAt=2026-02-28T00:00:00Z',
    'performer=x',
    'type=generic/1&type=generic/1',
  ])
    assertProblem(await app.send('GET', `/v1/records?${query}`), 422, 'invalid_request')
})

test('shows only the agent’s own records to a key with records:read:own, in lists, trees and entries', async () => {
  const app = await sharedApp()
  const agent = await addAgent(app, 'own')
  const key = await addKey(app, { agent, scopes: ['records:read:own', 'records:write'] })
  const own = await app.notarize(undefined, { key })
  const forIt = await app.notarize({ type: 'generic/1', payload: {}, onBehalfOf: agent, parent: own.id })
  const other = await app.notarize({ type: 'generic/1', payload: {}, parent: own.id, references: ['a:1'] })
  const below = await app.notarize({ type: 'generic/1', payload: {}, parent: other.id, onBehalfOf: agent })

  const visible = [below.id, forIt.id, own.id]
  assert.deepEqual(idsOf(await list(app, {}, { key })), visible)
  assert.deepEqual(idsOf(await list(app, { order: 'asc' }, { key })), [...visible].reverse())
  assert.deepEqual(idsOf(await list(app, { actor: agent }, { key })), [own.id])
  assert.deepEqual(idsOf(await list(app, { onBehalfOf: agent }, { key })), [below.id, forIt.id])
  assert.deepEqual(idsOf(await list(app, { performer: agent }, { key })), [])
  for (const query of [{ actor: app.ledger.agent.id }, { parent: own.id }, { type: 'generic/1' }])
    assert.ok(!idsOf(await list(app, query as never, { key })).includes(other.id), JSON.stringify(query))
  assert.deepEqual(idsOf(await list(app, { reference: 'a:1' }, { key })), [])

  for (const path of ['', '/entries', '/tree']) {
    expectStatus(200, await app.send('GET', `/v1/records/${own.id}${path}`, { key }))
    expectStatus(200, await app.send('GET', `/v1/records/${forIt.id}${path}`, { key }))
    assertProblem(await app.send('GET', `/v1/records/${other.id}${path}`, { key }), 404, 'not_found')
  }
  const tree = (await app.send('GET', `/v1/records/${own.id}/tree`, { key })).json()
  assert.deepEqual(idsOf(tree.children), [forIt.id])
  const upward = (await app.send('GET', `/v1/records/${below.id}/tree`, { key })).json()
  assert.deepEqual(idsOf({ data: upward.ancestors }), [own.id], 'what lies between is not its own')
  // A cursor of the whole list must be refused for a list of own records.
  const cursor = (await list(app, { limit: '1' })).nextCursor!
  assertProblem(
    await app.send('GET', `/v1/records?limit=1&cursor=${cursor}`, { key }),
    422,
    'invalid_request',
  )
})

test('shows a ledger no records of another ledger: empty lists, 404 for tree and entries', async () => {
  const app = await sharedApp()
  const record = await app.notarize({ type: 'generic/1', payload: {}, references: ['a:1'] })
  const { key } = (await app.newLedger()).key
  for (const query of [{}, { parent: record.id }, { reference: 'a:1' }, { actor: record.actor }])
    assert.deepEqual(idsOf(await list(app, query as never, { key })), [])
  assertProblem(await app.send('GET', `/v1/records/${record.id}/tree`, { key }), 404, 'not_found')
  assertProblem(await app.send('GET', `/v1/records/${record.id}/entries`, { key }), 404, 'not_found')
})
