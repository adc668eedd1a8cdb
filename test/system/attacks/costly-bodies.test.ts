import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_ITEMS_MAX } from '../../../src/db/limits.ts'
import { BODY_BYTES_MAX } from '../../../src/load/limits.ts'
import { BATCH_BODY_BYTES_MAX } from '../../../src/records/limits.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { costlyTexts } from '../../helpers/costly-json.ts'
import { HELD_MS_MAX, heldWhile } from '../../helpers/held-loop.ts'
import { addKey } from '../../helpers/more-keys.ts'

/*
 * Finding H4: a key with the lowest scope sent a body of 4 MiB, which blocked the server for more than a second. No
 * rate limit prevented it.
 */

async function attack(app: TestApp, text: string) {
  const other = await app.newLedger()
  const note = () => app.send('POST', '/v1/records', { key: other.key.key, body: genericBody() })
  await note()
  const headers = { authorization: `Bearer ${app.ledger.key.key}`, 'content-type': 'application/json' }
  let isOver = false
  const waits: number[] = []
  const others = async (call: () => Promise<{ statusCode: number }>) => {
    while (!isOver) {
      const beganAtMs = performance.now()
      assert.ok((await call()).statusCode < 300)
      waits.push(performance.now() - beganAtMs)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const { heldMs, elapsedMs, result } = await heldWhile(async () => {
    const running = Promise.all([
      others(() => app.app.inject({ method: 'GET', url: '/livez' })),
      others(note),
    ])
    const answers = await Promise.all(
      ['one', 'two'].map((name) =>
        app.app.inject({
          method: 'POST',
          url: '/v1/records/batch',
          // The request has an idempotency key, because the server hashes the whole body for it.
          headers: { ...headers, 'idempotency-key': `${name}-${text.length}` },
          payload: text,
        }),
      ),
    )
    isOver = true
    await running
    return answers
  })
  waits.sort((a, b) => a - b)
  return { heldMs, elapsedMs, answers: result, othersMs: Math.round(waits[Math.floor(waits.length * 0.99)]!) }
}

test('no body of 4 MiB blocks other requests, however costly it is', async (t) => {
  const app = await buildTestApp(t)
  // The first large body starts a thread, so it is not measured.
  await app.send('POST', '/v1/records/batch', { text: `{"x":"${'x'.repeat(BODY_BYTES_MAX)}"}` })
  for (const [what, text] of Object.entries(costlyTexts(BATCH_BODY_BYTES_MAX))) {
    await t.test(what, async (t) => {
      assert.ok(text.length > BATCH_BODY_BYTES_MAX * 0.9 && text.length <= BATCH_BODY_BYTES_MAX)
      const { heldMs, elapsedMs, othersMs, answers } = await attack(app, text)
      t.diagnostic(
        `held for ${heldMs} ms of the processor, ${elapsedMs} ms by the clock; p99 of others ${othersMs} ms; ${answers[0]!.json().code}`,
      )
      for (const { statusCode } of answers) assert.ok([400, 422].includes(statusCode), `${statusCode}`)
      assert.ok(heldMs < HELD_MS_MAX, `held for ${heldMs} ms`)
    })
  }
})

test('a batch of the maximum size is accepted and blocks no other request', async (t) => {
  const app = await buildTestApp(t)
  const text = (payload: object, count: number) =>
    JSON.stringify({ records: Array.from({ length: count }, () => genericBody(payload)) })
  const usual = text(
    { tool: 'search', args: { q: 'x'.repeat(60), n: [1, 2, 3] }, note: 'y'.repeat(1_900) },
    BATCH_ITEMS_MAX,
  )
  const many = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, i) => [`${i.toString(36)}${' '.repeat(12)}`, 0]),
  )
  const costly = text(many, Math.floor((BATCH_BODY_BYTES_MAX - 20) / (text(many, 1).length - 13)))
  for (const [what, body, items] of [
    ['of 2,000 records', usual, BATCH_ITEMS_MAX],
    ['of documents with as many members as they hold', costly, 30],
  ] as const) {
    await t.test(what, async (t) => {
      assert.ok(
        body.length > BATCH_BODY_BYTES_MAX * 0.95 && body.length <= BATCH_BODY_BYTES_MAX,
        `${body.length}`,
      )
      const { heldMs, elapsedMs, othersMs, answers } = await attack(app, body)
      t.diagnostic(
        `held for ${heldMs} ms of the processor, ${elapsedMs} ms by the clock; p99 of others ${othersMs} ms`,
      )
      for (const answer of answers) assert.ok(expectStatus(201, answer).json().records.length >= items)
      assert.ok(heldMs < HELD_MS_MAX, `held for ${heldMs} ms`)
    })
  }
})

const TAKES_MORE = new Set([
  'POST /mcp',
  'POST /v1/logs',
  'POST /v1/traces',
  'POST /v1/records',
  'POST /v1/records/batch',
  'POST /v1/records/:id/completions',
  'POST /v1/types',
  'POST /v1/types/preview',
  'POST /v1/types/:name/:version/preview',
  'POST /v1/federation/entries',
  'POST /v1/federation/rotations',
])

test('routes outside the list of larger bodies refuse more than 64 KiB with 413 body_too_large', async (t) => {
  const app = await buildTestApp(t)
  const larger = app.routes.flatMap(({ method, url, bodyLimit, schema }) =>
    schema?.body && (bodyLimit ?? BODY_BYTES_MAX) > BODY_BYTES_MAX ? [`${method} ${url}`] : [],
  )
  assert.deepEqual(new Set(larger), TAKES_MORE)
  for (const url of ['/v1/audits', '/v1/keys', '/v1/webhooks', '/v1/peers', '/v1/agents']) {
    const answer = await app.send('POST', url, { text: `{"a":"${'x'.repeat(BODY_BYTES_MAX)}"}` })
    assertProblem(answer, 413, 'body_too_large')
  }
})

test('the bytes of a refused body count toward the rate limit of its key', async (t) => {
  const app = await buildTestApp(t)
  const manager = await addKey(app, { scopes: ['keys:manage'] })
  const rateLimit = { requestsPerSecond: 1, burst: 100 }
  await app.send('PUT', `/v1/keys/${app.ledger.key.id}/rate-limit`, { key: manager, body: { rateLimit } })
  const text = `{"records":[${'0,'.repeat(BATCH_BODY_BYTES_MAX / 2 - 20)}0]}`
  const headers = { authorization: `Bearer ${app.ledger.key.key}`, 'content-type': 'application/json' }
  const send = () => app.app.inject({ method: 'POST', url: '/v1/records/batch', headers, payload: text })
  assertProblem(await send(), 400, 'json_too_costly')
  assertProblem(await send(), 400, 'json_too_costly')
  // Each body counts as 63 further requests. Two bodies use more than the burst of 100, so the next request must wait
  // for more than 20 s.
  const refused = await send()
  assertProblem(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers['retry-after']) > 20)
})
