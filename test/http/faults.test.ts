import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Overloaded } from '../../src/append/appender.ts'
import type { AppendOutcome } from '../../src/append/commit.ts'
import { APPEND_QUEUE_ENTRIES_MAX } from '../../src/append/limits.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { buildTestApp, expectStatus, genericBody, OPERATOR_KEY, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { checkAllLedgers } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts'
import { createTestLedger, makeEntry, type TestLedger } from '../helpers/test-ledger.ts'
import { lockHeads, until } from '../helpers/wait.ts'

test('a connection that is lost after the commit', async (t) => {
  const { app, proxy } = await buildBehindProxy(t)

  for (const url of ['/v1/records', '/v1/records/batch']) {
    const body = url === '/v1/records' ? genericBody() : { records: [genericBody(), genericBody({ n: 2 })] }

    await t.test(
      `makes ${url} answer outcome_unknown; a retry with the key gets the first outcome`,
      async () => {
        const headers = { 'idempotency-key': randomUUID() }
        const answer = await loseAnswer(app, proxy, () => app.send('POST', url, { body, headers }))
        assert.equal(assertProblem(answer, 503, 'outcome_unknown')['retryable'], true)
        const size = await countEntries(app)

        const retry = expectStatus(201, await app.send('POST', url, { body, headers }))
        assert.equal(retry.headers['idempotency-replayed'], 'true')
        assert.equal(retry.json().entry.seq, size - 1, 'it was committed the first time')
        assert.equal(await countEntries(app), size)
        const again = expectStatus(201, await app.send('POST', url, { body, headers }))
        assert.equal(again.body, retry.body)
      },
    )
  }

  await t.test('gets outcome_unknown that is not retryable without an Idempotency-Key', async () => {
    const answer = await loseAnswer(app, proxy, () =>
      app.send('POST', '/v1/records', { body: genericBody() }),
    )
    const problem = assertProblem(answer, 503, 'outcome_unknown')
    assert.equal(problem['retryable'], false)
    assert.match(problem['detail'] as string, /may write it twice/)
  })

  await t.test('leaves every request of a commit batch with its own answer or outcome_unknown', async () => {
    const before = await countEntries(app)
    const requests = Array.from({ length: 40 }, (_, i) => ({
      body: genericBody({ i }),
      headers: { 'idempotency-key': randomUUID() },
    }))
    const sendAll = () => Promise.all(requests.map((request) => app.send('POST', '/v1/records', request)))
    const answers = await loseAnswer(app, proxy, sendAll)
    assert.ok(answers.some((answer) => answer.statusCode === 503))
    const retries = await sendAll()
    for (const [i, answer] of answers.entries()) {
      const retry = expectStatus(201, retries[i]!)
      assert.equal(retry.headers['idempotency-replayed'], 'true')
      if (answer.statusCode === 201) assert.equal(retry.body, answer.body)
      else assertProblem(answer, 503, 'outcome_unknown')
      assert.deepEqual(retry.json().payload, { i })
    }
    assert.equal(await countEntries(app), before + 41) // The 40 requests each wrote an entry, and so did the request of `loseAnswer`.
  })

  await t.test('makes the operator’s POST /v1/ledgers answer outcome_unknown without a key', async (t) => {
    // The signers are loaded in advance. Otherwise the first answer, which gets lost, would be that of the query for
    // keys.
    const signer = await app.deps.signers.load()
    t.mock.method(app.deps.signers, 'load', async () => signer)
    const body = { name: 'lost' }
    const response = await loseAnswer(app, proxy, () =>
      app.send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body }),
    )
    assert.equal(assertProblem(response, 503, 'outcome_unknown')['retryable'], false)
    assert.doesNotMatch(response.body, /tly_/)
  })

  await t.test('during a replay is also answered with a retryable problem', async (t) => {
    const request = { body: genericBody(), headers: { 'idempotency-key': randomUUID() } }
    const first = expectStatus(201, await app.send('POST', '/v1/records', request))
    t.mock.method(
      app.deps.readPool,
      'query',
      () => Promise.reject(new Error('Connection terminated unexpectedly')),
      {
        times: 1,
      },
    )
    const problem = assertProblem(await app.send('POST', '/v1/records', request), 503, 'unavailable')
    assert.equal(problem['retryable'], true)
    assert.equal(expectStatus(201, await app.send('POST', '/v1/records', request)).body, first.body)
  })

  await t.test('is logged with its cause', () => {
    assert.match(
      app.logs(),
      /"method":"POST","route":"\/v1\/records",[^\n]*"cause":\{[^}]*(ECONNRESET|Connection terminated)[^\n]*"code":"outcome_unknown"/,
    )
  })
})

test('a connection lost before the request arrives gets outcome_unknown, and nothing is written', async (t) => {
  const { app, proxy } = await buildBehindProxy(t)
  await app.notarize()
  const before = await app.written()
  const request = { body: genericBody(), headers: { 'idempotency-key': randomUUID() } }
  proxy.cutAfter({ toServer: 100 })
  const problem = assertProblem(await app.send('POST', '/v1/records', request), 503, 'outcome_unknown')
  assert.equal(problem['retryable'], true)
  assert.deepEqual(await app.written(), before)
  const retry = expectStatus(201, await app.send('POST', '/v1/records', request))
  assert.equal(retry.headers['idempotency-replayed'], undefined)
})

test('a ledger whose signing key keeps changing', async (t) => {
  const app = await buildTestApp(t)
  const before = await app.written()
  const writes = [
    ['/v1/records', genericBody()],
    ['/v1/records/batch', { records: [genericBody()] }],
  ] as const

  await t.test('makes a write be signed three times, then refused as retryable', async (t) => {
    // This key is never the ledger's key, so Postgres refuses every entry as stale.
    const other = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32).fill(1))
    t.mock.method(app.deps.signers, 'signerOf', () => other)
    const looked = t.mock.method(app.deps.signers, 'signerAfterStale', async () => other)
    for (const [url, body] of writes) {
      looked.mock.resetCalls()
      const problem = assertProblem(await app.send('POST', url, { body }), 409, 'state_conflict')
      assert.equal(looked.mock.callCount(), 2)
      assert.equal(problem['retryable'], true)
      assert.match(problem['detail'] as string, /signing key changed meanwhile; send it again/)
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('accepts the same write once the key is stable', async () => {
    for (const [url, body] of writes) expectStatus(201, await app.send('POST', url, { body }))
  })
})

test('an unreachable database', async (t) => {
  const { app, proxy } = await buildBehindProxy(t)
  const record = await app.notarize()
  const stranger = await app.newLedger()
  const before = await app.written()
  proxy.refuse()
  await sleep(50) // Idle connections need some time to notice that they were cut.

  await t.test(
    'makes writes and reads answer 503 unavailable, retryable, while /livez answers 200',
    async () => {
      for (const [method, url, options] of [
        ['POST', '/v1/records', { body: genericBody() }],
        ['POST', '/v1/records/batch', { body: { records: [genericBody()] } }],
        ['POST', '/v1/ledgers', { key: OPERATOR_KEY, body: { name: 'x' } }],
        ['GET', `/v1/records/${record.id}`, {}],
        ['GET', '/v1/entries', {}],
        ['GET', '/v1/export', {}],
        ['GET', '/v1/ledger', {}],
        ['GET', '/.well-known/tallystick-keys.json', { key: null }],
        ['GET', '/v1/ledger', { key: stranger.key.key }],
        ['GET', '/readyz', { key: null }],
      ] as const) {
        const response = await app.send(method, url, options)
        assert.equal(assertProblem(response, 503, 'unavailable')['retryable'], true, url)
      }
      const write = await app.send('POST', '/v1/records', { body: genericBody() })
      assert.match(write.headers['retry-after'] as string, /^[1-9]\d*$/)
      expectStatus(200, await app.send('GET', '/livez', { key: null }))
    },
  )

  await t.test('does not change the refusals of invalid requests', async () => {
    assertProblem(await app.send('POST', '/v1/records', { body: {} }), 422, 'invalid_request')
    assertProblem(await app.send('GET', '/v1/entries', { key: 'tly_x' }), 401, 'unauthenticated')
    assertProblem(await app.send('GET', '/nowhere'), 404, 'not_found')
  })

  await t.test('is used again once reachable, without a restart', async () => {
    proxy.accept()
    assert.deepEqual(await app.written(), before)
    // The database is retried after pauses of at most half a second.
    await until(async () => (await app.send('GET', '/readyz', { key: null })).statusCode === 200)
    await app.notarize()
    expectStatus(200, await app.send('GET', '/v1/ledger', { key: stranger.key.key }))
  })
})

test('an export is aborted without a checkpoint line if the database becomes unreachable', async (t) => {
  const { app, proxy } = await buildBehindProxy(t)
  for (let i = 0; i < 12; i++) {
    const records = Array.from({ length: 60 }, () => genericBody({ text: 'x'.repeat(60_000) }))
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  }
  const origin = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { authorization: `Bearer ${app.ledger.key.key}` }
  const response = await new Promise<IncomingMessage>((resolve) => {
    httpGet(`${origin}/v1/export`, { headers, agent: false }, resolve)
  })
  await new Promise((resolve) => response.once('readable', resolve))
  proxy.refuse()
  let text = ''
  await assert.rejects(async () => {
    for await (const chunk of response) text += chunk
  }, /aborted|ECONNRESET/)
  assert.equal(response.complete, false)
  assert.doesNotMatch(text, /"checkpoint"|problem/)
  proxy.accept()
})

test('a session that Postgres terminates', async (t) => {
  const app = await buildTestApp(t)
  const terminate = (where: string) =>
    app.sql(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = 'tallystick_api' and ${where}`)

  await t.test('while idle is replaced without a failed request', async () => {
    await terminate('true')
    await sleep(50)
    await app.notarize()
    expectStatus(200, await app.send('GET', '/readyz', { key: null }))
  })

  await t.test('during an append makes its answer outcome_unknown', async (t) => {
    const release = await lockHeads(t, app.database.superuserUrl)
    const request = { body: genericBody(), headers: { 'idempotency-key': randomUUID() } }
    const pending = app.send('POST', '/v1/records', request)
    await until(async () => (await terminate(`wait_event_type = 'Lock'`)).length > 0)
    assert.equal(assertProblem(await pending, 503, 'outcome_unknown')['retryable'], true)
    await release()
    expectStatus(201, await app.send('POST', '/v1/records', request))
  })

  await t.test('after a failover to a standby: writes get 503 unavailable, reads work', async () => {
    const record = await app.notarize()
    const before = await app.written()
    const { name } = app.database
    await app.sql(`alter database ${name} set default_transaction_read_only = on`)
    await terminate('true')
    await sleep(50)
    const problem = assertProblem(
      await app.send('POST', '/v1/records', { body: genericBody() }),
      503,
      'unavailable',
    )
    assert.equal(problem['retryable'], true)
    expectStatus(200, await app.send('GET', `/v1/records/${record.id}`))
    await app.sql(`alter database ${name} reset default_transaction_read_only`)
    assert.deepEqual(await app.written(), before)
    await app.notarize() // This request opens a new connection, because the old connection was discarded.
  })
})

test('more writes than the queue can hold', async (t) => {
  const app = await buildTestApp(t)
  await app.notarize()
  const before = await countEntries(app)
  const client = await connect(t, app.database.apiUrl)
  // Each ledger may use half of the slots that the other ledgers leave free (src/load/shares.ts). Thirteen ledgers use
  // all 4,096 slots.
  const fillers: TestLedger[] = []
  for (let i = 0; i < 13; i++) fillers.push(await createTestLedger(client))

  await t.test('are refused at once with 503 overloaded, and the accepted writes succeed', async (t) => {
    const release = await lockHeads(t, app.database.superuserUrl)
    const writes = [
      ['/v1/records', genericBody()],
      ['/v1/records/batch', { records: [genericBody(), genericBody({ n: 2 })] }],
    ] as const
    const send = ([url, body]: (typeof writes)[number]) => app.send('POST', url, { body })
    const taken = [send(writes[0])]
    await until(async () => (await waitingForLock(app)) > 0)
    taken.push(send(writes[1]))
    await until(() => app.deps.appender.queued.entries > 0)
    const filled = fillQueue(app, fillers)
    // Meanwhile the writer may have taken a batch from the queue. The second call of fillQueue fills the slots that
    // this freed.
    await nextTurn()
    filled.push(...fillQueue(app, fillers))

    for (let i = 0; i < 20; i++) {
      const refused = await send(writes[i % writes.length]!)
      assert.equal(assertProblem(refused, 503, 'overloaded')['retryable'], true)
      assert.match(refused.headers['retry-after'] as string, /^[1-9]\d*$/)
    }
    expectStatus(200, await app.send('GET', '/livez', { key: null }))
    expectStatus(200, await app.send('GET', '/v1/ledger'))
    assert.ok((await waitingForLock(app)) > 0, 'refused while the writer still waits')

    await release()
    for (const answer of await Promise.all(taken)) expectStatus(201, answer)
    for (const { status } of await Promise.all(filled)) assert.equal(status, 'appended')
    const said = app
      .logs()
      .split('\n')
      .filter((line) => line.includes('overloaded')).length
    assert.ok(said <= 5, `refusing costs no log line each, and there were ${said}`)
    assert.equal(await countEntries(app), before + taken.length)
    await app.notarize()
  })
})

test('a server whose clock is off by a minute answers writes with 503 clock_skew and writes nothing', async (t) => {
  let offMs = 0
  const app = await buildTestApp(t, { now: () => Date.now() + offMs })
  const before = await app.written()
  for (offMs of [-60_000, 60_000]) {
    const response = await app.send('POST', '/v1/records', { body: genericBody() })
    assert.equal(assertProblem(response, 503, 'clock_skew')['retryable'], true)
  }
  assert.deepEqual(await app.written(), before)
  offMs = 20_000
  await app.notarize()
})

/**
 * Fills the append queue with entries of the ledgers, in one slice of the event loop. So no entry leaves the queue
 * meanwhile. Returns the outcomes of the accepted entries.
 */
function fillQueue(app: TestApp, ledgers: readonly TestLedger[]): Promise<AppendOutcome | Overloaded>[] {
  const { appender } = app.deps
  const outcomes: Promise<AppendOutcome | Overloaded>[] = []
  for (const ledger of ledgers) {
    for (let i = 0; i < APPEND_QUEUE_ENTRIES_MAX; i++) {
      const queued = appender.queued.entries
      const outcome = appender.append(makeEntry(ledger))
      if (appender.queued.entries === queued) break
      outcomes.push(outcome)
    }
  }
  return outcomes
}

async function buildBehindProxy(t: TestContext): Promise<{ app: TestApp; proxy: TcpProxy }> {
  let proxy!: TcpProxy
  const app = await buildTestApp(t, {
    async apiUrl(database) {
      proxy = await startTcpProxy(t, database.apiUrl)
      return proxy.url
    },
  })
  t.after(() => checkEverything(app))
  await app.notarize() // This request puts the key into the cache, so that the next requests do not read the key.
  return { app, proxy }
}

/** Lets the next call of append_entries commit, and cuts the connection before the answer. */
async function loseAnswer<T>(app: TestApp, proxy: TcpProxy, send: () => Promise<T>): Promise<T> {
  await app.notarize() // This request opens a connection, so that no request must open one while answers are buffered.
  const before = await countAllEntries(app)
  proxy.hold()
  const answer = send()
  await until(async () => (await countAllEntries(app)) > before)
  proxy.cut()
  proxy.resume()
  return answer
}

async function checkEverything(app: TestApp): Promise<void> {
  const client = new pg.Client({ connectionString: app.database.superuserUrl })
  await client.connect()
  try {
    await checkAllLedgers(client)
  } finally {
    await client.end()
  }
}

async function countAllEntries(app: TestApp): Promise<number> {
  const [row] = await app.sql<{ n: number }>('select count(*)::int as n from tallystick.entries')
  return row!.n
}

async function countEntries(app: TestApp): Promise<number> {
  const [row] = await app.sql<{ n: number }>(
    'select count(*)::int as n from tallystick.entries where ledger_id = $1',
    [await ledgerUuid(app)],
  )
  return row!.n
}

async function ledgerUuid(app: TestApp): Promise<string> {
  const [row] = await app.sql<{ id: string }>(
    'select ledger_id as id from tallystick.ledgers where origin = $1',
    [app.ledger.ledger.origin],
  )
  return row!.id
}

async function waitingForLock(app: TestApp): Promise<number> {
  const rows = await app.sql(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}
