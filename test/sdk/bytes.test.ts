import assert from 'node:assert/strict'
import { test } from 'node:test'
import vm from 'node:vm'
import { type Bytes, UsageError, verify, webhooks } from '../../sdk/index.ts'
import { agentSigner, makePrivateKey } from '../../sdk/signing/index.ts'
import { sendJson, startHostile } from './hostile-server.ts'
import { makeEndpoint } from './webhook-sender.ts'

const KINDS: Readonly<Record<string, (bytes: Buffer) => Bytes>> = {
  Buffer: (bytes) => bytes,
  'Buffer of a pool': (bytes) => Buffer.concat([Buffer.from('x'), bytes]).subarray(1),
  Uint8Array: (bytes) => new Uint8Array(bytes),
  Uint8ClampedArray: (bytes) => new Uint8ClampedArray(bytes),
  ArrayBuffer: (bytes) => new Uint8Array(bytes).buffer,
  DataView: (bytes) => new DataView(new Uint8Array([0, ...bytes, 0]).buffer, 1, bytes.length),
  SharedArrayBuffer: (bytes) => shared(bytes).buffer,
  'Uint8Array of shared memory': (bytes) => shared(bytes),
  'Uint8Array of another realm (Jest, vm)': (bytes) => foreign('new Uint8Array(of)', bytes),
  'ArrayBuffer of another realm': (bytes) => foreign('new Uint8Array(of).buffer', bytes),
  'DataView of another realm': (bytes) => foreign('new DataView(new Uint8Array(of).buffer)', bytes),
  'SharedArrayBuffer of another realm': (bytes) =>
    foreign('const s = new SharedArrayBuffer(of.length); new Uint8Array(s).set(of); s', bytes),
}

function shared(bytes: Buffer): Uint8Array<SharedArrayBuffer> {
  const view = new Uint8Array(new SharedArrayBuffer(bytes.length))
  view.set(bytes)
  return view
}

function foreign(code: string, bytes: Buffer): Bytes {
  return vm.runInNewContext(code, { of: [...bytes] }) as Bytes
}

function transferred(): ArrayBuffer {
  const buffer = new ArrayBuffer(8)
  structuredClone(buffer, { transfer: [buffer] })
  return buffer
}

const NO_BYTES: Readonly<Record<string, unknown>> = {
  'what a JSON parser made': { type: 'webhook.test' },
  'a list of numbers': [1, 2, 3],
  'an object that says it is a buffer': { [Symbol.toStringTag]: 'ArrayBuffer', byteLength: 3 },
  'an object with the prototype': Object.create(ArrayBuffer.prototype),
  'a buffer that was transferred away': transferred(),
  'a number': 7,
  null: null,
  undefined,
}

const endpoint = makeEndpoint()
const { secret, publicKey } = endpoint
const now = new Date('2026-11-20T12:00:10.900Z')
const { body, headers } = endpoint.send({ type: 'webhook.test', timestamp: 't', data: {} }, { at: now })
const verifyWebhook = (given: unknown) => webhooks.verify(given as Bytes, headers, { secret, publicKey, now })

test('verifyWebhook accepts every kind of bytes, and refuses other values', async () => {
  for (const [name, make] of Object.entries(KINDS))
    assert.equal((await verifyWebhook(make(Buffer.from(body)))).type, 'webhook.test', name)
  for (const [name, given] of Object.entries(NO_BYTES))
    await assert.rejects(verifyWebhook(given), UsageError, name)
})

test('verifyWebhook parses the verified bytes, even if the memory is overwritten meanwhile', async () => {
  for (const make of [KINDS['Buffer']!, KINDS['Uint8Array of shared memory']!]) {
    const bytes = make(Buffer.from(body)) as Uint8Array
    const verifying = verifyWebhook(bytes)
    bytes.fill(0x20)
    assert.equal((await verifying).type, 'webhook.test')
  }
})

const noteKey = 'x'
const record = { keys: [] } as never
/** Functions of the package that take bytes. Each must refuse the bytes for their content, not for their type. */
const TAKERS: Readonly<Record<string, (given: never) => unknown>> = {
  'verify.receipt': (given) => verify.receipt(given, { noteKey }),
  'verify.consistencyReceipt': (given) => verify.consistencyReceipt(given, { from: '', noteKey }),
  'verify.statement': (given) => verify.statement(given, { noteKey }),
  'verify.envelope': (given) => verify.envelope(given, record),
  'verify.toDsse': (given) => verify.toDsse(given, { keys: [], signer: { keyid: 'k', sign: (m) => m } }),
  'verify.export': (given) => verify.export(given),
  'verify.export, receipts': (given) => verify.export('{}', { receipts: [given] }),
}

test('every function of verify with a bytes argument accepts every kind of bytes', async () => {
  for (const [taker, take] of Object.entries(TAKERS)) {
    for (const [name, make] of Object.entries(KINDS))
      await assert.rejects(
        async () => take(make(Buffer.from('no such thing')) as never),
        (error) =>
          error instanceof verify.VerificationError || /noteKey|note key|verifier key/.test(`${error}`),
        `${taker}: ${name}`,
      )
    for (const [name, given] of Object.entries(NO_BYTES))
      await assert.rejects(async () => take(given as never), UsageError, `${taker}: ${name}`)
  }
})

test('keys and statements are accepted in every kind of bytes, and sent unchanged', async (t) => {
  const pem = await makePrivateKey('EdDSA')
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const { kid } = await agentSigner({ pkcs8: pem })
  const sent: string[] = []
  const server = await startHostile(t, (response) => sendJson(response, {}))
  const statements = server.client({
    fetch: async (url, init) => {
      sent.push(Buffer.from(init?.body as Uint8Array<ArrayBuffer>).toString())
      return fetch(url, init)
    },
  }).statements
  for (const [name, make] of Object.entries(KINDS)) {
    assert.equal((await agentSigner({ pkcs8: make(der) })).kid, kid, name)
    assert.equal((await agentSigner({ seed: make(der.subarray(-32)) })).kid, kid, name)
    await statements.register(make(Buffer.from('a statement')))
  }
  assert.deepEqual(
    sent,
    Object.keys(KINDS).map(() => 'a statement'),
  )
  for (const given of Object.values(NO_BYTES)) {
    await assert.rejects(async () => statements.register(given as never), UsageError)
    await assert.rejects(agentSigner({ pkcs8: given as never }), UsageError)
  }
})
