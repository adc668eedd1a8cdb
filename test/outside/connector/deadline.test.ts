import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  OUTBOUND_CONNECT_MS_MAX,
  OUTBOUND_IDLE_MS_MAX,
  OUTBOUND_REQUEST_MS_MAX,
} from '../../../src/outside/connector/limits.ts'
import { assertFails } from './assert-fails.ts'
import { PATIENT, request, startBytePeer, startConnector, startHttpPeer } from './peers.ts'

/** The tests run concurrently, because all of them wait for clocks. */
test('deadlines', { concurrency: true }, async (t) => {
  await Promise.all([
    t.test('a post ends after 15 s, with its connection, whatever the peer does', async (t) => {
      const connector = startConnector(t)
      const interim = 'HTTP/1.1 102 Processing\r\n\r\n'
      const slowStatusLine = Array.from('HTTP/1.1 200 '.padEnd(1_000, 'O'))
      const peers: Record<string, (socket: Socket) => void> = {
        'says nothing': () => {},
        'says nothing, and reads nothing': onFirstChunk((socket) => socket.pause()),
        'drips a status line': drip(slowStatusLine),
        'drips headers': (socket) => {
          socket.write('HTTP/1.1 200 OK\r\n')
          drip(Array.from({ length: 1_000 }, () => 'a: b\r\n'))(socket)
        },
        'drips answers before the answer': drip([...Array(8).fill(interim), ...slowStatusLine]),
        'keeps the post waiting on a connection that was used': onSecondRequest(() => {}),
      }
      await Promise.all(
        Object.entries(peers).map(async ([what, answer]) => {
          const peer = await startBytePeer(t, answer)
          const body = what.endsWith('reads nothing') ? Buffer.alloc(8 * 1024 * 1024) : '{}'
          if (what.endsWith('was used')) await connector.post(request(peer.url))
          const startedAt = performance.now()
          await assertFails(connector.post(request(peer.url, { body })), 'timeout', what)
          const tookMs = performance.now() - startedAt
          assert.ok(tookMs > OUTBOUND_REQUEST_MS_MAX - 100 && tookMs < OUTBOUND_REQUEST_MS_MAX + 1_000, what)
          await closes(t, peer.open, what)
        }),
      )
    }),
    t.test('a hanging https connection fails with connect_timeout after 5 s', async (t) => {
      const mute = await startBytePeer(t, () => {})
      const startedAt = performance.now()
      await assertFails(
        startConnector(t).post(request(mute.url.replace('http:', 'https:'))),
        'connect_timeout',
      )
      const tookMs = performance.now() - startedAt
      assert.ok(tookMs > OUTBOUND_CONNECT_MS_MAX - 100 && tookMs < OUTBOUND_CONNECT_MS_MAX + 1_000)
      await closes(t, mute.open, 'mute')
    }),
    t.test(
      'closes an idle connection after its maximum time, even with a longer keep-alive of the peer',
      async (t) => {
        const peer = await startBytePeer(t, (socket) =>
          socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=600\r\ncontent-length: 0\r\n\r\n'),
        )
        await startConnector(t).post(request(peer.url))
        await sleep(OUTBOUND_IDLE_MS_MAX / 2)
        assert.equal(peer.open.size, 1)
        await t.waitFor(() => assert.equal(peer.open.size, 0), { timeout: OUTBOUND_IDLE_MS_MAX })
      },
    ),
    t.test('closes the surplus connections of a burst when single posts follow', async (t) => {
      const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
      const connector = startConnector(t)
      await Promise.all([connector.post(request(peer.url)), connector.post(request(peer.url))])
      for (let ms = 0; ms <= OUTBOUND_IDLE_MS_MAX; ms += 500) {
        await connector.post(request(peer.url))
        await sleep(500)
      }
      assert.deepEqual([peer.connections, peer.open.size], [2, 1])
    }),
  ])
})

function drip(pieces: readonly string[]): (socket: Socket) => void {
  return (socket) => {
    let next = 0
    const timer = setInterval(() => {
      if (next < pieces.length) socket.write(pieces[next++]!)
    }, 40)
    socket.on('close', () => clearInterval(timer))
  }
}

function onFirstChunk(act: (socket: Socket) => void): (socket: Socket) => void {
  const begun = new WeakSet<Socket>()
  return (socket) => {
    if (!begun.has(socket)) act(socket)
    begun.add(socket)
  }
}

function onSecondRequest(answer: (socket: Socket) => void): (socket: Socket) => void {
  let requests = 0
  return (socket) => {
    requests++
    if (requests === 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    else answer(socket)
  }
}

async function closes(t: TestContext, open: ReadonlySet<Socket>, what: string): Promise<void> {
  // The sockets are resumed, because a socket that is not read does not notice its end.
  for (const socket of open) socket.resume()
  await t.waitFor(() => assert.equal(open.size, 0, what), PATIENT)
}
