import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { TestApp } from '../helpers/app.ts'
import { openSocket, type RawAnswer, readAnswers, requestText } from '../helpers/raw-http.ts'
import { runs } from '../helpers/runs.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'
import { lockHeads, until } from '../helpers/wait.ts'

/**
 * One message on a connection, and what it must cause:
 *
 * - `record`: the answer is 201, and a record exists.
 * - `read`: the answer is 200.
 * - `answered`: the message is refused, and the connection stays open.
 * - `refused`: the message is refused with `Connection: close`, and the connection ends.
 * - `ended`: the message is answered, and the connection ends.
 */
type Message = {
  readonly kind: 'record' | 'read' | 'answered' | 'refused' | 'ended'
  readonly status: number
  readonly bytes: (mark: string) => string
  /** Another status that is allowed, because the status depends on timing. */
  readonly or?: number
}

type Way = {
  /** True if each message waits for the answer to the previous message. */
  readonly isKept: boolean
  /** Positions at which the bytes are cut, as fractions of the length; null if every byte is sent separately. */
  readonly cuts: readonly number[] | null
  /** True if the client closes its sending side after the last byte. */
  readonly isHalfClosed: boolean
}

const AT_ONCE: Way = { isKept: false, cuts: [], isHalfClosed: false }

test('malformed requests before, after and between valid ones', async (t) => {
  const app = await sharedApp()
  const { port } = new URL(await addressOf(app))
  const key = app.ledger.key.key
  const head = (method: string, path: string, lines: readonly string[] = []) =>
    requestText(method, path, key, lines)
  const json = 'Content-Type: application/json'
  const record = (mark: string) => JSON.stringify({ type: 'generic/1', payload: { mark } })
  const post = (mark: string, lines: readonly string[] = [], body = record(mark)) =>
    head('POST', '/v1/records', [json, `Content-Length: ${body.length}`, ...lines]) + body
  const chunked = (mark: string) =>
    `${head('POST', '/v1/records', [json, 'Transfer-Encoding: chunked'])}5\r\n${record(mark).slice(0, 5)}\r\n`

  const good: Record<string, Message> = {
    post: { kind: 'record', status: 201, bytes: post },
    'post in chunks': {
      kind: 'record',
      status: 201,
      bytes: (mark) => {
        const rest = record(mark).slice(5)
        return `${chunked(mark)}${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`
      },
    },
    'post that asks first': {
      kind: 'record',
      status: 201,
      bytes: (mark) => post(mark, ['Expect: 100-continue']),
    },
    get: { kind: 'read', status: 200, bytes: () => head('GET', '/v1/ledger') },
    probe: { kind: 'read', status: 200, bytes: () => head('GET', '/livez') },
    export: { kind: 'read', status: 200, bytes: () => head('GET', '/v1/export') },
  }
  const answered = (status: number, bytes: (mark: string) => string): Message => ({
    kind: 'answered',
    status,
    bytes,
  })
  const refused = (status: number, bytes: string | ((mark: string) => string)): Message => ({
    kind: 'refused',
    status,
    bytes: typeof bytes === 'string' ? () => bytes : bytes,
  })
  const rubbish: Record<string, Message> = {
    'no Host': answered(400, (mark) => post(mark).replace('Host: localhost\r\n', '')),
    'two Host lines': answered(400, (mark) => post(mark, ['Host: other'])),
    'two Host lines that are alike': answered(400, (mark) => post(mark, ['Host: localhost'])),
    'no host in Host': answered(400, (mark) => post(mark).replace('Host: localhost', 'Host: a/b')),
    'another expectation': answered(417, (mark) => post(mark, ['Expect: x'])),
    'two expectations': answered(417, (mark) => post(mark, ['Expect: 100-continue, x'])),
    'another transfer coding': answered(501, (mark) => {
      const [line] = ['Transfer-Encoding: gzip, chunked']
      const body = record(mark)
      return `${head('POST', '/v1/records', [json, line])}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    }),
    'an address that cannot be decoded': answered(400, () => head('GET', '/v1/%zz')),
    'another method': answered(405, (mark) => post(mark).replace('POST', 'PUT')),
    'one brace': refused(400, '}'),
    NULs: refused(400, '\0\0\0\0'),
    'a word': refused(400, 'hello\r\n\r\n'),
    'bytes of TLS': refused(400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
    'the preface of HTTP/2': refused(400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
    'a space before the colon': refused(400, (mark) => post(mark, ['X : a'])),
    'a line that ends otherwise': refused(400, (mark) => post(mark, ['X: a\nY: b'])),
    'NUL in a header': refused(400, (mark) => post(mark, ['X: \0'])),
    'two lengths': refused(400, (mark) => post(mark, ['Content-Length: 1'])),
    'a length and chunks': refused(400, (mark) => post(mark, ['Transfer-Encoding: chunked'])),
    'headers that are too large': refused(431, (mark) => post(mark, [`X: ${'a'.repeat(20_000)}`])),
    'an address that is too long': refused(431, head('GET', `/v1/records?reference=${'a'.repeat(20_000)}`)),
    'a chunk of no length': refused(400, (mark) => `${chunked(mark)}zz\r\n`),
    'a chunk that is longer than it says': refused(400, (mark) => `${chunked(mark)}2\r\nabc\r\n`),
    'extensions of chunks': refused(413, (mark) => `${chunked(mark)}1;${'a'.repeat(20_000)}\r\n`),
    'no JSON': answered(400, (mark) => post(mark, [], `${record(mark)}}`)),
    'an old protocol': { kind: 'ended', status: 200, bytes: () => 'GET /livez\r\n\r\n' },
    'a read with half a body': {
      kind: 'ended',
      status: 200,
      bytes: () => `${head('GET', '/v1/ledger', ['Transfer-Encoding: chunked'])}zz\r\n`,
    },
    'half a body of one that nobody lets in': {
      kind: 'ended',
      status: 401,
      // The status is 400 if the rest of the body arrives before the server has looked up the API key.
      or: 400,
      bytes: (mark) => `${chunked(mark).replace(key, 'tly_nobody')}zz\r\n`,
    },
  }
  /** Messages that are still incomplete at the end of the connection or at the timeout. */
  const halves: Record<string, Message> = {
    'half a method': refused(400, 'PO'),
    'half a head': refused(400, (mark) => post(mark).slice(0, 90)),
    'half a body': refused(400, (mark) => post(mark).slice(0, -1)),
    'half a body in chunks': refused(400, chunked),
  }

  const connection = new Connection(t, app, Number(port))

  for (const [name, message] of Object.entries({ ...rubbish })) {
    await t.test(name, async () => {
      for (const way of [AT_ONCE, { ...AT_ONCE, isKept: true }]) {
        for (const messages of [
          [message, good['post']!],
          [good['post']!, message, good['post']!],
          [good['export']!, good['post in chunks']!, message],
        ])
          await connection.hold(messages, way)
      }
      await connection.hold([good['post']!, message], { isKept: false, cuts: null, isHalfClosed: true })
    })
  }

  await t.test(
    'OPTIONS in HTTP/1.0 without a host, as load balancers send, is answered; with a body 400',
    async () => {
      for (const [line, statusOf] of [
        ['OPTIONS / HTTP/1.0', 204],
        ['OPTIONS * HTTP/1.0', 204],
        ['OPTIONS /readyz HTTP/1.0', 200],
        // The server refuses OPTIONS with a body. It answers OPTIONS to any client and under any load, and therefore
        // reads no body.
        ['OPTIONS /readyz HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}', 400],
        [
          'OPTIONS /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0',
          400,
        ],
      ] as const) {
        const socket = openSocket(t, Number(port))
        const received = receive(socket)
        socket.write(`${line}\r\n\r\n`)
        await until(() => socket.closed)
        assert.deepEqual(statuses(readAnswers(received()).answers), [statusOf])
      }
    },
  )

  await t.test('half a request, then the connection ends', async () => {
    for (const message of Object.values(halves))
      for (const messages of [[message], [good['post']!, message], [good['export']!, good['get']!, message]])
        for (const isKept of [false, true])
          await connection.hold(messages, { isKept, cuts: [], isHalfClosed: true })
  })

  await t.test('half a request, then silence: 408, and the rest of the request has no effect', async () => {
    const { server } = app.app
    const { headersTimeout, requestTimeout } = server
    Object.assign(server, { headersTimeout: 1_000, requestTimeout: 1_000 })
    try {
      for (const message of Object.values(halves)) {
        const late = { ...message, status: 408 }
        await connection.hold([good['post']!, late], { ...AT_ONCE, isKept: true })
      }
      const mark = connection.newMark()
      const socket = openSocket(t, Number(port))
      const received = receive(socket)
      socket.write(post(mark).slice(0, -1))
      await until(() => readAnswers(received()).answers.length > 0)
      socket.write('}')
      await until(() => socket.closed)
      assert.deepEqual(statuses(readAnswers(received()).answers), [408])
    } finally {
      Object.assign(server, { headersTimeout, requestTimeout })
    }
  })

  await t.test('CONNECT is refused with 405, or closes the connection during an earlier answer', async () => {
    const tunnel = refused(405, head('CONNECT', 'localhost:1'))
    await connection.hold([tunnel, good['get']!], AT_ONCE)
    await connection.hold([good['export']!, tunnel, good['get']!], { ...AT_ONCE, isKept: true })
    const socket = openSocket(t, Number(port))
    const received = receive(socket)
    socket.write(head('GET', '/v1/export') + tunnel.bytes(''))
    await until(() => socket.closed)
    assert.deepEqual(readAnswers(received()).answers, [])
  })

  await t.test('a refusal waits until the earlier record is committed', async (t) => {
    const release = await lockHeads(t, app.database.superuserUrl)
    const mark = connection.newMark()
    const socket = openSocket(t, Number(port))
    const received = receive(socket)
    socket.write(`${post(mark)}}`)
    await until(() => app.deps.appender.underWay.batches === 1)
    assert.equal(received(), '')
    await release()
    await until(() => socket.closed)
    assert.deepEqual(statuses(readAnswers(received()).answers), [201, 400])
    connection.expect(mark)
  })

  await t.test('a refusal writes nothing into an event stream', async () => {
    const socket = openSocket(t, Number(port))
    const received = receive(socket)
    socket.write(`${head('GET', '/v1/events', ['Accept: text/event-stream'])}}`)
    await until(() => received().includes('retry: '))
    assert.deepEqual(readAnswers(received()).answers, [], 'it goes on')
    socket.end()
    await until(() => socket.closed)
    assert.deepEqual(statuses(readAnswers(received()).answers), [200])
  })

  await t.test('random sequences of valid and malformed requests, in pieces', async () => {
    const any = fc.constantFrom(...Object.values({ ...good, ...rubbish }))
    const way = fc.record({
      isKept: fc.boolean(),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
      isHalfClosed: fc.boolean(),
    })
    const property = fc.asyncProperty(
      fc.array(any, { minLength: 1, maxLength: 6 }),
      fc.option(fc.constantFrom(...Object.values(halves)), { nil: null, freq: 3 }),
      way,
      async (messages, half, way) => {
        if (half) await connection.hold([...messages, half], { ...way, isHalfClosed: true })
        else await connection.hold(messages, way)
      },
    )
    await fc.assert(property, { numRuns: runs(60), endOnFailure: true })
  })

  await t.test('the ledger has exactly the records answered with 201', async () => {
    assert.deepEqual(await connection.committed(), connection.expected())
  })

  await t.test('no connection, slot or reserved byte is left', async () => {
    const { bodies, reads, writes } = app.deps.budgets
    await until(async () => (await connectionsOf(app.app.server)) === 0)
    await until(() => [bodies, reads, writes].every(({ taken }) => taken === 0))
  })
})

class Connection {
  readonly #t: TestContext
  readonly #app: TestApp
  readonly #port: number
  readonly #done = new Set<string>()
  #marks = 0

  constructor(t: TestContext, app: TestApp, port: number) {
    this.#t = t
    this.#app = app
    this.#port = port
  }

  newMark(): string {
    return `mark-${this.#marks++}`
  }

  /** The record with this mark must exist at the end, because the request was answered 201. */
  expect(mark: string): void {
    this.#done.add(mark)
  }

  expected(): string[] {
    return [...this.#done].sort()
  }

  async committed(): Promise<string[]> {
    const lines = (await this.#app.send('GET', '/v1/export')).body
    return [...lines.matchAll(/"mark":"([^"]+)"/g)].map((match) => match[1]!).sort()
  }

  async hold(messages: readonly Message[], way: Way): Promise<void> {
    const marks = messages.map(() => this.newMark())
    const socket = openSocket(this.#t, this.#port)
    socket.setNoDelay(true)
    const received = receive(socket)
    const answersNow = () => readAnswers(received()).answers
    const isOver = () => socket.closed || socket.readableEnded
    const last = messages.findIndex(({ kind }) => kind === 'refused' || kind === 'ended')
    const begun = last < 0 ? messages : messages.slice(0, last + 1)

    const texts = messages.map((message, i) => message.bytes(marks[i]!))
    if (way.isKept)
      for (const [i, text] of texts.entries()) {
        await send(socket, text, way.cuts, isOver)
        if (i < texts.length - 1) await until(() => isOver() || answersNow().length > i)
      }
    else await send(socket, texts.join(''), way.cuts, isOver)
    if (way.isHalfClosed) socket.end()
    else if (last < 0) {
      await until(() => isOver() || answersNow().length === begun.length)
      socket.end()
    }
    await until(() => socket.closed)

    const { answers, rest } = readAnswers(received())
    const what = JSON.stringify({ texts: texts.map((text) => text.slice(0, 300)), way })
    assert.equal(rest, '', what)
    // True if the last message was refused without an answer. If the client half-closes, Node may close the connection
    // before the answer is written.
    const isClosedOnly =
      way.isHalfClosed && begun.at(-1)!.kind === 'refused' && answers.length === begun.length - 1
    if (!isClosedOnly) assert.equal(answers.length, begun.length, `${what}: ${statuses(answers)}`)
    for (const [i, answer] of answers.entries()) {
      const message = begun[i]!
      if (answer.status !== message.or)
        assert.equal(answer.status, message.status, `${i} of ${what}: ${statuses(answers)}`)
      if (message.kind === 'record') {
        assert.equal(JSON.parse(answer.body).payload.mark, marks[i], what)
        this.expect(marks[i]!)
      }
      if (answer.status < 400) continue
      assert.equal(answer.headers.get('content-type'), 'application/problem+json', what)
      const problem = JSON.parse(answer.body)
      assert.equal(problem.status, answer.status)
      assert.match(problem.requestId, /^req_[0-9a-f]{32}$/)
      assert.equal(problem.retryable, false)
      if (message.kind === 'refused') assert.equal(answer.headers.get('connection'), 'close', what)
    }
  }
}

function receive(socket: Socket): () => string {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  socket.resume()
  return () => text
}

async function send(socket: Socket, text: string, cuts: Way['cuts'], isOver: () => boolean): Promise<void> {
  const bytes = Buffer.from(text, 'latin1')
  // A message of 20 kB is not sent byte by byte, because that would test nothing more.
  const each = cuts === null && bytes.length < 2_000
  const places = each
    ? Array.from(bytes.keys()).slice(1)
    : (cuts ?? [0.1, 0.5]).map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b)
  let from = 0
  for (const place of [...places, bytes.length]) {
    if (isOver() || socket.destroyed) return
    socket.write(bytes.subarray(from, place))
    from = place
    await (each ? new Promise(setImmediate) : sleep(1))
  }
}

function statuses(answers: readonly RawAnswer[]): number[] {
  return answers.map(({ status }) => status)
}

function connectionsOf(server: TestApp['app']['server']): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}
