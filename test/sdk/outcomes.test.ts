import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Tallystick } from '../../sdk/client.ts'
import { ApiError, TallystickError, UnexpectedAnswerError, UnknownOutcomeError } from '../../sdk/errors.ts'
import { sampled } from '../helpers/runs.ts'
import { type AnswerFault, type AnsweringProxy, startAnsweringProxy } from './answering-proxy.ts'
import { startHostile } from './hostile-server.ts'
import { QUICK_RETRIES } from './quick-retries.ts'
import { sharedSdk } from './set-up.ts'

const PAGE = new URL('../../docs/reference/client-outcomes.md', import.meta.url)
const RETRIES = { ...QUICK_RETRIES, retriesMax: 1 }
const TRIES = 2
/** Statuses whose answers have no body. */
const BODILESS = [204, 205, 304]

type Row = { readonly status: number; readonly again: boolean; readonly nothingDone: boolean }

const ROWS: readonly Row[] = [
  ...readFileSync(PAGE, 'utf8').matchAll(/^\| (\d{3}) \|[^|]*\| (yes)? ?\| (unknown|nothing done) \|$/gm),
].map(([, status, again, outcome]) => ({
  status: Number(status),
  again: again === 'yes',
  nothingDone: outcome === 'nothing done',
}))

test('docs/reference/outcomes.md lists every status registered by IANA or used by a known proxy', () => {
  assert.ok(ROWS.length >= 80, `${ROWS.length} rows`)
  // Statuses from 200 on that IANA has registered.
  const registered = [
    ...[200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 307, 308],
    ...[400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422],
    ...[423, 424, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
  ]
  const known = new Set(ROWS.map(({ status }) => status))
  assert.deepEqual(
    registered.filter((status) => !known.has(status)),
    [],
  )
})

function outcomeOf(status: number, error: TallystickError, tries: number) {
  assert.ok(error instanceof UnexpectedAnswerError, `${status}: ${error}`)
  return { status: error.status, again: error.retryable, nothingDone: error.nothingDone, tries }
}

test('for each status of a proxy, error and retries are as the page documents', async (t) => {
  const server = await startHostile(t, () => {})
  for (const { status, again, nothingDone } of ROWS) {
    let tries = 0
    const answer = async () => {
      tries++
      const body = BODILESS.includes(status) ? null : '<html>'
      return new Response(body, { status, headers: { 'content-type': 'text/html', location: '/elsewhere' } })
    }
    const { records } = server.client({ fetch: answer, retries: RETRIES })
    const error = await records.notarize({ payload: {} }).catch((thrown: unknown) => thrown)
    const expected = { status, again, nothingDone, tries: again ? TRIES : 1 }
    assert.deepEqual(outcomeOf(status, error as TallystickError, tries), expected)
  }
})

/** Statuses that fetch itself treats in a way of its own, or whose answer has no body. They are tried everywhere. */
const OF_FETCH = [204, 205, 303, 304, 307, 407, 421]

test('for each status of a proxy after a commit, the record exists once', async (t) => {
  const world = await startWorld(t)
  const own = ROWS.filter(({ status }) => OF_FETCH.includes(status))
  const others = ROWS.filter(({ status }) => !OF_FETCH.includes(status))
  for (const { status, again, nothingDone } of [...own, ...sampled(others, 7)]) {
    const fault = pageOf(status, !nothingDone)
    const { error, tries } = await world.write(`lasting ${status}`, fault, TRIES)
    // fetch fails for a 407 without giving the reason.
    if (status === 407) {
      assert.match(error.message, /requires authentication/)
      continue
    }
    // fetch itself sends a request again after a 421, on another connection (RFC 9110 §15.5.20).
    const expected = again ? TRIES : status === 421 ? 2 : 1
    assert.deepEqual(outcomeOf(status, error, tries), { status, again, nothingDone, tries: expected })
    // The client retries a temporary status, and the caller gets no error.
    if (again) assert.equal((await world.write(`passing ${status}`, fault, 1)).error, null)
  }
  await world.verify()
})

const CREATED = 'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n'
const BODY = '{"id":"rec_x","payload":{}}'

const BROKEN: Readonly<Record<string, string>> = {
  'nothing at all': '',
  'half a status line': 'HTTP/1.1 20',
  'half a head': `${CREATED}content-le`,
  'a head only': `${CREATED}content-length: ${BODY.length}\r\n\r\n`,
  'a body that is cut': `${CREATED}content-length: ${BODY.length + 50}\r\n\r\n${BODY}`,
  'a chunk that is cut': `${CREATED}transfer-encoding: chunked\r\n\r\n1b\r\n${BODY.slice(0, 9)}`,
  'chunks without an end': `${CREATED}transfer-encoding: chunked\r\n\r\n1b\r\n${BODY}\r\n`,
  'a chunk of no length': `${CREATED}transfer-encoding: chunked\r\n\r\nxyz\r\n${BODY}`,
  'half of it until the end': `${CREATED}connection: close\r\n\r\n${BODY.slice(0, 9)}`,
  'a length that is too small': `${CREATED}content-length: 9\r\n\r\n${BODY}`,
  'two lengths': `${CREATED}content-length: 9\r\ncontent-length: 27\r\n\r\n${BODY}`,
  'gzip that is none': `${CREATED}content-encoding: gzip\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  'gzip that is cut': `${CREATED}content-encoding: gzip\r\ncontent-length: 10\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03`,
  'no HTTP': 'SSH-2.0-OpenSSH_9.2\r\n',
  '100, then nothing': 'HTTP/1.1 100 Continue\r\n\r\n',
  '103, then nothing': 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n',
  '101': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
  'a status of no class': 'HTTP/1.1 99 X\r\ncontent-length: 0\r\n\r\n',
  'a status beyond 599': 'HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n',
}

/** Complete answers that the server never gives. They come from other software, so a retry is useless. */
const FOREIGN: Readonly<Record<string, string>> = {
  'no content type': `HTTP/1.1 201 Created\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  'a type that begins alike': `HTTP/1.1 201 Created\r\ncontent-type: application/jsonp\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  'a list': `${CREATED}content-length: 2\r\n\r\n[]`,
  'a problem of another status': problem(409, { status: 503, code: 'unavailable', retryable: true }),
  'a problem without a code': problem(403, { status: 403 }),
}

test('for each way in which an answer breaks, the record exists once', async (t) => {
  const world = await startWorld(t)
  const both = Object.entries(BROKEN).flatMap(([name, answer], i) =>
    // The order changes, so that outside of CI half of the answers end with a reset.
    (i % 2 === 0 ? (['close', 'reset'] as const) : (['reset', 'close'] as const)).map((end) => ({
      name,
      answer,
      end,
    })),
  )
  for (const { name, answer, end } of sampled(both, 2)) {
    const fault: AnswerFault = { forwards: true, answer, end }
    const { error, tries } = await world.write(`${end} after ${name}`, fault, TRIES)
    assert.deepEqual([error?.retryable, tries], [true, TRIES], `${end} after ${name}: ${error}`)
    assert.equal((await world.write(`once ${end} after ${name}`, fault, 1)).error, null, name)
  }
  for (const [name, answer] of Object.entries(FOREIGN)) {
    const { error, tries } = await world.write(name, { forwards: true, answer, end: 'close' }, TRIES)
    assert.deepEqual([error?.retryable, tries], [false, 1], `${name}: ${error}`)
  }
  await world.verify()
})

test('an outcome that was once unknown stays unknown, whatever later attempts answer', async (t) => {
  const world = await startWorld(t)
  for (const [status, code] of [
    [503, 'unavailable'],
    [429, 'rate_limited'],
    [401, 'key_expired'],
    [403, 'ledger_frozen'],
    [500, 'internal_error'],
  ] as const) {
    const refusal: AnswerFault = {
      forwards: false,
      answer: problem(status, { status, code, retryable: status === 503 }),
      end: 'close',
    }
    const lost: AnswerFault = { forwards: true, answer: '', end: 'reset' }
    const { error } = await world.write(`lost, then ${code}`, [lost, refusal], TRIES)
    assert.ok(error instanceof UnknownOutcomeError && error.cause instanceof ApiError, `${code}: ${error}`)
    assert.match(
      error.message,
      new RegExp(`${code}.*an earlier attempt had no answer; it is unknown whether it was written`),
    )
    // No attempt was lost before this refusal, so the refusal is certain.
    const { error: alone } = await world.write(`only ${code}`, refusal, TRIES)
    assert.ok(alone instanceof ApiError)
  }
  const limited = pageOf(429, false)
  const { error } = await world.write('lost, then 429', [pageOf(502, true), limited], TRIES)
  assert.ok(error instanceof UnknownOutcomeError && error.idempotencyKey !== null && !error.nothingDone)
  await world.verify()
})

test('if the server is gone after a commit, the error has the idempotency key', async (t) => {
  const world = await startWorld(t)
  let attempts = 0
  const refused = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })
  const client = world.client({
    fetch: async (url, init) => {
      if (++attempts > 1) throw refused
      await (await fetch(url, init)).text()
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
      })
    },
  })
  const payload = { mark: 'committed, then gone' }
  const error = await client.records.notarize({ payload }).then(
    () => assert.fail('nobody answered'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof UnknownOutcomeError && error.idempotencyKey !== null, `${error}`)
  assert.deepEqual([error.retryable, error.nothingDone, attempts], [true, false, TRIES])
  await world.client({}).records.notarize({ payload }, { idempotencyKey: error.idempotencyKey })
  world.meant.push(payload.mark)
  await world.verify()
})

test('a call without an idempotency key is repeated only if nothing was done', async (t) => {
  const world = await startWorld(t)
  const { proxy } = world
  const rotate = async (fault: AnswerFault) => {
    proxy.fail(fault, TRIES)
    const error = await world
      .client({})
      .keys.rotate('key_1')
      .then(
        () => null,
        (thrown: unknown) => thrown as UnexpectedAnswerError,
      )
    return { error, tries: proxy.keys.length }
  }
  const limited = await rotate(pageOf(429, false))
  assert.deepEqual([limited.error?.retryable, limited.tries], [true, TRIES])
  const lost = await rotate(pageOf(524, true))
  assert.deepEqual([lost.error?.retryable, lost.tries], [false, 1])
  assert.match(lost.error!.message, /check before you repeat it/)
})

/** Starts a ledger behind a proxy. The proxy can answer instead of the server. */
async function startWorld(t: Parameters<typeof startAnsweringProxy>[0]) {
  const sdk = await sharedSdk()
  const proxy = await startAnsweringProxy(t, sdk.baseUrl)
  const client = (options: Parameters<typeof sdk.client>[0]): Tallystick =>
    sdk.client({ baseUrl: proxy.url, retries: RETRIES, ...options })
  const through = client({})
  const meant: string[] = []
  return { client, proxy, meant, write: write(proxy, through, meant), verify }

  async function verify() {
    const found: string[] = []
    for await (const { payload } of sdk.client().records.list({ limit: 200 }))
      found.push(`${payload?.['mark']}`)
    assert.deepEqual(found.sort(), meant.toSorted())
  }
}

/**
 * Returns a function that writes a record as an application does: the function repeats the call while the error is
 * retryable, until the record is written. The function returns the error of the first call.
 */
function write(proxy: AnsweringProxy, { records }: Tallystick, meant: string[]) {
  return async (mark: string, fault: AnswerFault | readonly AnswerFault[], times: number) => {
    meant.push(mark)
    const payload = { mark }
    proxy.fail(fault, times)
    const error = await records.notarize({ payload }).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    const { length: tries } = proxy.keys
    assert.equal(new Set(proxy.keys).size, 1, `${mark}: each attempt has the same key`)
    if (error === null) return { error: null as never as TallystickError, tries }
    assert.ok(error instanceof TallystickError, `${mark}: ${error}`)
    const key = error instanceof UnknownOutcomeError ? error.idempotencyKey : null
    if (!(error instanceof ApiError)) assert.equal(key, proxy.keys[0], `${mark}: ${error}`)
    proxy.fail([], 0)
    await records.notarize({ payload }, { idempotencyKey: key ?? undefined })
    return { error, tries }
  }
}

/** Returns a fault that answers with a page, as proxies do. */
function pageOf(status: number, forwards: boolean): AnswerFault {
  const hasBody = !BODILESS.includes(status)
  const location = status >= 300 && status < 400 && status !== 304 ? 'location: /elsewhere\r\n' : ''
  const body = hasBody ? 'content-type: text/html\r\ncontent-length: 6\r\n\r\n<html>' : '\r\n'
  return { forwards, answer: `HTTP/1.1 ${status} X\r\nconnection: close\r\n${location}${body}`, end: 'close' }
}

function problem(status: number, members: object): string {
  const text = JSON.stringify({ title: 'T', detail: 'd', requestId: 'req_1', retryable: false, ...members })
  const head = `HTTP/1.1 ${status} X\r\ncontent-type: Application/Problem+JSON; charset=utf-8\r\nconnection: close`
  return `${head}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}
