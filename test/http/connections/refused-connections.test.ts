import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RefusedConnections } from '../../../src/http/connections/refused-connections.ts'
import { parseWholeRequest } from '../../../src/http/connections/whole-request.ts'
import { until } from '../../helpers/wait.ts'

const request = (name: string, headers = '') =>
  `POST /${name} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: 2\r\n\r\nhi`

test('parseWholeRequest() accepts exactly one plain request, and returns null for others', () => {
  const parse = (text: string) => parseWholeRequest(Buffer.from(text, 'latin1'))
  const plain = request('a', 'Authorization: Bearer x\r\nConnection: keep-alive\r\n')
  assert.deepEqual(parse(plain), {
    method: 'POST',
    url: '/a',
    authorization: 'Bearer x',
    head: plain.slice(0, -2),
  })
  assert.equal(parse('GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n')?.url, '/a?b=c')
  const others = {
    'a part of one': plain.slice(0, -1),
    'more than one': plain + plain.slice(0, 1),
    'two lengths': request('a', 'Content-Length: 2\r\n'),
    'a length in another spelling': request('a').replace(' 2', ' 0x2'),
    'a body in chunks': request('a', 'Transfer-Encoding: chunked\r\n'),
    'an answer on the way': request('a', 'Expect: 100-continue\r\n'),
    'another protocol': request('a', 'Connection: upgrade\r\nUpgrade: h2c\r\n'),
    'the last one': request('a', 'Connection: close\r\n'),
    'a continued line': request('a', 'X: a\r\n b\r\n'),
    'a space before the colon': request('a', 'X : a\r\n'),
    'a line that ends otherwise': request('a', 'X: a\n'),
    'no space after the colon': request('a', 'X:a\r\n'),
    'another character': request('a', 'X: \xe9\r\n'),
    'an old version': request('a').replace('1.1', '1.0'),
    'another method': request('a').replace('POST', 'PUT'),
    'a URL with a host': request('a').replace('/a', 'http://localhost/a'),
    'a head that is too long': request('a', `X: ${'a'.repeat(5_000)}\r\n`),
  }
  for (const [what, text] of Object.entries(others)) assert.equal(parse(text), null, what)
})

test('after a refusal, further requests are refused from their bytes until one is admitted, in order', async (t) => {
  const { socket, answers, seen, state } = await listen(t)
  for (let i = 0; i < 5; i++) await ask(socket, answers, request(`r${i}`))
  assert.deepEqual(seen, ['/r0 refused', '/r1 refused'], 'the second one shows where requests begin')
  state.isFull = false
  await ask(socket, answers, request('taken'))
  assert.deepEqual(seen.splice(0), ['/r0 refused', '/r1 refused', '/taken let in'])
  state.isFull = true
  for (let i = 5; i < 8; i++) await ask(socket, answers, request(`r${i}`))
  assert.deepEqual(seen, [])
  assert.deepEqual(answers(), [
    ...['node 503', 'node 503', 'bytes 503', 'bytes 503', 'bytes 503'],
    ...['node 201', 'bytes 503', 'bytes 503', 'bytes 503'],
  ])
})

test('Node answers a request that arrives in pieces or together with another one', async (t) => {
  const { socket, answers, seen } = await listen(t)
  for (let i = 0; i < 3; i++) await ask(socket, answers, request('r'))
  seen.splice(0)
  const whole = request('pieces')
  socket.write(whole.slice(0, 40))
  await until(async () => socket.writableLength === 0)
  await sleep(20)
  await ask(socket, answers, whole.slice(40))
  assert.deepEqual(seen, ['/pieces refused'])
  await ask(socket, answers, request('one') + request('two'), 2)
  assert.deepEqual(seen.splice(0), ['/pieces refused', '/one refused', '/two refused'])
  await ask(socket, answers, request('again'))
  await ask(socket, answers, request('bytes'))
  assert.deepEqual(seen, ['/again refused'])
})

test('text in another request’s header value is never parsed as a request', async (t) => {
  const { socket, answers, seen } = await listen(t)
  await ask(socket, answers, request('r'))
  // The first write ends in the middle of a request's header `X`. The second write continues the header's value,
  // although it looks like a whole request.
  await ask(socket, answers, `${request('first')}POST /outer HTTP/1.1\r\nHost: localhost\r\nX: `)
  await ask(socket, answers, request('hidden'))
  await ask(socket, answers, request('hidden'))
  await ask(socket, answers, request('hidden'))
  assert.deepEqual(seen, ['/r refused', '/first refused', '/outer refused', '/hidden refused'])
  assert.deepEqual(answers(), ['node 503', 'node 503', 'node 503', 'node 503', 'bytes 503'])
})

test('text in another request’s body is never parsed as a request', async (t) => {
  const { socket, answers, seen } = await listen(t)
  await ask(socket, answers, request('r'))
  // Returns a text that looks like the head of a request. The test sends it twice: first as the body of the request
  // `/outer`, then as a real request.
  const head = (space: string) =>
    `POST /hidden HTTP/1.1\r\nHost:${space}localhost\r\nContent-Length:${space}60\r\n\r\n`
  assert.deepEqual([head('').length, request('bod').length], [60, 60])
  await ask(
    socket,
    answers,
    `POST /outer HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${head(' ').length}\r\n\r\n`,
  )
  await ask(socket, answers, head(' ') + head(''))
  socket.write(request('bod'))
  await sleep(20)
  await ask(socket, answers, request('next'))
  assert.deepEqual(seen, ['/r refused', '/outer refused', '/hidden refused', '/next refused'])
})

test('no request is refused from its bytes while an answer by Node is pending', async (t) => {
  const { socket, answers, state } = await listen(t)
  for (let i = 0; i < 3; i++) await ask(socket, answers, request('r'))
  state.isFull = false
  const held: (() => void)[] = []
  state.answer = (end) => held.push(end)
  for (const name of ['first', 'second']) {
    socket.write(request(name))
    await until(async () => held.length === (name === 'first' ? 1 : 2))
  }
  state.isFull = true
  state.answer = (end) => end()
  held[0]!()
  await until(async () => answers().length === 4)
  socket.write(request('third'))
  await sleep(20)
  held[1]!()
  await until(async () => answers().length === 6)
  assert.deepEqual(answers().slice(3), ['node 201', 'node 201', 'node 503'])
})

/**
 * Starts a server without a free slot, which refuses every request, and connects one client. `seen`: requests that Node
 * has read.
 */
async function listen(t: TestContext) {
  const state = { isFull: true, answer: (end: () => void): unknown => end() }
  const seen: string[] = []
  const refused = new RefusedConnections(() => ({
    refusal: state.isFull
      ? 'HTTP/1.1 503 Service Unavailable\r\nbytes: 503\r\nContent-Length: 0\r\n\r\n'
      : null,
    taken: state.isFull ? null : 'proof',
  }))
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const isTaken = refused.meet(request, response) === 'proof'
    seen.push(`${request.url} ${isTaken ? 'let in' : 'refused'}`)
    if (!isTaken) refused.watch(request.socket)
    const status = state.isFull ? 503 : 201
    state.answer(() => response.writeHead(status, { node: status, 'content-length': 0 }).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece
  })
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  const answers = () =>
    Array.from(text.matchAll(/\r\n(node|bytes): (\d+)\r\n/g), ([, by, status]) => `${by} ${status}`)
  return { socket, answers, seen, state }
}

async function ask(socket: Socket, answers: () => string[], bytes: string, count = 1): Promise<void> {
  const before = answers().length
  socket.write(bytes, 'latin1')
  await until(async () => answers().length === before + count)
}
