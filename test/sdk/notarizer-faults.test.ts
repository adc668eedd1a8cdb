import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PermissionError, type RefusedRecord, UnexpectedAnswerError } from '../../sdk/index.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import type { Notarizer } from '../../sdk/notarizer/notarizer.ts'
import type { AnyTypes } from '../../sdk/typed.ts'
import { expectStatus, OPERATOR_KEY } from '../helpers/app.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { until } from '../helpers/wait.ts'
import { sendProblem, startHostile } from './hostile-server.ts'
import { numbers, QUICK, recordedNumbers } from './notarizer-set-up.ts'
import { sharedSdk } from './set-up.ts'
import { namesIn } from './spool-set-up.ts'

/** Batches are small, so that a fault affects only some of them. */
const SMALL = { ...QUICK, recordsPerBatchMax: 7, timeoutMs: 300 }

async function recordAll(ledger: Notarizer<AnyTypes>, group: string, count: number): Promise<void> {
  for (const i of numbers(count)) {
    await ledger.ready
    ledger.record({ group, i })
    if (i % 20 === 0) await sleep(1)
  }
}

test('under any faults of requests and answers, every record is notarized once and in order', async (t) => {
  const { app, baseUrl, client } = await sharedSdk()

  await t.test('connections that break before the commit, after it, or during the answer', async (t) => {
    const proxy = await startTcpProxy(t, baseUrl)
    const ledger = client({ baseUrl: proxy.url }).notarizer(SMALL)
    const working = recordAll(ledger, 'cut', 400)
    for (const fault of [
      { toServer: 100 },
      { toServer: 900 },
      { toClient: 0 },
      { toClient: 200 },
      { toClient: 900 },
    ]) {
      const before = ledger.stats.recorded
      proxy.cutAfter(fault)
      await until(() => ledger.stats.recorded > before)
    }
    proxy.refuse()
    await sleep(20)
    proxy.accept()
    await working
    await ledger.close()
    assert.ok(ledger.stats.failures >= 5, `${ledger.stats.failures} failures: the test has shown too little`)
    assert.deepEqual(await recordedNumbers(app, 'cut'), numbers(400))
  })

  await t.test(
    'answers after the timeout: a committed batch is repeated with its key, not written again',
    async (t) => {
      const proxy = await startTcpProxy(t, baseUrl)
      const ledger = client({ baseUrl: proxy.url }).notarizer({ ...SMALL, timeoutMs: 50 })
      proxy.hold()
      const working = recordAll(ledger, 'late', 50)
      await until(() => ledger.stats.failures >= 2)
      proxy.cut()
      proxy.resume()
      await working
      await ledger.close()
      assert.deepEqual(await recordedNumbers(app, 'late'), numbers(50))
    },
  )

  await t.test('garbage answers of an intermediary, before and after the commit', async () => {
    const json = { 'content-type': 'application/json' }
    const garbage: [string, ResponseInit][] = [
      ['<html>', { status: 200, headers: { 'content-type': 'text/html' } }],
      ['<html>', { status: 502, headers: { 'content-type': 'text/html' } }],
      ['{"batch":"bat_', { status: 201, headers: json }],
      ['{}', { status: 201, headers: json }],
      ['null', { status: 201, headers: json }],
      ['{"batch":"bat_1","entry":{"seq":1},"records":[]}', { status: 201, headers: json }],
      ['', { status: 404 }],
      ['', { status: 301, headers: { location: 'http://127.0.0.1:1/' } }],
    ]
    let requests = 0
    const ledger = client({
      async fetch(input, init) {
        const turn = requests++
        const found = garbage[Math.floor(turn / 3)]
        if (found === undefined || turn % 3 === 2) return fetch(input, init)
        if (turn % 3 === 1) await (await fetch(input, init)).arrayBuffer()
        return new Response(...found)
      },
    }).notarizer(SMALL)
    await recordAll(ledger, 'garbage', 200)
    // Flushes until nothing is buffered. Most of these faults look as if only an operator could repair them, so a
    // flush fails.
    while (ledger.stats.buffered > 0) await ledger.flush().catch(() => {})
    // Each faulty answer is given twice. The second 404 answers a request without records, so it does not count as a
    // failure. On a busy machine a timeout may be an additional failure.
    assert.ok(ledger.stats.failures >= garbage.length * 2 - 1, `${ledger.stats.failures} failures`)
    assert.deepEqual(await recordedNumbers(app, 'garbage'), numbers(200))
  })

  await t.test('with a spool: the same, and refused records are stored beside the batches', async (t) => {
    const { directory } = temporaryFiles(t)
    const proxy = await startTcpProxy(t, baseUrl)
    const refused: RefusedRecord[] = []
    const spool = await openSpool(directory)
    const ledger = client({ baseUrl: proxy.url }).notarizer({
      ...SMALL,
      spool,
      onRefused: (record) => void refused.push(record),
    })
    for (const i of numbers(60))
      ledger.record({ group: 'spool', i }, i % 20 === 9 ? { occurredAt: 'once' } : {})
    proxy.cutAfter({ toClient: 300 })
    await ledger.close()
    assert.deepEqual(
      await recordedNumbers(app, 'spool'),
      numbers(60).filter((i) => i % 20 !== 9),
    )
    const lines = readFileSync(join(directory, 'refused.ndjson'), 'utf8').trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).record.payload.i),
      [9, 29, 49],
    )
    assert.deepEqual(
      refused.map(({ payload }) => (payload as { i: number }).i),
      [9, 29, 49],
    )
    assert.deepEqual(
      namesIn(directory),
      ['owner.json', 'refused.ndjson'],
      'nothing else is left, the lock neither',
    )
  })

  await t.test(
    'records that close() could not send stay in the spool and are sent first by the next process',
    async (t) => {
      const { directory } = temporaryFiles(t)
      const { id } = app.ledger.ledger
      const freeze = async (action: string) =>
        expectStatus(200, await app.send('POST', `/v1/ledgers/${id}/${action}`, { key: OPERATOR_KEY }))
      await freeze('freeze')
      const first = client().notarizer({ ...SMALL, spool: await openSpool(directory) })
      for (const i of numbers(30)) first.record({ group: 'left', i })
      await assert.rejects(first.close(), PermissionError)
      await assert.rejects(first.close(), /the notarizer was closed: 30 records are not recorded yet/)
      await freeze('unfreeze')
      const second = client().notarizer({ ...SMALL, spool: await openSpool(directory) })
      assert.equal(second.stats.buffered, 30)
      second.record({ group: 'left', i: 30 })
      await second.close()
      assert.deepEqual(await recordedNumbers(app, 'left'), numbers(31))
    },
  )
})

test('an overloaded server is asked again after its Retry-After, not before', async (t) => {
  const at: number[] = []
  const server = await startHostile(t, (response, attempt) => {
    at.push(performance.now())
    if (attempt === 1) return sendProblem(response, 503, 'overloaded', { headers: { 'retry-after': '1' } })
    const records = [{ id: 'rec_1', digest: 'd', salt: 's' }]
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ batch: 'bat_1', entry: { seq: 1 }, records }))
  })
  const ledger = server.client().notarizer(QUICK)
  ledger.record({})
  await ledger.close()
  assert.equal(at.length, 2)
  assert.ok(at[1]! - at[0]! >= 1_000)
  const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
  assert.equal(keys[0], keys[1])
})

test('a batch refused without an index is halved until the refused record is found', async (t) => {
  const refused: RefusedRecord[] = []
  const keys = new Set<string>()
  const server = await startHostile(t, () => {})
  const ledger = server
    .client({
      async fetch(_input, init) {
        keys.add(new Headers(init!.headers).get('idempotency-key')!)
        const { records } = JSON.parse(init!.body as string) as { records: { payload: { i: number } }[] }
        if (records.some(({ payload }) => payload.i === 5)) {
          const problem = {
            type: 'https://tallystick.dev/errors/body_too_large',
            title: 'The body is too large',
            status: 413,
            detail: 'it is',
            code: 'body_too_large',
            requestId: `req_${'0'.repeat(32)}`,
            retryable: false,
          }
          return new Response(JSON.stringify(problem), {
            status: 413,
            headers: { 'content-type': 'application/problem+json' },
          })
        }
        const answered = records.map(() => ({ id: 'rec_1', digest: 'd', salt: 's' }))
        return Response.json({ batch: 'bat_1', entry: { seq: 1 }, records: answered }, { status: 201 })
      },
    })
    .notarizer({ ...QUICK, onRefused: (record) => void refused.push(record) })
  for (const i of numbers(16)) ledger.record({ i })
  await ledger.close()
  assert.deepEqual(
    refused.map(({ payload }) => payload),
    [{ i: 5 }],
  )
  assert.equal(ledger.stats.recorded, 15)
  assert.equal(keys.size, 9, 'another request has another key: 16, 8, 4, 4, 2, 2, 1, 1, 8')
})

test('after idempotency_key_reused, the whole batch is refused without a new key', async (t) => {
  let requests = 0
  const server = await startHostile(t, (response) => {
    requests++
    sendProblem(response, 422, 'idempotency_key_reused')
  })
  let refused = 0
  const ledger = server.client().notarizer({ ...QUICK, onRefused: () => void refused++ })
  for (const i of numbers(3)) ledger.record({ i })
  await ledger.close()
  assert.equal(refused, 3)
  assert.equal(requests, 1)
})

test('with a wrong server, flush() rejects and the spool keeps the records', async (t) => {
  const server = await startHostile(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
  })
  const { directory } = temporaryFiles(t)
  const ledger = server.client().notarizer({ ...QUICK, spool: await openSpool(directory) })
  ledger.record({})
  await assert.rejects(ledger.close(), UnexpectedAnswerError)
  assert.deepEqual(namesIn(directory), ['0000000000000001.ndjson'])
})
