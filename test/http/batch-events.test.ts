import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { findEventRows } from '../../src/db/events/read-events.ts'
import { parseId } from '../../src/proof/ids.ts'
import { expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { allEvents, eventPage } from '../helpers/event-ledger.ts'
import { addAgentsWithKeys } from '../helpers/more-keys.ts'
import { erase } from '../helpers/personal-records.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { listStoredChunks, writeContent } from '../helpers/stored-chunks.ts'

/* Tests that events of batch records have the record's data, which is read from the record's chunk. */

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

type Batch = {
  readonly entry: { readonly seq: number }
  readonly records: readonly { readonly id: string }[]
}

async function notarize(app: TestApp, records: readonly object[], options: object = {}): Promise<Batch> {
  const answer = await app.send('POST', '/v1/records/batch', { body: { records }, ...options })
  return expectStatus(201, answer).json()
}

async function addType(app: TestApp): Promise<void> {
  const body = { name: 'note', version: 1, payloadSchema: { type: 'object' } }
  expectStatus(201, await app.send('POST', '/v1/types', { body }))
}

const notes = (count: number) => Array.from({ length: count }, (_, i) => ({ type: 'note/1', payload: { i } }))

test('a batch’s event counts its records of each type over all chunks', async () => {
  const app = await sharedApp()
  await addType(app)
  await notarize(app, [...notes(65), genericBody(), ...notes(65)])
  await notarize(app, notes(130))
  const told = (await allEvents(app)).map(({ data }) => data.batch?.types)
  assert.deepEqual(told, [{ 'note/1': 130, 'generic/1': 1 }, { 'note/1': 130 }])
  for (const [types, count] of [
    ['generic', 1],
    ['note', 2],
    ['note/2', 0],
  ] as const)
    assert.equal((await allEvents(app, { types })).length, count, types)
})

test('an erasure in a batch makes an event about its record, visible to its readers', async () => {
  const app = await sharedApp()
  await addType(app)
  const own = ['records:write', 'records:read:own'] as const
  const agents = await addAgentsWithKeys(app, {
    actor: [...own, 'agents:act'],
    named: [...own],
    stranger: [...own],
  })
  const item = { traceparent: TRACEPARENT, onBehalfOf: agents.named.id }
  const records = [...notes(70), { ...notes(1)[0], ...item }, genericBody()]
  const batch = await notarize(app, records, { key: agents.actor.key })
  const { id } = batch.records[70]!
  const { entry } = expectStatus(202, await erase(app, id)).json().erasure
  const isErasure = ({ type }: { type: string }) => type === 'payload.erased'
  const [event] = (await allEvents(app)).filter(isErasure)
  assert.deepEqual(event.data.record, { id, type: 'note/1', state: null, version: null })
  for (const [name, count] of [
    ['actor', 1],
    ['named', 1],
    ['stranger', 0],
  ] as const) {
    const seen = (await allEvents(app, {}, agents[name].key)).filter(isErasure)
    assert.deepEqual(seen, Array(count).fill(event), name)
  }
  assert.deepEqual((await allEvents(app, { types: 'note' })).filter(isErasure), [event])
  assert.deepEqual((await allEvents(app, { types: 'generic' })).filter(isErasure), [])
  const { rows } = await findEventRows(app.deps.readPool, parseId('led', app.ledger.ledger.id), [entry.seq])
  const [row] = rows
  assert.equal(row!.recordTraceparent, TRACEPARENT)
})

test('an unreadable chunk ends the events before its batch and its erasures with 500 integrity_fault', async () => {
  const app = await sharedApp()
  await addType(app)
  await notarize(app, [genericBody()])
  const batch = await notarize(app, [genericBody(), ...notes(1)])
  expectStatus(202, await erase(app, batch.records[0]!.id))
  await app.notarize()
  const events = await allEvents(app)
  const [, chunk] = await listStoredChunks(app)
  await writeContent(app, chunk!, randomBytes(100))
  const before = await eventPage(app)
  assert.deepEqual(before.data, events.slice(0, 1))
  assertProblem(await app.send('GET', `/v1/events?cursor=${before.nextCursor}`), 500, 'integrity_fault')
  const erasures = await app.send('GET', '/v1/events?events=payload.erased')
  assertProblem(erasures, 500, 'integrity_fault')
  assert.deepEqual(await allEvents(app, { events: 'record.recorded' }), events.slice(-1))
})
