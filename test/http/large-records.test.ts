import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RECORD_THREAD_BYTES_MIN } from '../../src/http/limits.ts'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { PAYLOAD, sharedGatedApp } from '../helpers/gated-app.ts'
import { digestOf } from '../helpers/open-envelope.ts'

const NOTE = 'ü'.repeat(RECORD_THREAD_BYTES_MIN / 2)
const DAY_MS = 86_400_000

test('a large record that a thread parses', async (t) => {
  const app = await sharedGatedApp()
  const key = app.agents.principal.key
  const post = (body: object, headers = {}) => app.send('POST', '/v1/records', { key, body, headers })
  const large = (payload: object) => ({ type: 'generic/1', payload: { note: NOTE, ...payload } })

  await t.test('is stored and shown like any other', async () => {
    const body = { ...large({ z: 1, a: [1.5, null, {}] }), metadata: { b: 1, a: 2 }, references: ['erp:1'] }
    const made = expectStatus(201, await post(body))
    const record = made.json()
    assert.deepEqual(
      [record.payload, record.metadata, record.references],
      [body.payload, body.metadata, ['erp:1']],
    )
    assert.equal(record.digest, digestOf(record.salt, body.payload))
    assert.equal((await app.send('GET', `/v1/records/${record.id}`, { key })).body, made.body)
    const salt = 'XaGvK-1McJRNX-agVfElbQ'
    assert.equal(expectStatus(201, await post({ ...body, salt })).json().salt, salt)
  })

  await t.test('is recognized by its Idempotency-Key in another spelling', async () => {
    const headers = { 'idempotency-key': 'large' }
    const first = expectStatus(201, await post({ ...large({ a: 1, b: 2 }) }, headers))
    const second = await post({ payload: { b: 2, a: 1, note: NOTE }, type: 'generic/1' }, headers)
    assert.deepEqual([second.json(), second.headers['idempotency-replayed']], [first.json(), 'true'])
    assertProblem(await post(large({ a: 1, b: 3 }), headers), 422, 'idempotency_key_reused')
  })

  await t.test('is checked against its type’s schema, and may be gated', async () => {
    const deadline = new Date(Date.now() + DAY_MS).toISOString()
    const body = { type: 'delivery/1', payload: PAYLOAD, references: ['erp:1'], metadata: { a: 1 }, deadline }
    const spaces = ' '.repeat(RECORD_THREAD_BYTES_MIN)
    const send = (of: object) => app.send('POST', '/v1/records', { key, text: JSON.stringify(of) + spaces })
    const made = expectStatus(201, await send(body)).json()
    assert.deepEqual([made.state, made.payload, made.gated.deadline], ['CREATED', PAYLOAD, deadline])
    assertProblem(await send({ ...body, payload: { ...PAYLOAD, quantity: 'many' } }), 422, 'payload_invalid')
    const tolerances = { quantity: { percent: '1'.repeat(20_000) } }
    assertProblem(await send({ ...body, tolerances }), 422, 'invalid_request')
  })

  await t.test('is refused with the same codes as any other', async () => {
    const refusals: [string | object, number, string][] = [
      [`{"type":"generic/1","payload":{"note":"${NOTE}"}`, 400, 'bad_json'],
      [`{"type":"generic/1","payload":{"a":1,"a":2,"note":"${NOTE}"}}`, 400, 'lossy_json'],
      [large({ note: 'x'.repeat(66_000) }), 422, 'document_too_large'],
      [{ ...large({}), metadata: { note: 'x'.repeat(5_000) } }, 422, 'metadata_too_large'],
      [{ ...large({}), colour: 'blue' }, 422, 'invalid_request'],
      [{ ...large({}), type: 'unknown/1' }, 422, 'unknown_type'],
      [{ ...large({}), gate: 'auto' }, 422, 'not_gated'],
    ]
    for (const [body, status, code] of refusals) {
      const sent = typeof body === 'string' ? { key, text: body } : { key, body }
      assertProblem(await app.send('POST', '/v1/records', sent), status, code)
    }
    const headers = { 'idempotency-key': 'with spaces in it' }
    assertProblem(await post(large({}), headers), 400, 'invalid_idempotency_key')
  })
})
