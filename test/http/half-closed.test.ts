import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { genericBody, type TestApp } from '../helpers/app.ts'
import { openSocket, readAnswers, requestText } from '../helpers/raw-http.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'
import { until } from '../helpers/wait.ts'

test('a client that half-closes its connection', async (t) => {
  const app = await sharedApp()
  const port = Number(new URL(await addressOf(app)).port)
  const key = app.ledger.key.key
  const body = JSON.stringify(genericBody())
  const post = requestText('POST', '/v1/records', key, [
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ])
  const get = (path: string, headers: readonly string[] = []) => requestText('GET', path, key, headers)
  const slots = () => openSlots(app)

  await t.test('gets the answers to all requests that it sent', async () => {
    const { id } = await app.notarize()
    for (const [text, statuses] of [
      [post + body, [201]],
      [get('/livez'), [200]],
      [get('/v1/ledger'), [200]],
      [get('/v1/export'), [200]],
      [get(`/v1/records/${id}`), [200]],
      [get('/v1/export') + post + body + get('/v1/ledger') + post + body, [200, 201, 200, 201]],
    ] as const) {
      const before = (await app.entries()).length
      assert.deepEqual(await askAndEnd(t, port, text), statuses, text)
      const written = statuses.filter((status) => status === 201).length
      assert.equal((await app.entries()).length, before + written)
    }
  })

  await t.test('gets answers at once, without waiting for a receipt or events', async () => {
    const { id, version } = await app.notarize()
    const tag = [`If-None-Match: "${version ?? 1}"`]
    const beganAtMs = performance.now()
    const statuses = await askAndEnd(
      t,
      port,
      get(`/v1/records/${id}/receipt?wait=10`) + get(`/v1/records/${id}`, tag),
    )
    assert.equal(statuses.length, 2)
    assert.ok(performance.now() - beganAtMs < 9_000)
    assert.deepEqual(await askAndEnd(t, port, get('/v1/events', ['Accept: text/event-stream'])), [200])
    await until(async () => (await slots()) === 0)
  })

  await t.test('frees its slot when it resets the connection during an export', async (t) => {
    const records = Array.from({ length: 8 }, () => genericBody({ text: 'x'.repeat(60_000) }))
    for (let i = 0; i < 16; i++) await app.send('POST', '/v1/records/batch', { body: { records } })
    const socket = openSocket(t, port)
    socket.end(get('/v1/export'))
    await until(async () => (await slots()) === 1)
    await until(() => [...app.deps.writeDeadlines.open].some(({ writableLength }) => writableLength > 0))
    // The test resets the connection itself. The server would reset it only after a minute in which the client receives
    // no byte (write-deadlines.test.ts).
    socket.resetAndDestroy()
    await until(async () => (await slots()) === 0)
  })

  await t.test('leaves no open connection or reserved slot', async () => {
    await until(() => app.deps.writeDeadlines.open.size === 0)
    const { bodies, reads, writes } = app.deps.budgets
    await until(() => [bodies, reads, writes].every(({ taken }) => taken === 0))
  })
})

/**
 * Sends the text and half-closes the connection. Returns the statuses of all answers that arrive before the server
 * closes.
 */
async function askAndEnd(t: TestContext, port: number, text: string): Promise<number[]> {
  const socket: Socket = openSocket(t, port)
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  socket.resume().end(text)
  await until(() => socket.closed)
  const { answers, rest } = readAnswers(received)
  assert.equal(rest, '')
  return answers.map(({ status }) => status)
}

async function openSlots(app: TestApp): Promise<number> {
  const text = await app.deps.metrics.registry.metrics()
  const open = [...text.matchAll(/^tallystick_streams\{[^}]*\} (\d+)/gm)]
  assert.ok(open.length > 1, 'the metric has another name')
  return open.reduce((sum, [, count]) => sum + Number(count), 0)
}
