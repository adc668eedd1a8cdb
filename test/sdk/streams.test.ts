import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tallystick } from '../../sdk/client.ts'
import { ConnectionError, TimeoutError, UnexpectedAnswerError } from '../../sdk/errors.ts'
import { wholeExport } from '../../sdk/http/streams.ts'
import type { EntryStreamOptions } from '../../sdk/resources/entries.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/wait.ts'
import { sendProblem, startHostile } from './hostile-server.ts'
import { QUICK_RETRIES } from './quick-retries.ts'
import { sharedSdk } from './set-up.ts'

const NDJSON = { 'content-type': 'application/x-ndjson' }
const TRIES = QUICK_RETRIES.retriesMax + 1

test('through a network that breaks', async (t) => {
  const sdk = await sharedSdk()
  const proxy = await startTcpProxy(t, sdk.baseUrl)
  const client = sdk.client({ baseUrl: proxy.url })
  const countRecords = async () => {
    const [row] = await sdk.app.sql<{ count: number }>(
      `select (count(*) + coalesce(sum(item_count) - count(item_count), 0))::int as count
       from tallystick.entries where ledger_id = $1 and version = 1`,
      [sdk.app.ledgerId],
    )
    return row!.count
  }

  await t.test('a write whose answer is lost is stored once, and answered', async () => {
    proxy.hold()
    const written = client.records.notarize({ payload: { n: 1 } })
    await until(async () => (await countRecords()) === 1)
    proxy.cut()
    proxy.resume()
    const record = await written
    assert.deepEqual(await client.records.list().toArray(5), [record])
  })

  await t.test('a batch whose answer is lost is stored once, and answered', async () => {
    proxy.hold()
    const written = client.batches.notarize(
      [2, 3].map((n) => ({ type: 'generic/1', payload: { n, filler: 'x'.repeat(2_000) } })),
    )
    await until(async () => (await countRecords()) === 3)
    proxy.cut()
    proxy.resume()
    const { records } = await written
    assert.deepEqual((await client.records.get(records[1]!.id)).payload!['n'], 3)
    assert.equal(await countRecords(), 3)
  })

  for (let n = 4; n < 60; n++)
    await sdk.client().records.notarize({ payload: { n, filler: 'x'.repeat(2_000) } })
  const { size } = await client.ledger.get()
  const all = Array.from({ length: size }, (_, seq) => seq)

  await t.test('an entry stream resumes after its last entry, however often it is cut off', async () => {
    const seqs: number[] = []
    proxy.cutAfter({ toClient: 20_000 })
    for await (const { seq } of client.entries.stream()) {
      seqs.push(seq)
      if (seq % 10 === 0) proxy.cutAfter({ toClient: 20_000 })
    }
    assert.deepEqual(seqs, all)
  })

  await t.test('an export that is cut off throws ConnectionError instead of ending', async () => {
    proxy.cutAfter({ toClient: 50_000 })
    await assert.rejects(new Response(await client.exports.stream()).text(), (error) => {
      assert.ok(error instanceof ConnectionError, `${error}`)
      assert.match(error.message, /GET .*\/v1\/export: the connection broke/)
      return true
    })
    assert.equal((await new Response(await client.exports.stream()).text()).split('\n').length, size + 3)
  })
})

test('an entry stream without progress ends with the last error', async (t) => {
  const cut = await startHostile(t, (response) => {
    response.writeHead(200, NDJSON).write('{"seq":0,')
    setTimeout(() => response.destroy(), 2)
  })
  await assert.rejects(seqsOf(cut.client()), ConnectionError)
  assert.equal(cut.requests.length, TRIES)
  const down = await startHostile(t, (response) => sendProblem(response, 503, 'unavailable'))
  await assert.rejects(seqsOf(down.client()), /503 unavailable/)
  assert.equal(down.requests.length, TRIES)
  const closed = await startHostile(t, (response) => sendProblem(response, 403, 'forbidden'))
  await assert.rejects(seqsOf(closed.client()), /403 forbidden/)
  assert.equal(closed.requests.length, 1)
})

test('an entry stream that makes progress with each try is never given up', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    const line = `{"seq":${attempt - 1}}\n`
    // The answer has a length, so that an earlier end is an error.
    response
      .writeHead(200, { ...NDJSON, 'content-length': attempt <= 2 * TRIES ? 100 : line.length })
      .write(line)
    setTimeout(() => response.destroy(), 5)
  })
  const all = Array.from({ length: 2 * TRIES + 1 }, (_, seq) => seq)
  assert.deepEqual(await seqsOf(server.client()), all)
})

test('a line that is cut off is read again', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    response.writeHead(200, NDJSON).end(attempt === 1 ? '{"seq":0}\n{"seq":1' : '{"seq":1}\n{"seq":2}\n')
  })
  assert.deepEqual(await seqsOf(server.client()), [0, 1, 2])
  assert.deepEqual(
    server.requests.map(({ url }) => url),
    ['/v1/entries', '/v1/entries?after=0'],
  )
})

test('a line that is no entry, or not the next one, throws UnexpectedAnswerError at once', async (t) => {
  for (const [body, says] of [
    ['<html>\n', /something else than entry 0/],
    ['null\n', /something else than entry 0/],
    ['{"seq":1}\n', /something else than entry 0/],
    ['{"seq":0}\n{"seq":0}\n', /something else than entry 1/],
    ['\n', /something else than entry 0/],
  ] as const) {
    const server = await startHostile(t, (response) => void response.writeHead(200, NDJSON).end(body))
    const error = await seqsOf(server.client()).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof UnexpectedAnswerError, body)
    assert.match(error.message, says)
    assert.equal(server.requests.length, 1)
  }
})

test('an endless line is refused before it fills the memory', async (t) => {
  const server = await startHostile(t, (response) => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const write = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.writeHead(200, NDJSON).on('drain', write)
    write()
  })
  await assert.rejects(
    seqsOf(server.client({ timeoutMs: 60_000 })),
    /answered with a line of more than 33554432 bytes/,
  )
  assert.equal(server.requests.length, 1)
})

test('a silent stream is resumed after the timeout, and a slow reader has no timeout', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    response.writeHead(200, NDJSON).write(attempt === 1 ? '{"seq":0}\n' : '{"seq":1}\n{"seq":2}\n')
    if (attempt > 1) response.end()
  })
  const seqs: number[] = []
  for await (const { seq } of server.client({ timeoutMs: 400 }).entries.stream()) {
    seqs.push(seq)
    await sleep(500)
  }
  assert.deepEqual(seqs, [0, 1, 2])
  assert.equal(server.requests.length, 2)
  const silent = await startHostile(t, (response) => void response.writeHead(200, NDJSON).flushHeaders())
  await assert.rejects(seqsOf(silent.client({ timeoutMs: 100 })), TimeoutError)
  assert.equal(silent.requests.length, TRIES)
})

test('a reader that stops, or aborts by signal, closes the connection', async (t) => {
  let closed = 0
  const server = await startHostile(t, (response) => {
    response.writeHead(200, NDJSON).write('{"seq":0}\n')
    response.on('close', () => closed++)
  })
  for await (const { seq } of server.client().entries.stream()) {
    assert.equal(seq, 0)
    break
  }
  await until(() => closed === 1)
  const stop = new AbortController()
  const reason = new Error('enough')
  const reading = seqsOf(server.client(), { signal: stop.signal })
  setTimeout(() => stop.abort(reason), 20)
  await assert.rejects(reading, (thrown) => thrown === reason)
  await until(() => closed === 2)
  assert.equal(server.requests.length, 2)
})

test('with follow, a stream continues after an early end, a 503 and a broken connection', async (t) => {
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => void response.writeHead(200, NDJSON).end('{"seq":5}\n'),
    (response) => sendProblem(response, 503, 'unavailable'),
    (response) => response.destroy(),
    (response) => void response.writeHead(200, NDJSON).end('{"seq":6}\n'),
  ]
  const server = await startHostile(t, (response, attempt) => answers[attempt - 1]!(response))
  assert.deepEqual(await seqsOf(server.client(), { after: 4, limit: 2, follow: true }), [5, 6])
  assert.deepEqual(
    server.requests.map(({ url }) => url),
    ['/v1/entries?after=4&limit=2', ...Array(3).fill('/v1/entries?after=5&limit=1')],
  )
})

test('with follow, failures count as consecutive only without an answer between them', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt % 2 === 1) response.destroy()
    else response.writeHead(200, NDJSON).end(attempt === 4 ? '{"seq":0}\n' : '')
  })
  const options = { follow: true, limit: 1, retriesMax: 1 }
  assert.deepEqual(await seqsOf(server.client(), options), [0])
})

test('an export passes only with its last line, however it is cut into pieces', async () => {
  const whole = '{"export":1}\n{"seq":0}\n{"checkpoint":null}\n'
  for (let first = 0; first < whole.length; first++) {
    for (const second of [first, first + 1, whole.length - 1]) {
      const pieces = [whole.slice(0, first), whole.slice(first, second), whole.slice(Math.max(first, second))]
      assert.equal(await passed(pieces), whole)
    }
    if (first === 0) continue
    await assert.rejects(passed([whole.slice(0, first)]), /ended before the export's last line/)
    await assert.rejects(passed([...whole.slice(0, first)]), /ended before the export's last line/)
  }
  for (const text of ['', `${whole}{`, `${whole}\n`, '{"checkpoint":null}', '{"export":1}\n'])
    await assert.rejects(passed([text]), /ended before the export's last line/, text)
  assert.equal(await passed([...whole]), whole)
})

test('an export that ends early without a connection error throws UnexpectedAnswerError', async (t) => {
  const server = await startHostile(
    t,
    (response) => void response.writeHead(200, NDJSON).end('{"export":1}\n'),
  )
  const text = new Response(await server.client().exports.stream()).text()
  await assert.rejects(text, UnexpectedAnswerError)
})

async function seqsOf(client: Tallystick, options?: EntryStreamOptions): Promise<number[]> {
  const seqs: number[] = []
  for await (const { seq } of client.entries.stream(options)) seqs.push(seq)
  return seqs
}

function passed(pieces: string[]): Promise<string> {
  const asked = { name: 'GET /v1/export', idempotencyKey: null, repeatable: true }
  const encoded = pieces.map((piece) => new TextEncoder().encode(piece))
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of encoded) controller.enqueue(piece)
      controller.close()
    },
  })
  return new Response(stream.pipeThrough(wholeExport(asked))).text()
}
