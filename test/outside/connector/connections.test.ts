import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Connector } from '../../../src/outside/connector/connector.ts'
import { OUTBOUND_IDLE_CONNECTIONS_MAX, OUTBOUND_IDLE_MS_MAX } from '../../../src/outside/connector/limits.ts'
import { until } from '../../helpers/wait.ts'
import { assertFails } from './assert-fails.ts'
import { PATIENT, request, resolver, startBytePeer, startConnector, startHttpPeer } from './peers.ts'

const WAVE = 50
/**
 * The maximum idle time is so long that no connection reaches it, even if a busy machine takes long for 600
 * connections.
 */
const KEPT = { idleMsMax: 600_000 }
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

test('reuses connections to an origin, at most as many as concurrent posts', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end('ok'))
  const connector = startConnector(t)
  for (let n = 0; n < 20; n++) await connector.post(request(peer.url))
  assert.equal(peer.connections, 1)
  await Promise.all(Array.from({ length: 10 }, () => connector.post(request(peer.url))))
  assert.equal(peer.connections, 10)
  await Promise.all(Array.from({ length: 10 }, () => connector.post(request(peer.url))))
  assert.equal(peer.connections, 10)
})

test('repeats a post on a new connection if the peer closes the kept one', async (t) => {
  for (const close of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
    const used = new WeakSet<Socket>()
    const peer = await startBytePeer(t, (socket) => {
      if (used.has(socket)) close(socket)
      else socket.write(OK)
      used.add(socket)
    })
    const connector = startConnector(t)
    for (let n = 0; n < 5; n++) assert.equal((await connector.post(request(peer.url))).status, 200)
    assert.equal(peer.connections, 5)
  }
})

test('loses no post if the peer closes kept connections at random', async (t) => {
  const peer = await startBytePeer(t, (socket) => {
    socket.write(OK)
    setTimeout(() => socket.destroy(), Math.random() * 5)
  })
  const connector = startConnector(t)
  const one = async () => {
    for (let n = 0; n < 200; n++) {
      assert.equal((await connector.post(request(peer.url))).status, 200)
      await sleep(Math.random() * 6)
    }
  }
  await Promise.all(Array.from({ length: 10 }, one))
})

test('a post is repeated once at most, and not after the first byte of an answer', async (t) => {
  for (const [answer, connections] of [
    ['', 2],
    ['HTTP/1.1 50', 1],
  ] as const) {
    let requests = 0
    const peer = await startBytePeer(t, (socket) => {
      requests++
      if (requests === 1) socket.write(OK)
      else socket.end(answer)
    })
    const connector = startConnector(t)
    await connector.post(request(peer.url))
    await assertFails(connector.post(request(peer.url)), 'reset')
    assert.deepEqual([requests, peer.connections], [1 + connections, connections])
  }
})

test('never takes unrequested bytes on a kept connection as the next answer', async (t) => {
  let requests = 0
  const peer = await startBytePeer(t, (socket) => {
    requests++
    socket.write(requests === 1 ? `${OK}HTTP/1.1 418 Poisoned\r\ncontent-length: 0\r\n\r\n` : OK)
  })
  const connector = startConnector(t)
  for (let n = 0; n < 3; n++) assert.equal((await connector.post(request(peer.url))).status, 200)
})

test('limits the number of kept connections, and closes the oldest first', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const names = Array.from({ length: OUTBOUND_IDLE_CONNECTIONS_MAX + WAVE }, (_, n) => `h${n}.example`)
  const addresses = resolver(Object.fromEntries(names.map((name) => [name, ['127.0.0.1']])))
  const connector = startConnector(t, addresses, KEPT)
  await postInWaves(connector, names, peer.port)
  await until(() => peer.open.size <= OUTBOUND_IDLE_CONNECTIONS_MAX)
  const kept = peer.open.size
  const before = peer.connections
  await connector.post(request(`http://${names.at(-1)}:${peer.port}/`))
  const last = peer.connections
  await connector.post(request(`http://${names[0]}:${peer.port}/`))
  assert.deepEqual([kept, last, peer.connections], [OUTBOUND_IDLE_CONNECTIONS_MAX, before, before + 1])
})

test('connections closed by the peer do not count as kept', async (t) => {
  const living = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const closing = await startHttpPeer(t, (_incoming, outgoing) =>
    outgoing.setHeader('connection', 'close').end(),
  )
  const connector = startConnector(t, async () => [{ address: '127.0.0.1', family: 4 }], KEPT)
  await connector.post(request(living.url))
  const names = Array.from({ length: OUTBOUND_IDLE_CONNECTIONS_MAX }, (_, n) => `h${n}.example`)
  await postInWaves(connector, names, closing.port)
  await connector.post(request(living.url))
  assert.equal(living.connections, 1)
})

test('an aborted post fails at once and cuts its connection, in every phase', async (t) => {
  const connector = startConnector(t, () => new Promise(() => {}))
  const mute = await startBytePeer(t, () => {})
  const talking = await startBytePeer(t, (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-le'))
  const tls = await startBytePeer(t, () => {})
  for (const url of [
    mute.url,
    talking.url,
    tls.url.replace('http:', 'https:'),
    'https://unresolved.example/',
  ]) {
    const giveUp = new AbortController()
    setTimeout(() => giveUp.abort(), 50)
    const startedAt = performance.now()
    await assertFails(connector.post(request(url, { signal: giveUp.signal })), 'aborted', url)
    assert.ok(performance.now() - startedAt < 500, url)
  }
  await t.waitFor(
    () => assert.deepEqual([mute.open.size, talking.open.size, tls.open.size], [0, 0, 0]),
    PATIENT,
  )
  await assertFails(connector.post(request(mute.url, { signal: AbortSignal.abort() })), 'aborted')
  assert.equal(mute.connections, 1)
})

test('close aborts waiting posts, closes all connections, and refuses new ones', async (t) => {
  const connector = startConnector(t)
  const kept = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const mute = await startBytePeer(t, () => {})
  await connector.post(request(kept.url))
  const waiting = [mute.url, mute.url.replace('http:', 'https:')].map((url) =>
    assertFails(connector.post(request(url)), 'aborted', url),
  )
  await t.waitFor(() => assert.equal(mute.connections, 2), PATIENT)
  connector.close()
  await Promise.all(waiting)
  await t.waitFor(() => assert.deepEqual([kept.open.size, mute.open.size], [0, 0]), PATIENT)
  for (const url of [kept.url, mute.url]) {
    await assertFails(connector.post(request(url)), 'aborted', url)
  }
  assert.deepEqual([kept.connections, mute.connections], [1, 2])
})

test('a kept connection does not keep the process alive', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const script = `
    const { Connector } = await import('./src/outside/connector/connector.ts')
    const { parseAllowances } = await import('./src/outside/connector/allowances.ts')
    const connector = new Connector({ allowances: parseAllowances('127.0.0.1') })
    const { status } = await connector.post({
      url: '${peer.url}', headers: {}, body: 'x', signal: new AbortController().signal,
    })
    const answeredAt = performance.now()
    process.on('exit', () => console.log(status, performance.now() - answeredAt < ${OUTBOUND_IDLE_MS_MAX}))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: join(import.meta.dirname, '../../..'),
  })
  assert.equal(stdout, '200 true\n')
})

async function postInWaves(connector: Connector, names: readonly string[], port: number): Promise<void> {
  for (let from = 0; from < names.length; from += WAVE) {
    const wave = names.slice(from, from + WAVE)
    await Promise.all(wave.map((name) => connector.post(request(`http://${name}:${port}/`))))
  }
}
