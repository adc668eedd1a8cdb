import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { TallystickError, UsageError } from '../../sdk/errors.ts'
import * as webhooks from '../../sdk/webhooks/index.ts'
import { SMALL_ORDER_POINTS } from '../proof/ed25519-edge-cases.ts'
import { pretend, RUNTIMES } from './runtimes.ts'
import { makeEndpoint, type Sent } from './webhook-sender.ts'

const EVENT = {
  type: 'webhook.test',
  timestamp: '2026-11-20T12:00:00.000Z',
  data: { ledger: 'led_1', record: null, entry: null, webhook: { id: 'whk_1' }, name: 'Grüße 🎉' },
}
const endpoint = makeEndpoint()
const { secret, publicKey, v1, v1a } = endpoint
const other = makeEndpoint()
const NOW = new Date('2026-11-20T12:00:10.900Z')
const SENT_AT = new Date('2026-11-20T12:00:10.000Z')

const send = (options: Parameters<typeof endpoint.send>[1] = {}) =>
  endpoint.send(EVENT, { at: NOW, ...options })

async function refuses(
  code: webhooks.WebhookVerificationErrorCode,
  { body, headers }: { body: string | Uint8Array; headers: webhooks.WebhookHeaders },
  options: webhooks.WebhookOptions = {},
): Promise<void> {
  const given = { secret, publicKey, now: NOW, ...options }
  await assert.rejects(webhooks.verify(body, headers, given), (error) => {
    assert.ok(
      error instanceof webhooks.WebhookVerificationError && error instanceof TallystickError,
      `${error}`,
    )
    assert.equal(error.code, code, error.message)
    assert.equal(error.name, 'WebhookVerificationError')
    assert.ok(!error.retryable)
    assertSaysNothing(error)
    return true
  })
}

/** Asserts that the error contains no key, no valid signature and no part of the body. */
function assertSaysNothing(error: unknown): void {
  const shown = inspect(error, { depth: 9 }).replace(/\n {4}at .*/g, '')
  const { body, headers } = send()
  const signatures = headers['webhook-signature'].split(/[ ,]/)
  for (const text of [secret.slice(6), publicKey.slice(5), body, 'Grüße', ...signatures.slice(1, 2)])
    assert.ok(!shown.includes(text), shown)
}

const withHeader = (sent: Sent, name: keyof Sent['headers'], value: unknown) =>
  ({ body: sent.body, headers: { ...sent.headers, [name]: value } }) as {
    body: string
    headers: Sent['headers']
  }

for (const [name, runtime] of Object.entries(RUNTIMES)) {
  test(`returns the event under the secret, the public key, or both, ${name}`, async (t) => {
    pretend(t, runtime)
    const { body, headers } = send({ id: 'evt_01' })
    const expected = { id: 'evt_01', sentAt: SENT_AT, ...EVENT }
    for (const keys of [{ secret }, { publicKey }, { secret, publicKey }]) {
      assert.deepEqual(await webhooks.verify(body, headers, { ...keys, now: NOW }), expected)
      assert.deepEqual(await webhooks.verify(Buffer.from(body), headers, { ...keys, now: NOW }), expected)
    }
    await refuses('signature_mismatch', { body, headers }, { secret: undefined, publicKey: other.publicKey })
    await refuses('signature_mismatch', { body: `${body} `, headers }, { secret: undefined })
    await refuses('signature_mismatch', { body: `${body} `, headers }, { publicKey: undefined })
  })
}

test('with both keys, both signatures must verify: a thief of the secret cannot send', async () => {
  const mixed = (hmac: typeof v1, ed25519: typeof v1a) => send({ by: [hmac, ed25519] })
  await refuses('signature_mismatch', mixed(v1, other.v1a))
  await refuses('signature_mismatch', mixed(other.v1, v1a))
  await refuses('signature_missing', send({ by: [v1] }))
  await refuses('signature_missing', send({ by: [v1a] }))
  const { body, headers } = send({ by: [v1] })
  assert.ok(await webhooks.verify(body, headers, { secret, now: NOW }))
})

describe('a rotation', () => {
  test('of the sender: one valid signature of each kind is enough, and unknown kinds are ignored', async () => {
    const future = () => 'v2,AAAA'
    const { body, headers } = send({ by: [future, other.v1, other.v1a, v1, v1a] })
    assert.ok(await webhooks.verify(body, headers, { secret, publicKey, now: NOW }))
    await refuses('signature_missing', send({ by: [future] }))
    await refuses('signature_mismatch', send({ by: [future, other.v1, other.v1a] }))
  })

  test('of the receiver: one matching key of each kind is enough', async () => {
    const { body, headers } = send()
    const keys = { secret: [other.secret, secret], publicKey: [other.publicKey, publicKey], now: NOW }
    assert.ok(await webhooks.verify(body, headers, keys))
    await refuses('signature_mismatch', { body, headers }, { ...keys, publicKey: [other.publicKey] })
  })

  test('accepts 32 signatures and refuses 33 with header_invalid', async () => {
    const fill = (count: number) => send({ by: [...Array(count).fill(other.v1), v1, v1a] })
    const { body, headers } = fill(30)
    assert.ok(await webhooks.verify(body, headers, { secret, publicKey, now: NOW }))
    await refuses('header_invalid', fill(31))
  })
})

describe('the time', () => {
  const at = (seconds: number) => send({ at: new Date(NOW.getTime() + seconds * 1000) })

  test('may be 300 seconds off, either way', async () => {
    for (const seconds of [-300, 300]) {
      const { body, headers } = at(seconds)
      assert.ok(await webhooks.verify(body, headers, { secret, now: NOW }))
    }
    await refuses('timestamp_too_old', at(-301))
    await refuses('timestamp_in_future', at(301))
  })

  test('is compared with the clock of this machine, within the given tolerance', async () => {
    const { body, headers } = endpoint.send(EVENT)
    assert.ok(await webhooks.verify(body, headers, { secret }))
    await refuses('timestamp_too_old', at(-2), { toleranceSeconds: 1 })
    const late = at(-5000)
    assert.ok(await webhooks.verify(late.body, late.headers, { secret, toleranceSeconds: 5000, now: NOW }))
  })
})

describe('headers', () => {
  const sent = send()
  const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
  const entries = Object.entries(sent.headers)

  test('may be a Headers object, or an object with names in any case and other headers', async () => {
    const upper = Object.fromEntries(entries.map(([name, value]) => [name.toUpperCase(), value]))
    const listed = Object.fromEntries(entries.map(([name, value]) => [name, [value]]))
    const given: webhooks.WebhookHeaders[] = [
      new Headers(sent.headers),
      upper,
      listed,
      { ...upper, get: 'a header' },
    ]
    for (const headers of given) assert.ok(await webhooks.verify(sent.body, headers, { secret, now: NOW }))
  })

  test('are refused if one is missing (header_missing) or occurs twice (header_invalid)', async () => {
    for (const name of NAMES) {
      await refuses('header_missing', withHeader(sent, name, undefined))
      const rest = new Headers(sent.headers)
      rest.delete(name)
      await refuses('header_missing', { body: sent.body, headers: rest })
      const value = sent.headers[name]
      await refuses('header_invalid', withHeader(sent, name, [value, value]))
      const twice = { ...sent.headers, [name.toUpperCase()]: value }
      await refuses('header_invalid', { body: sent.body, headers: twice })
      const appended = new Headers(sent.headers)
      appended.append(name, value)
      await refuses('header_invalid', { body: sent.body, headers: appended })
    }
  })

  test('with a malformed id, timestamp or signature list are refused with header_invalid', async () => {
    for (const id of ['', 'a.1', 'a,b', 'a b', 'ä', 'a'.repeat(256)])
      await refuses('header_invalid', withHeader(sent, 'webhook-id', id))
    for (const time of ['', 'x', '1e9', '-1', '01', '1.5', ' 1', '9'.repeat(13)])
      await refuses('header_invalid', withHeader(sent, 'webhook-timestamp', time))
    for (const list of ['', 'v1', 'v1,', ',AA', 'v1,AA,AA', 'v1,AA  v1,AA', ' v1,AA', 'v1,AA '])
      await refuses('header_invalid', withHeader(sent, 'webhook-signature', list))
  })

  test('that node:http has joined from duplicates are refused with header_invalid', async (t) => {
    const server = createServer((request, response) => {
      webhooks.verify(sent.body, request.headers, { secret, now: NOW }).then(
        () => response.end('taken'),
        (error: webhooks.WebhookVerificationError) => response.end(error.code),
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const answerTo = async (...doubled: string[]) => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      const lines = entries.flatMap(([name, value]) =>
        Array(doubled.includes(name) ? 2 : 1).fill(`${name}: ${value}`),
      )
      socket.end(`POST / HTTP/1.0\r\n${lines.join('\r\n')}\r\n\r\n`)
      const text = Buffer.concat(await socket.toArray()).toString()
      return text.split('\r\n\r\n')[1]
    }
    assert.equal(await answerTo(), 'taken')
    for (const name of NAMES) assert.equal(await answerTo(name), 'header_invalid', name)
  })
})

describe('the body', () => {
  test('must be text or bytes as received: an object throws UsageError with the reason', async () => {
    const { headers } = send()
    for (const body of [EVENT, undefined, null, [1]]) {
      await assert.rejects(webhooks.verify(body as never, headers, { secret }), (error) => {
        assert.ok(error instanceof UsageError)
        assert.match(error.message, /as received.*JSON.stringify.*before the parser/)
        assertSaysNothing(error)
        return true
      })
    }
  })

  test('that is signed but no event is refused', async () => {
    for (const body of [
      '',
      'Grüße',
      '[]',
      'null',
      '1',
      '{"type":1,"timestamp":"","data":{}}',
      '{"type":"a","timestamp":""}',
    ])
      await refuses('body_invalid', endpoint.send(body, { at: NOW }))
    await refuses('body_invalid', endpoint.send(`\ufeff${JSON.stringify(EVENT)}`, { at: NOW }))
  })

  test('is parsed from the signed bytes: a lone surrogate becomes U+FFFD', async () => {
    const signed = send().body.replace('Grüße', '\ufffd')
    const { headers } = endpoint.send(signed, { at: NOW })
    const { data } = await webhooks.verify(signed.replace('\ufffd', '\ud800'), headers, { secret, now: NOW })
    assert.equal((data as unknown as { name: string }).name, '\ufffd 🎉')
  })

  test('may be an event of an unknown type, or have unknown members', async () => {
    const event = { ...EVENT, type: 'record.teleported', more: 1, id: 'evt_other', sentAt: 'never' }
    const { body, headers } = endpoint.send(event, { at: NOW, id: 'evt_7' })
    const found = await webhooks.verify(body, headers, { secret, now: NOW })
    assert.deepEqual(found, {
      ...EVENT,
      type: 'record.teleported',
      id: 'evt_7',
      sentAt: SENT_AT,
    })
  })
})

test('a public key of small order, or a signature with too large an S, is refused', async () => {
  const { body, headers } = send({ by: [v1a] })
  for (const [name, hex] of SMALL_ORDER_POINTS) {
    const weak = `whpk_${Buffer.from(hex, 'hex').toString('base64')}`
    await assert.rejects(webhooks.verify(body, headers, { publicKey: weak, now: NOW }), UsageError, name)
  }
  const signature = Buffer.from(headers['webhook-signature'].slice(4), 'base64')
  const s = signature.subarray(32)
  const order = 2n ** 252n + 27742317777372353535851937790883648493n
  const larger = BigInt(`0x${Buffer.from(s).reverse().toString('hex')}`) + order
  Buffer.from(larger.toString(16).padStart(64, '0'), 'hex').reverse().copy(s)
  const changed = withHeader({ body, headers }, 'webhook-signature', `v1a,${signature.toString('base64')}`)
  await refuses('signature_mismatch', changed, { secret: undefined })
})

test('malformed keys throw UsageError before any other check, and never appear in it', async () => {
  const { body, headers } = send()
  const wrong: webhooks.WebhookOptions[] = [
    {},
    { secret: undefined, publicKey: undefined },
    { secret: '' },
    { secret: [] },
    { publicKey: [] },
    { secret, publicKey: [] },
    { secret: [secret, ''] },
    { secret: secret.slice(6) },
    { secret: `${secret}\n` },
    { secret: 'whsec_AAAA' },
    { secret: `whsec_${Buffer.alloc(65).toString('base64')}` },
    { secret: secret.replace('whsec_', 'whsek_') },
    { secret: [1 as never] },
    { secret: publicKey },
    { publicKey: secret },
    { publicKey: publicKey.slice(0, -4) },
    { secret: Array(17).fill(secret) },
    { secret: 1 as never },
    { secret, toleranceSeconds: Number.NaN },
    { secret, toleranceSeconds: -1 },
    { secret, now: new Date(Number.NaN) },
    { secret, now: NOW.getTime() as never },
  ]
  for (const options of wrong) {
    await assert.rejects(webhooks.verify(body, headers, options), (error) => {
      assert.ok(error instanceof UsageError, `${error}`)
      assertSaysNothing(error)
      return true
    })
  }
  await assert.rejects(webhooks.verify(body, undefined as never, { secret }), UsageError)
})

test('the type of an event narrows its data, for the compiler too', () => {
  const told = (event: webhooks.VerifiedWebhook): string => {
    switch (event.type) {
      case 'signal.emitted':
        return `${event.data.signal.decision} ${event.data.record.version} ${event.data.envelope.length}`
      case 'batch.recorded':
        return `${event.data.batch.count} of ${event.data.record}`
      case 'checkpoint.published':
        return event.data.checkpoint.note
      default:
        return event.type
    }
  }
  const notice = { id: 'evt_1', sentAt: NOW, ...EVENT } as webhooks.VerifiedWebhook<'webhook.test'>
  assert.equal(told(notice), 'webhook.test')
})
