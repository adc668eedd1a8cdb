import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Connection } from '../../../src/outside/connector/connection.ts'
import { OutboundError } from '../../../src/outside/connector/error.ts'
import { Exchange, type OutboundAnswer } from '../../../src/outside/connector/exchange.ts'
import { assertFails } from './assert-fails.ts'
import {
  LOOPBACK,
  PATIENT,
  request,
  resolver,
  startBytePeer,
  startConnector,
  startHttpPeer,
} from './peers.ts'

test('sends a post unchanged, and returns its answer', async (t) => {
  const arrived: unknown[] = []
  const peer = await startHttpPeer(t, async (incoming, outgoing) => {
    const body = (await incoming.toArray()).join('')
    arrived.push({ method: incoming.method, url: incoming.url, headers: incoming.headers, body })
    outgoing.writeHead(201).end('made')
  })
  const headers = { 'content-type': 'application/json', 'webhook-id': 'msg_1' }
  const url = `http://127.0.0.1:${peer.port}/a%20b?c=d%26`
  const { durationMs, dateMs, ...answer } = await startConnector(t).post(
    request(url, { headers, body: '{"é":1}' }),
  )
  assert.deepEqual(arrived, [
    {
      method: 'POST',
      url: '/a%20b?c=d%26',
      headers: {
        ...headers,
        host: `127.0.0.1:${peer.port}`,
        connection: 'keep-alive',
        'content-length': '8',
      },
      body: '{"é":1}',
    },
  ])
  assert.deepEqual(answer, { status: 201, retryAfterMs: null, excerpt: null, body: null, ended: 'whole' })
  assert.ok(durationMs >= 0 && durationMs < 5_000)
  assert.ok(Math.abs(dateMs! - Date.now()) < 10_000)
})

test('a header that cannot be sent throws an error of the caller, without connecting', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  await assert.rejects(
    startConnector(t).post(request(peer.url, { headers: { 'webhook-id': 'a\r\nb: c' } })),
    (error) => !(error instanceof OutboundError),
  )
  assert.equal(peer.connections, 0)
})

test('a redirect is an answer like any other', async (t) => {
  let asked = 0
  const peer = await startHttpPeer(t, (_incoming, outgoing) => {
    asked++
    outgoing.writeHead(307, { location: '/elsewhere' }).end()
  })
  assert.equal((await startConnector(t).post(request(peer.url))).status, 307)
  assert.equal(asked, 1)
})

test('returns a failing status with the pause of Retry-After', async (t) => {
  const connector = startConnector(t)
  for (const [status, retryAfter, expected] of [
    [500, null, null],
    [410, null, null],
    [429, '7', 7_000],
    [503, new Date(Date.now() + 60_000).toUTCString(), 60_000],
  ] as const) {
    const peer = await startHttpPeer(t, (_incoming, outgoing) => {
      if (retryAfter !== null) outgoing.setHeader('retry-after', retryAfter)
      outgoing.writeHead(status).end()
    })
    const answer = await connector.post(request(peer.url))
    assert.equal(answer.status, status)
    if (expected === null) assert.equal(answer.retryAfterMs, null)
    else assert.ok(Math.abs(answer.retryAfterMs! - expected) <= 2_000, `${answer.retryAfterMs}`)
  }
})

test('returns the status even if the body drips, never ends or is cut', async (t) => {
  const connector = startConnector(t)
  const endless = async (ended: OutboundAnswer['ended'], write: (socket: Socket) => void) => {
    const peer = await startBytePeer(t, (socket) => write(socket))
    const answer = await connector.post(request(peer.url))
    assert.deepEqual([answer.status, answer.ended], [200, ended])
    assert.ok(answer.durationMs < 2_000, `${answer.durationMs} ms`)
    await t.waitFor(() => assert.equal(peer.open.size, 0), PATIENT)
  }
  const head = 'HTTP/1.1 200 OK\r\n'
  await Promise.all([
    endless('slow', (socket) => socket.write(`${head}content-length: 10\r\n\r\n`)),
    endless('slow', (socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
      const timer = setInterval(() => socket.write('1\r\na\r\n'), 50)
      socket.on('close', () => clearInterval(timer))
    }),
    endless('slow', (socket) => socket.write(`${head}\r\nuntil the connection ends`)),
    endless('cut', (socket) => socket.end(`${head}content-length: 10\r\n\r\nabc`)),
    endless('cut', (socket) =>
      socket.write(`${head}content-length: 10\r\n\r\nabc`, () => socket.resetAndDestroy()),
    ),
    endless('cut', (socket) => socket.write(`${head}transfer-encoding: chunked\r\n\r\nno chunk`)),
  ])
})

test('cuts a body of a gigabyte at 16 KiB; a body of exactly 16 KiB is complete', async (t) => {
  const connector = startConnector(t)
  let sent = 0
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const peer = await startHttpPeer(t, (_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-length': 2 ** 30 })
    const more = () => {
      while (!outgoing.destroyed && outgoing.write(chunk)) sent += chunk.length
    }
    outgoing.on('drain', more)
    more()
  })
  const before = process.memoryUsage().rss
  const answer = await connector.post(request(peer.url))
  assert.deepEqual([answer.status, answer.ended], [200, 'long'])
  await t.waitFor(() => assert.equal(peer.open.size, 0), PATIENT)
  assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`)
  assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024)

  for (const [bytes, ended] of [
    [16 * 1024, 'whole'],
    [16 * 1024 + 1, 'long'],
  ] as const) {
    const exact = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end(Buffer.alloc(bytes)))
    assert.equal((await connector.post(request(exact.url))).ended, ended, `${bytes}`)
  }
})

test('an answer of a public peer has an excerpt of its body, without decompression', async (t) => {
  const said = Buffer.concat([Buffer.from('{"error":"no such\0\nhook"}'), Buffer.alloc(5_000, 'x')])
  const peer = await startHttpPeer(t, (_incoming, outgoing) => {
    outgoing.writeHead(404).write(said.subarray(0, 600))
    setTimeout(() => outgoing.end(said.subarray(600)), 20)
  })
  const answer = await postAsIfPublic(peer.url)
  assert.equal(answer.excerpt, `{"error":"no such hook"}${'x'.repeat(999)}`)

  const zipped = gzipSync(Buffer.alloc(100_000_000))
  const bomb = await startHttpPeer(t, (_incoming, outgoing) =>
    outgoing.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped),
  )
  assert.match((await postAsIfPublic(bomb.url)).excerpt!, /^\ufffd?[^x]/)
})

test('an answer from an inner network has no excerpt', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end('root:x:0:0'))
  const connector = startConnector(t, resolver({ 'inner.example': ['127.0.0.1'] }))
  for (const host of ['127.0.0.1', 'inner.example']) {
    assert.equal((await connector.post(request(`http://${host}:${peer.port}/`))).excerpt, null)
  }
})

test('an invalid or oversized HTTP/1.1 answer is malformed, and its connection is closed', async (t) => {
  const connector = startConnector(t)
  const answers = {
    'no HTTP': 'SSH-2.0-OpenSSH_9.9\r\n',
    'no status': 'HTTP/1.1 OK\r\n\r\n',
    'a version to come': 'HTTP/3.1 200 OK\r\n\r\n',
    'a header without a colon': 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n',
    'two lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na',
    'a header that is too long': `HTTP/1.1 200 OK\r\na: ${'b'.repeat(20_000)}\r\n\r\n`,
    'too many headers': `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}\r\n`,
    'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
    'many answers before the answer': 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000),
    'many times 100': `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)}HTTP/1.1 200 OK\r\n\r\n`,
    'a 100 without an end': `HTTP/1.1 100 Continue\r\na: ${'b'.repeat(20_000)}`,
    'a 100 with a body': 'HTTP/1.1 100 Continue\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n',
    'a status of four digits': 'HTTP/1.1 1000 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  }
  for (const [what, bytes] of Object.entries(answers)) {
    const peer = await startBytePeer(t, (socket) => socket.write(bytes))
    await assertFails(connector.post(request(peer.url)), 'malformed_answer', what)
    await t.waitFor(() => assert.equal(peer.open.size, 0, what), PATIENT)
  }
})

test('skips a few interim answers', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => {
    for (let n = 0; n < 3; n++) outgoing.writeEarlyHints({ link: '</style.css>; rel=preload' })
    outgoing.writeHead(202).end()
  })
  assert.equal((await startConnector(t).post(request(peer.url))).status, 202)
})

test('skips unexpected 100 Continue answers in any form (RFC 9110 §15.2)', async (t) => {
  const go = 'HTTP/1.1 100 Continue\r\n\r\n'
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const answers = {
    'before the answer': go + ok,
    'with headers and without a reason': `HTTP/1.1 100\r\nx: y\r\n\r\n${ok}`,
    'three times, and a 103 between': `${go}${go}HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n${go}${ok}`,
  }
  const connector = startConnector(t)
  for (const [what, bytes] of Object.entries(answers)) {
    const whole = await startBytePeer(t, (socket) => socket.write(bytes))
    // The second request uses the open connection.
    for (let n = 0; n < 2; n++) assert.equal((await connector.post(request(whole.url))).status, 200, what)
    assert.equal(whole.connections, 1, what)
    const dripped = await startBytePeer(t, async (socket) => {
      for (const byte of bytes) {
        socket.write(byte)
        await new Promise(setImmediate)
      }
    })
    assert.equal((await connector.post(request(dripped.url))).status, 200, what)
  }
})

test('does not repeat a post whose connection is cut after 100 Continue', async (t) => {
  let posts = 0
  const peer = await startBytePeer(t, (socket) => {
    if (posts++ === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    else socket.write('HTTP/1.1 100 Continue\r\n\r\n', () => setTimeout(() => socket.destroy(), 20))
  })
  const connector = startConnector(t)
  await connector.post(request(peer.url))
  await assertFails(connector.post(request(peer.url)), 'reset')
  assert.deepEqual([posts, peer.connections], [2, 1])
})

test('a connection cut before the status is a reset, and the post is not repeated', async (t) => {
  const connector = startConnector(t)
  for (const cut of [
    (socket: Socket) => socket.resetAndDestroy(),
    (socket: Socket) => socket.end(),
    (socket: Socket) => socket.end('HTTP/1.1 200'),
    (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nx: y', () => socket.resetAndDestroy()),
  ]) {
    const peer = await startBytePeer(t, cut)
    await assertFails(connector.post(request(peer.url)), 'reset')
    assert.equal(peer.connections, 1)
  }
})

/** Posts with the connector's own connection class, as if the other end had a public address. */
async function postAsIfPublic(url: string): Promise<OutboundAnswer> {
  class PublicConnection extends Connection {
    override get isPrivate() {
      return false
    }
  }
  const dialling = { url: new URL(url), allowances: LOOPBACK, allowedOnly: true, resolveName: resolver({}) }
  const connection = new PublicConnection(dialling, 1_000)
  const startedAtMs = performance.now()
  const exchange = new Exchange({
    connection,
    request: { method: 'POST', path: '/', body: '{}' },
    now: Date.now,
    startedAtMs,
    deadlineMs: startedAtMs + 5_000,
    signal: new AbortController().signal,
    answerBytesMax: 0,
    takeMemory: () => true,
    release: () => connection.destroy(),
  })
  return await exchange.run()
}
