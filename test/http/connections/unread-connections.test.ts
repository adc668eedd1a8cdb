import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { UnreadConnections } from '../../../src/http/connections/unread-connections.ts'
import { until } from '../../helpers/wait.ts'

const FEW = { perSecond: 10, burstMsMax: 200, unreadMsMax: 1_000 }

test('refusals above the burst leave their connections unread, then resume them in order at the set rate', async (t) => {
  const { unread, sockets, heard, clock } = await listen(t)
  for (const socket of sockets) socket.write(REQUEST)
  await until(async () => heard.length === 5)
  assert.equal(unread.count, 3, 'a burst of two is free')
  const [first, second, ...later] = [...heard]
  for (const name of heard.splice(0)) sockets[name]!.write(REQUEST)
  await until(async () => heard.length === 2)
  await sleep(50)
  assert.deepEqual(heard, [first, second], 'the others wait in the kernel')
  for (const [i, name] of later.entries()) {
    clock.ms += 100
    await until(async () => heard.length === 3 + i)
    assert.equal(heard.at(-1), name)
  }
})

test('connections are read again after the limit, even if the rate allows fewer', async (t) => {
  const { unread, sockets, heard, clock } = await listen(t, { ...FEW, perSecond: 1 })
  for (let round = 1; round <= 5; round++) {
    for (const socket of sockets) socket.write(REQUEST)
    await until(async () => heard.length === 5 * round)
    clock.ms += 1_000
    await until(async () => unread.count === 0)
  }
})

test('does not resume a connection that another part of the server keeps unread', async (t) => {
  const { unread, sockets, heard, clock, held } = await listen(t)
  for (const socket of sockets) socket.write(REQUEST)
  await until(async () => heard.length === 5)
  const last = sockets[heard.splice(0).at(-1)!]!
  held.port = last.localPort!
  last.write(REQUEST)
  clock.ms += 1_000
  await until(async () => unread.count === 0)
  await sleep(20)
  assert.deepEqual(heard, [])
})

test('a connection whose request is still arriving stays readable', async (t) => {
  const { unread, sockets, heard } = await listen(t)
  for (const socket of sockets) socket.write(REQUEST)
  await until(async () => heard.length === 5)
  const { count } = unread
  const late = await open(t, sockets[0]!.remotePort!)
  late.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na')
  await until(async () => heard.length === 6)
  late.write(`bc${REQUEST}`)
  await until(async () => heard.length === 7)
  assert.equal(unread.count, count + 1, 'the second one came whole')
})

const REQUEST = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'

/**
 * Starts a server that refuses every request, and connects five clients. `heard`: numbers of the clients whose requests
 * the server has read.
 */
async function listen(t: TestContext, limits = FEW) {
  const clock = { ms: 1_000_000 }
  const unread = new UnreadConnections(
    () => clock.ms,
    ({ remotePort }) => remotePort === held.port,
    limits,
  )
  const held = { port: 0 }
  const heard: number[] = []
  const ports: number[] = []
  const server = createServer((request, response) => {
    heard.push(ports.indexOf(request.socket.remotePort!))
    response.writeHead(503, ['content-length', '0']).end()
    unread.add(request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open(t, port)))
  ports.push(...sockets.map((socket) => socket.localPort!))
  return { unread, sockets, heard, clock, held }
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}
