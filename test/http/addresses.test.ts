import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { buildTestApp, expectStatus, genericBody, OPERATOR_KEY, type SendOptions } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const SOME_METHODS = ['HEAD', 'PUT', 'DELETE', 'PROPFIND']
/** Routes that stream. They are not tested with HEAD, which would run the whole stream without sending it. */
const STREAMS = ['/v1/entries', '/v1/events', '/v1/export']
const PROBES = ['/livez', '/readyz']

test('an address', async (t) => {
  const app = await sharedApp()
  const record = await app.notarize()
  const before = await app.written()
  const get = (url: string, options?: SendOptions) => app.send('GET', url, options)

  const taken = new Map<string, string[]>()
  for (const { url, method, config } of app.routes) {
    assert.ok(config?.access)
    // Routes for servers of peers refuse an unsigned request before they read its address.
    if (config.access === 'peer' || config.access === 'introduction') continue
    // MCP has its own protocol and tests (docs/integrations/mcp.md).
    if (config.mcp) continue
    if (url.startsWith('/console')) continue
    taken.set(url, [...(taken.get(url) ?? []), method as string])
  }

  await t.test('is listed in docs/reference/access.md, and no other is', () => {
    const page = readFileSync(new URL('../../docs/reference/access.md', import.meta.url), 'utf8')
    const listed = [...page.matchAll(/^\| `([A-Z]+) (\S+)` \|/gm)].map(
      ([, method, url]) => `${method} ${url}`,
    )
    const registered = [...taken].flatMap(([url, methods]) =>
      methods.map((method) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}')}`),
    )
    assert.deepEqual(registered.sort(), listed.sort(), 'npm run docs')
  })

  // One hook answers all methods that a route lacks. So only one address is tested with every method, the others with
  // some.
  const [whole] = taken
  for (const [url, methods] of taken) {
    const takesHead = methods.includes('GET') && !STREAMS.includes(url)
    const allow = [...methods, 'OPTIONS', ...(takesHead ? ['HEAD'] : [])].sort().join(', ')
    const address = url.replace(':id', record.id)

    await t.test(`answers OPTIONS of ${url} with Allow`, async () => {
      const response = await app.send('OPTIONS', address, { key: null })
      assert.equal(response.headers['allow'], allow)
      if (PROBES.includes(url)) assert.equal(response.statusCode, 200)
      else assert.deepEqual([response.statusCode, response.body], [204, ''])
    })

    if (takesHead)
      await t.test(`answers HEAD of ${url} like GET, without content`, async () => {
        const key = url.startsWith('/v1/ledgers') ? OPERATOR_KEY : app.ledger.key.key
        const [whole, head] = [
          await app.send('GET', address, { key }),
          await app.send('HEAD', address, { key }),
        ]
        assert.deepEqual([head.statusCode, head.body], [whole.statusCode, ''])
        for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'location'])
          if (name !== 'content-length' || whole.body !== '')
            assert.equal(head.headers[name], whole.headers[name], name)
      })

    await t.test(`answers 405 with Allow to all methods but ${methods} of ${url}`, async () => {
      for (const method of url === whole![0] ? METHODS : SOME_METHODS) {
        if (allow.split(', ').includes(method) || method === 'CONNECT') continue
        for (const key of [null, app.ledger.key.key]) {
          // SCRAPI routes answer in CBOR unless the request asks for JSON.
          const send = { key, body: genericBody(), headers: { accept: 'application/json' } }
          const response = await app.send(method, address, send)
          assert.equal(response.headers['allow'], allow, `${method} ${response.body}`)
          if (method === 'HEAD') assert.deepEqual([response.statusCode, response.body], [405, ''])
          else assertProblem(response, 405, 'method_not_allowed')
        }
      }
    })
  }

  for (const url of [
    '/v1',
    '/v1/',
    '/v2/records',
    '/v1/record',
    '/V1/records',
    '/v1/Records',
    '/v1/records/',
    '/v1/records/batch/',
    '/v1/entries/',
    '/v1/ledger/',
    '//v1/entries',
    '/v1//entries',
    '/livez/',
    '/v1/records/:id',
    '/v1/records/%3Aid',
    `/v1/records/${'x'.repeat(101)}`,
    `/v1/records/${'%41'.repeat(5_000)}`,
    '/v1/records/a/b',
    '/v1/%65ntries/x',
    '/v1/..%2fentries',
    '/constructor',
    '/__proto__',
    '/v1/records/__proto__',
    '/*',
  ]) {
    await t.test(`answers 404 not_found at ${url.slice(0, 60)}`, async () => {
      for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND']) {
        const response = await app.send(method, url)
        // An unknown address below `/v1/records/` may match the route of a record. That route has only one method, so
        // other methods are answered 405.
        if (method !== 'GET' && response.statusCode === 405) assert.match(url, /^\/v1\/records\/[^/]/)
        else assertProblem(response, 404, 'not_found')
      }
    })
  }

  await t.test('with invalid percent-encoding or UTF-8 is refused with 400 bad_request', async () => {
    for (const url of ['/v1/records/%', '/v1/records/%zz', '/v1/records/%c0%af', '/%ff']) {
      assertProblem(await get(url), 400, 'bad_request')
    }
  })

  await t.test('appears in refusals without its query, which may contain a key', async () => {
    const response = await get('/v1/nowhere?key=tly_secret')
    assertProblem(response, 404, 'not_found')
    assert.doesNotMatch(response.body, /tly_secret/)
  })

  for (const [url, methods] of taken) {
    if (PROBES.includes(url)) {
      await t.test(`accepts any parameter, because probes add their own: ${url}`, async () => {
        for (const method of ['GET', 'HEAD', 'OPTIONS'])
          expectStatus(200, await app.send(method, `${url}?verbose&x=1`, { key: null }))
      })
      continue
    }
    await t.test(`refuses unknown parameters with invalid_request: ${url}`, async () => {
      const key = url.startsWith('/v1/ledgers') ? OPERATOR_KEY : app.ledger.key.key
      const body = { '/v1/ledgers': { name: 'x' }, '/v1/records/batch': { records: [genericBody()] } }[url]
      // SCRAPI routes answer problems in CBOR unless the request asks for JSON.
      const headers = { accept: 'application/json', 'content-type': 'application/cose' }
      const sent =
        url === '/entries'
          ? { text: Buffer.from('d284'), headers }
          : {
              ...(methods[0] !== 'GET' && { body: body ?? genericBody() }),
              headers: { accept: headers.accept },
            }
      for (const query of ['x=1', 'limits=1', '__proto__=1', 'After=1', 'x', '%00=1']) {
        const response = await app.send(methods[0]!, `${url.replace(':id', record.id)}?${query}`, {
          key,
          ...sent,
        })
        // OpenTelemetry exporters understand only a gRPC status (docs/integrations/otlp.md).
        if (url === '/v1/traces' || url === '/v1/logs') {
          assert.equal(response.statusCode, 400)
          assert.match(response.json<{ message: string }>().message, /^invalid_request: /)
        } else assertProblem(response, 422, 'invalid_request')
      }
    })
  }

  await t.test('of the list of entries accepts only seqs in after and limit', async () => {
    for (const query of [
      'after=-1',
      'after=',
      'after=1.5',
      'after=01',
      'after=x',
      'after=1e3',
      'after=+1',
      'limit=-1',
    ]) {
      assertProblem(await get(`/v1/entries?${query}`), 422, 'invalid_request')
    }
    assertProblem(await get('/v1/entries?after=1&after=2'), 422, 'invalid_request')
    assertProblem(await get(`/v1/entries?after=${'9'.repeat(400)}`), 422, 'invalid_request')
    for (const query of [
      'after=0&limit=0',
      'after=999999999999999',
      'after=999999999999999&limit=999999999999999',
    ]) {
      assert.equal(expectStatus(200, await get(`/v1/entries?${query}`)).body, '')
    }
  })

  await t.test('of a record accepts only the canonical form of its id', async () => {
    expectStatus(200, await get(`/v1/records/${record.id}`))
    const uuid = '01942f3f-6a28-7000-8000-000000000000'
    for (const id of [
      record.id.toUpperCase(),
      record.id.replace('rec_', 'bat_'),
      record.id.replace('rec_', ''),
      `${record.id}0`,
      record.id.slice(0, -1),
      `${record.id}%20`,
      `${record.id}%00`,
      record.id.replace('rec_0', 'rec_8'),
      uuid,
      'rec_',
    ]) {
      assertProblem(await get(`/v1/records/${id}`), 404, 'not_found')
    }
  })

  await t.test('writes nothing when refused', async () => {
    assert.deepEqual(await app.written(), before)
  })
})

test('a request on the wire', async (t) => {
  const app = await buildTestApp(t)
  const origin = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const before = await app.written()
  const authorization = `Authorization: Bearer ${app.ledger.key.key}`
  const json = 'Content-Type: application/json'
  const body = JSON.stringify(genericBody())
  const post = (headers: string[], text = body) =>
    raw(
      origin,
      [`POST /v1/records HTTP/1.1`, 'Host: x', ...headers, `Content-Length: ${text.length}`, '', text].join(
        '\r\n',
      ),
    )

  await t.test('is refused with a problem document if it is not HTTP', async () => {
    for (const [text, status, code] of [
      ['nonsense\r\n\r\n', 400, 'bad_request'],
      ['FETCH /v1/records HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
      ['GET /livez HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n', 400, 'bad_request'],
      ['POST /v1/records HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n', 400, 'bad_request'],
      [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
      [`GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
      [
        `POST /v1/records HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
        'bad_request',
      ],
    ] as const) {
      assertProblem(await raw(origin, text), status, code)
    }
  })

  await t.test('is refused if an important header occurs twice', async () => {
    assertProblem(await post([authorization, authorization, json]), 401, 'unauthenticated')
    assertProblem(await post([authorization, 'Authorization: Bearer tly_x', json]), 401, 'unauthenticated')
    assertProblem(
      await post([authorization, json, 'Content-Type: text/plain']),
      415,
      'unsupported_media_type',
    )
    assertProblem(
      await post([authorization, json, 'Idempotency-Key: a', 'Idempotency-Key: b']),
      400,
      'invalid_idempotency_key',
    )
    assertProblem(await post([authorization, json, 'Content-Length: 1']), 400, 'bad_request')
  })

  await t.test(
    'is refused with 413 body_too_large if its body is too large, declared or chunked',
    async () => {
      const declared = `POST /v1/records HTTP/1.1\r\nHost: x\r\n${authorization}\r\n${json}\r\nContent-Length: 524289\r\n\r\n`
      assertProblem(await raw(origin, declared), 413, 'body_too_large')
      const chunk = ' '.repeat(65_536)
      const chunked =
        `POST /v1/records HTTP/1.1\r\nHost: x\r\n${authorization}\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `10000\r\n${chunk}\r\n`.repeat(9)
      assertProblem(await raw(origin, chunked), 413, 'body_too_large')
    },
  )

  await t.test('is refused with 401 before its body is read if it has no valid key', async () => {
    const head = `POST /v1/records HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: 1000000\r\n\r\n{`
    assertProblem(await raw(origin, head), 401, 'unauthenticated')
  })

  await t.test('writes nothing when refused; a valid request is answered 201', async () => {
    assert.deepEqual(await app.written(), before)
    assert.equal((await post([authorization, json])).statusCode, 201)
  })
})

/** Sends `text` unchanged. Returns the first answer on the connection. */
async function raw(origin: string, text: string) {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {}) // The server may close the connection before the refused body arrives.
  socket.write(text)
  let received = ''
  for (;;) {
    const { done, chunk } = await new Promise<{ done: boolean; chunk: string }>((resolve) => {
      socket.once('data', (data: Buffer) => resolve({ done: false, chunk: data.toString() }))
      socket.once('close', () => resolve({ done: true, chunk: '' }))
    })
    received += chunk
    const match = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(received)
    const headers = Object.fromEntries(
      (match?.[2] ?? '').split('\r\n').map((l) => l.toLowerCase().split(': ')),
    ) as Record<string, string>
    const length = Number(headers['content-length'] ?? Number.NaN)
    if (done || (match && Buffer.byteLength(match[3]!) >= length)) {
      socket.destroy()
      if (!match) throw new Error(`no answer but ${JSON.stringify(received)}`)
      return { statusCode: Number(match[1]), headers, body: match[3]! }
    }
  }
}
