import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Tallystick } from '../../sdk/client.ts'
import { UsageError } from '../../sdk/errors.ts'
import { TallystickOperator } from '../../sdk/operator.ts'
import { API_KEY, failureOf, sendJson, startHostile } from './hostile-server.ts'

const PAYLOAD = { payload: { n: 1 } }

test('meaningless arguments are refused before any request', async (t) => {
  const server = await startHostile(t, (response) => sendJson(response, {}))
  const client = server.client()
  const calls: (() => Promise<unknown>)[] = [
    () => client.records.get(''),
    () => client.records.get('..'),
    () => client.checkpoints.get('.' as never),
    () => client.records.notarize(PAYLOAD, { idempotencyKey: 'two words' }),
    () => client.records.notarize(PAYLOAD, { idempotencyKey: '' }),
    () => client.records.notarize(PAYLOAD, { traceparent: 'a\r\nx-evil: 1' }),
    () => client.records.notarize({ payload: { n: Number.NaN } }),
    () => client.records.activate('rec_1', {}, { ifVersion: 0 }),
    () => client.ledger.get({ timeoutMs: 0 }),
    () => client.ledger.get({ timeoutMs: Number.NaN }),
    () => client.ledger.get({ retriesMax: Number.NaN }),
    () => client.ledger.get({ retriesMax: -1 }),
    () => client.entries.stream({ after: -2 }).next(),
    () => client.entries.stream({ limit: Number.NaN }).next(),
  ]
  for (const call of calls) await failureOf(call(), UsageError, /./)
  assert.equal(server.requests.length, 0)
  for (const baseUrl of [
    '',
    'localhost:3000',
    'ftp://x',
    'http://u:p@x',
    'http://u@x',
    'http://x?a=1',
    'http://x#y',
  ])
    assert.throws(() => new Tallystick({ baseUrl, apiKey: API_KEY }), UsageError, baseUrl)
  for (const apiKey of ['', 'a b', 'a\nb', 'ü'])
    assert.throws(() => new Tallystick({ baseUrl: server.baseUrl, apiKey }), UsageError)
  assert.throws(() => server.client({ retries: { delayMsMin: 9, delayMsMax: 1 } }), UsageError)
})

test('white space around an API key is removed; white space inside is refused with its position', async (t) => {
  const server = await startHostile(t, (response) => sendJson(response, {}))
  for (const apiKey of [
    `${API_KEY}\n`,
    `${API_KEY}\r\n`,
    ` ${API_KEY}`,
    `\t${API_KEY} `,
    `\ufeff${API_KEY}`,
  ]) {
    await server.client({ apiKey }).ledger.get()
    await server.client({ apiKey: () => apiKey }).ledger.get()
  }
  for (const { headers } of server.requests) assert.equal(headers.authorization, `Bearer ${API_KEY}`)
  for (const [apiKey, says] of [
    ['tly_one tly_two', /after its first 7 characters/],
    ['tly_one\ntly_two', /after its first 7 characters/],
    ['tly_onü', /after its first 6 characters/],
    [' \r\n', /no API key/],
  ] as const) {
    const isTold = (error: unknown) =>
      error instanceof UsageError && says.test(error.message) && !error.message.includes('tly')
    assert.throws(() => server.client({ apiKey }), isTold)
    assert.throws(() => new TallystickOperator({ baseUrl: server.baseUrl, operatorKey: apiKey }), isTold)
  }
  assert.throws(() => server.client({ fetch: 'proxy.example' as never }), UsageError)
})

test('ids are escaped, so that no id changes the path or host of a request', async (t) => {
  const server = await startHostile(t, (response) => sendJson(response, {}))
  await server.client().records.get('../ledger?x=1#y')
  await server.client({ baseUrl: `${server.baseUrl}/behind/` }).records.get('a/b')
  // A path that begins with two slashes would be read as a host, and the key would be sent to a host named v1.
  await server.client({ baseUrl: `${server.baseUrl}//`, retries: { retriesMax: 0 } }).records.get('c')
  assert.deepEqual(
    server.requests.map(({ url }) => url),
    ['/v1/records/..%2Fledger%3Fx%3D1%23y', '/behind/v1/records/a%2Fb', '/v1/records/c'],
  )
})

test('inspect, JSON and String of a client do not show its API key', () => {
  const client = new Tallystick({ baseUrl: 'http://127.0.0.1:1', apiKey: API_KEY })
  const shown = [inspect(client, { depth: 10, showHidden: true }), JSON.stringify(client), String(client)]
  for (const text of shown) assert.ok(!text.includes(API_KEY))
})

test('an apiKey function is called before each attempt, so that a rotated key is used', async (t) => {
  const server = await startHostile(t, (response, attempt) =>
    attempt === 1 ? response.destroy() : sendJson(response, {}),
  )
  const keys = ['tly_old', 'tly_new', 'two words']
  const client = server.client({ apiKey: async () => keys.shift()! })
  await client.ledger.get()
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    ['Bearer tly_old', 'Bearer tly_new'],
  )
  await failureOf(client.ledger.get(), UsageError, /the API key has a space/)
  const lost = server.client({ apiKey: () => Promise.reject(new Error('the vault is closed')) })
  await assert.rejects(lost.ledger.get(), { message: 'the vault is closed' })
  assert.equal(server.requests.length, 2)
})
