import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from '../../src/run/server.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp, testConfig } from '../helpers/app.ts'
import { requestText } from '../helpers/raw-http.ts'
import { lockHeads, until } from '../helpers/wait.ts'

test('a closing server', async (t) => {
  // This application makes the ledger and reads the database. The tested server is a second server, which listens on a
  // socket.
  const app = await buildTestApp(t)

  await t.test('answers accepted requests, and refuses new connections', async (t) => {
    const server = await startServer(testConfig(app.database.apiUrl))
    await post(app, server.url)
    const before = await countEntries(app)
    const release = await lockHeads(t, app.database.superuserUrl)
    const pending = Array.from({ length: 20 }, () => post(app, server.url))
    // One batch waits for the lock, and all other requests wait for this batch. The pause is long, because a busy
    // machine needs a while to accept all requests.
    await sleep(1_000)
    const closed = server.close()
    await sleep(50)
    await assert.rejects(post(app, server.url), /ECONNREFUSED|ECONNRESET/)
    assert.equal(await Promise.race([closed.then(() => 'closed'), sleep(100).then(() => 'open')]), 'open')

    await release()
    const answers = await Promise.all(pending)
    await closed
    for (const { status, body } of answers) {
      assert.equal(status, 201, body)
      expectStatus(200, await app.send('GET', `/v1/records/${JSON.parse(body).id}`))
    }
    assert.equal(await countEntries(app), before + 20)
  })

  await t.test('closes idle keep-alive connections within a second', async () => {
    const server = await startServer(testConfig(app.database.apiUrl))
    const agent = new Agent({ keepAlive: true })
    for (let i = 0; i < 3; i++) assert.equal((await post(app, server.url, agent)).status, 201)
    const startedAt = performance.now()
    await server.close()
    assert.ok(performance.now() - startedAt < 1_000)
    agent.destroy()
  })

  await t.test('does not wait for a connection on which nothing was sent', async () => {
    const server = await startServer(testConfig(app.database.apiUrl))
    const { hostname, port } = new URL(server.url)
    const spare = connect(Number(port), hostname)
    await once(spare, 'connect')
    assert.equal((await post(app, server.url)).status, 201)
    const startedAt = performance.now()
    await server.close()
    assert.ok(performance.now() - startedAt < 1_000)
    spare.destroy()
  })

  await t.test('closes a keep-alive connection right after its pending answer', async (t) => {
    const server = await startServer(testConfig(app.database.apiUrl))
    const agent = new Agent({ keepAlive: true })
    await post(app, server.url, agent)
    const release = await lockHeads(t, app.database.superuserUrl)
    const pending = post(app, server.url, agent)
    await sleep(100)
    const closed = server.close()
    await release()
    const startedAt = performance.now()
    assert.equal((await pending).status, 201)
    await closed
    assert.ok(performance.now() - startedAt < 1_000, 'the client did not have to hang up')
    agent.destroy()
  })

  await t.test('answers a client that has half-closed its connection, then closes', async (t) => {
    const server = await startServer(testConfig(app.database.apiUrl))
    const { hostname, port } = new URL(server.url)
    const release = await lockHeads(t, app.database.superuserUrl)
    const socket = connect(Number(port), hostname)
    t.after(() => void socket.destroy())
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    const body = JSON.stringify(genericBody())
    const head = ['Content-Type: application/json', `Content-Length: ${body.length}`]
    socket.end(requestText('POST', '/v1/records', app.ledger.key.key, head) + body)
    await sleep(1_000)
    const closed = server.close()
    await release()
    await closed
    await until(() => socket.closed)
    assert.match(received, /^HTTP\/1\.1 201 /)
  })

  await t.test('cuts off a slow reader of an export after the time limit', async () => {
    const records = Array.from({ length: 60 }, () => genericBody({ text: 'x'.repeat(60_000) }))
    for (let i = 0; i < 6; i++)
      expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
    const server = await startServer(testConfig(app.database.apiUrl), 300)
    const headers = { authorization: `Bearer ${app.ledger.key.key}` }
    const stream = await new Promise<IncomingMessage>((resolve) => {
      get(`${server.url}/v1/export`, { headers, agent: false }, resolve)
    })
    stream.on('error', () => {})
    await new Promise((resolve) => stream.once('readable', resolve))
    const startedAt = performance.now()
    await server.close()
    const tookMs = performance.now() - startedAt
    assert.ok(tookMs > 250 && tookMs < 2_000, `${Math.round(tookMs)} ms`)
    assert.equal(stream.complete, false)
    stream.destroy()
  })

  await t.test('leaves no connection to the database', async () => {
    const { readPool, writePool } = app.deps
    await until(async () => {
      const rows = await app.sql(
        `select pid from pg_stat_activity where datname = current_database() and usename = 'tallystick_api'`,
      )
      return rows.length === readPool.totalCount + writePool.totalCount
    })
  })
})

function post(
  app: TestApp,
  origin: string,
  agent: Agent | false = false,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${app.ledger.key.key}`, 'content-type': 'application/json' }
    const sent = httpRequest(`${origin}/v1/records`, { method: 'POST', headers, agent }, async (response) => {
      try {
        let body = ''
        for await (const chunk of response) body += chunk
        resolve({ status: response.statusCode!, body })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(genericBody()))
  })
}

async function countEntries(app: TestApp): Promise<number> {
  const [row] = await app.sql<{ n: number }>('select count(*)::int as n from tallystick.entries')
  return row!.n
}
