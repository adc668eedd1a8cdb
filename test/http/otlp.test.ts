import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { chunkKey } from '../../src/db/chunks/chunk-keys.ts'
import { LOOKUP_CHUNK_BYTES_MAX } from '../../src/db/limits.ts'
import { BUILT_IN_TYPES } from '../../src/ledgers/types/built-in.ts'
import { parseId } from '../../src/proof/ids.ts'
import { CanonicalDocument } from '../../src/records/documents.ts'
import { KnownItems } from '../../src/records/otlp/known-items.ts'
import {
  OTLP_ATTEMPTS_MAX,
  OTLP_BATCH_RECORDS_MAX,
  OTLP_ITEMS_MAX,
  OTLP_PLAIN_BYTES_MAX,
  OTLP_TOKENS_MAX,
} from '../../src/records/otlp/limits.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { openEraser } from '../helpers/eraser.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import {
  agentLogs,
  agentRun,
  type Encoding,
  encodeLogs,
  encodeSpans,
  sendOtlp,
  setOtlp,
} from '../helpers/otlp.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Record = any

const [one] = agentRun([])

async function recordsOf(app: TestApp, query = ''): Promise<Record[]> {
  return expectStatus(200, await app.send('GET', `/v1/records?order=asc&limit=200${query}`)).json().data
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const ENCODINGS: Encoding[] = ['protobuf', 'json']

for (const encoding of ENCODINGS) {
  for (const gzip of [false, true]) {
    test(`spans in ${encoding}${gzip ? ', compressed' : ''}, become one record each, signed as one batch`, async () => {
      const app = await sharedApp()
      const [call, root] = agentRun(['refund'])
      const body = encodeSpans([call!, root!], encoding)
      const answer = expectStatus(200, await sendOtlp(app, 'traces', body, { encoding, gzip }))
      assert.equal(answer.body, encoding === 'json' ? '{}' : '')
      const records = await recordsOf(app)
      assert.equal(new Set(records.map(({ batch }) => batch)).size, 1)
      const { traceId, spanId } = call!.spanContext()
      const [first, second] = records
      assert.equal(first.type, 'otel-span/1')
      assert.deepEqual(first.references, ['gen_ai.conversation.id:c-1', 'gen_ai.tool.call.id:call_0'])
      assert.equal(first.actor, app.ledger.agent.id)
      const [seconds, nanoseconds] = call!.endTime
      assert.equal(Date.parse(first.occurredAt), seconds * 1_000 + Math.floor(nanoseconds / 1e6))
      const { startTimeUnixNano, endTimeUnixNano, events, ...payload } = first.payload
      assert.equal(BigInt(endTimeUnixNano), BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds))
      assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano))
      const times = { sha256: sha256('1'), of: 'jcs', length: 1 }
      assert.deepEqual([events[0].name, events[0].digests], ['tried', { times }])
      assert.deepEqual(payload, {
        traceId,
        spanId,
        parentSpanId: root!.spanContext().spanId,
        name: 'execute_tool refund',
        kind: 'INTERNAL',
        flags: payload.flags,
        status: { code: 'OK' },
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'refund',
          'gen_ai.tool.call.id': 'call_0',
          'gen_ai.conversation.id': 'c-1',
        },
        digests: { 'gen_ai.tool.call.arguments': { sha256: sha256('{"n":0}'), of: 'bytes', length: 7 } },
        resource: payload.resource,
        scope: { name: 'agents', version: '2.0' },
        told: 'after',
      })
      assert.equal(payload.resource.attributes['service.name'], 'agents')
      assert.equal(second.payload.kind, 'SERVER')
      assert.deepEqual(second.references, ['gen_ai.agent.id:billing'])
      assert.equal((await recordsOf(app, `&traceId=${traceId}`)).length, 2)
      await assertVerifies(app)
    })
  }

  test(`logs in ${encoding} become records, with content as digests`, async () => {
    const app = await sharedApp()
    const logs = agentLogs([
      {
        body: 'claude_code.tool_result',
        attributes: { 'event.name': 'tool_result', 'session.id': 's1', tool_name: 'Bash' },
      },
      {
        eventName: 'codex.user_prompt',
        body: 'all of it',
        attributes: { prompt: 'pay', 'conversation.id': 's2', tags: ['a', 'b'] },
      },
      { body: 'a request of HTTP' },
    ])
    const answer = expectStatus(200, await sendOtlp(app, 'logs', encodeLogs(logs, encoding), { encoding }))
    if (encoding === 'json') assert.equal(answer.json().partialSuccess.rejectedLogRecords, '1')
    const [tool, prompt, ...others] = await recordsOf(app)
    assert.deepEqual(others, [])
    assert.equal(tool.type, 'otel-log/1')
    assert.equal(tool.payload.body, 'claude_code.tool_result')
    assert.equal(tool.payload.severityNumber, 9)
    assert.equal(tool.references[0], 'gen_ai.conversation.id:s1')
    assert.equal(prompt.payload.eventName, 'codex.user_prompt')
    assert.deepEqual(prompt.payload.attributes, { 'conversation.id': 's2' })
    assert.equal(prompt.payload.digests.tags.sha256, sha256('["a","b"]'))
    assert.equal(tool.payload.attributes.tool_name, 'Bash')
    assert.equal(prompt.payload.digests.prompt.sha256, sha256('pay'))
    assert.equal(prompt.payload.bodyDigest.sha256, sha256('all of it'))
    assert.equal(Date.parse(prompt.occurredAt), 1_790_000_000_001)
  })
}

test('events of Gemini CLI become records: settings in clear; arguments, errors and texts as digests', async () => {
  const app = await sharedApp()
  const logs = agentLogs([
    {
      body: 'Tool call: read_file. Decision: accept. Success: false. Duration: 8ms.',
      attributes: {
        'event.name': 'gemini_cli.tool_call',
        'session.id': 'g1',
        function_name: 'read_file',
        function_args: '{"file_path":"/secret"}',
        success: false,
        error: 'no /secret',
        error_type: 'file_not_found',
        prompt_id: 'p1',
      },
    },
  ])
  expectStatus(200, await sendOtlp(app, 'logs', encodeLogs(logs, 'json'), { encoding: 'json' }))
  const [{ payload, references }] = await recordsOf(app)
  assert.deepEqual(payload.attributes, {
    'event.name': 'gemini_cli.tool_call',
    'session.id': 'g1',
    function_name: 'read_file',
    success: false,
    error_type: 'file_not_found',
    prompt_id: 'p1',
  })
  assert.deepEqual(Object.keys(payload.digests).sort(), ['error', 'function_args'])
  assert.equal(payload.bodyDigest.of, 'bytes')
  assert.equal(references[0], 'gen_ai.conversation.id:g1')
})

test('a server.address that is a URL is not recorded in clear, as it may contain a key', async () => {
  const app = await sharedApp()
  const logs = agentLogs(
    [
      'https://me:secret@models.example/v1?key=secret',
      'models.example',
      '2001:db8::1',
      '/run/model.sock',
    ].map((address) => ({ eventName: 'gen_ai.x', attributes: { 'server.address': address } })),
  )
  expectStatus(200, await sendOtlp(app, 'logs', encodeLogs(logs, 'json'), { encoding: 'json' }))
  assert.deepEqual(
    (await recordsOf(app)).map(({ payload }) => payload.attributes?.['server.address']),
    [undefined, 'models.example', '2001:db8::1', undefined],
  )
})

test('spans sent again make no second record', async (t) => {
  const app = await sharedApp()
  const spans = agentRun(['a', 'b', 'c', 'd', 'e'])
  // Retries as an exporter does, because a busy machine may answer 503.
  const send = async (some: typeof spans, options = {}) => {
    for (;;) {
      const answer = await sendOtlp(app, 'traces', encodeSpans(some), options)
      if (answer.statusCode !== 503) return expectStatus(200, answer)
    }
  }
  const spanIds = async () => (await recordsOf(app)).map(({ payload }) => payload.spanId)
  const ids = spans.map((span) => span.spanContext().spanId)

  await send(spans.slice(0, 3))
  const written = await app.written()
  await send(spans.slice(0, 3))
  await send(spans.slice(1, 2), { encoding: 'protobuf', gzip: true })
  assert.deepEqual(await app.written(), written)

  await send([spans[2]!, spans[3]!, spans[0]!, spans[3]!])
  assert.deepEqual(await spanIds(), ids.slice(0, 4))

  await t.test('in simultaneous requests', async () => {
    await Promise.all([...spans, ...spans].map((span, i) => send([span, spans[i % 4]!])))
    assert.deepEqual((await spanIds()).toSorted(), ids.toSorted())
  })

  await t.test('but another agent’s spans make their own records', async () => {
    const key = await addKey(app, { agent: await addAgent(app, 'other'), scopes: ['records:write'] })
    await send(spans.slice(0, 1), { key })
    await send(spans.slice(0, 1), { key })
    assert.deepEqual((await spanIds()).slice(6), ids.slice(0, 1))
  })

  await t.test('logs sent again make no second record, even if the process remembers none', async () => {
    const logs = agentLogs([{ eventName: 'codex.a' }, { eventName: 'codex.b' }, { eventName: 'codex.c' }])
    for (const some of [logs.slice(0, 2), logs.slice(1), logs])
      expectStatus(200, await sendOtlp(app, 'logs', encodeLogs(some)))
    const names = (await recordsOf(app, '&type=otel-log/1')).map(({ payload }) => payload.eventName)
    assert.deepEqual(names, ['codex.a', 'codex.b', 'codex.c'])

    const { knownItems, readPool } = app.deps
    const fresh = new KnownItems(readPool)
    knownItems.find = fresh.find.bind(fresh)
    const before = await app.written()
    await send(spans)
    expectStatus(200, await sendOtlp(app, 'logs', encodeLogs(logs)))
    Reflect.deleteProperty(knownItems, 'find')
    assert.deepEqual(await app.written(), before)
  })
  await assertVerifies(app)
})

test('a lookup reads large records of a trace in queries of limited size', async () => {
  const app = await sharedApp()
  const trace = 'ab'.repeat(16)
  const records = Array.from({ length: 32 }, () => ({
    type: 'generic/1',
    payload: { text: randomBytes(45_000).toString('base64') },
    traceparent: `00-${trace}-${'cd'.repeat(8)}-01`,
  }))
  for (let i = 0; i < 4; i++)
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  const { readPool } = app.deps
  const held: number[] = []
  const pool = new Proxy(readPool, {
    get: (target, name) =>
      name === 'query'
        ? async (query: object) => {
            const result = await target.query<{ content?: Buffer }>(query as never)
            held.push(result.rows.reduce((sum, { content }) => sum + (content?.length ?? 0), 0))
            return result
          }
        : Reflect.get(target, name),
  })
  const sender = { ledgerId: app.ledgerId, agentId: parseId('agt', app.ledger.agent.id) }
  await new KnownItems(pool).find(
    sender,
    new Map([[chunkKey.member('traceparent', trace).toString('hex'), ['x']]]),
  )
  const [all, largest] = [held.reduce((sum, bytes) => sum + bytes, 0), Math.max(...held)]
  assert.ok(all > LOOKUP_CHUNK_BYTES_MAX, `${all}`)
  assert.ok(largest <= LOOKUP_CHUNK_BYTES_MAX, `${largest}`)
})

test('logs that differ only in the person become separate records', async () => {
  const app = await sharedApp()
  const of = (subject: string) => ({
    eventName: 'codex.seen',
    timestamp: 1_790_000_000_000,
    observedTimestamp: 1_790_000_000_000,
    attributes: { 'tallystick.subject': subject },
  })
  const body = encodeLogs(agentLogs([of('person-1'), of('person-2'), of('person-1')]))
  for (const _ of ['first', 'again']) expectStatus(200, await sendOtlp(app, 'logs', body))
  assert.equal((await recordsOf(app)).length, 2)
  for (const subject of ['person-1', 'person-2']) {
    const found = await app.send('POST', '/v1/subjects/find', { body: { subject } })
    assert.equal(expectStatus(200, found).json().data.length, 1)
  }
})

test('tallystick.subject may have 256 characters or be a number, and is not in the payload', async () => {
  const app = await sharedApp()
  const long = '\u{1f600}'.repeat(256)
  const labelled = (id: string, value: object) =>
    spanOf('5a', id, {
      attributes: [
        { key: 'tallystick.subject', value },
        { key: 'gen_ai.conversation.id', value: { stringValue: '\u{1f600}'.repeat(200) } },
      ],
    })
  const taken = [{ stringValue: long }, { intValue: '4711' }, { stringValue: '' }, {}]
  assert.deepEqual(
    await sendSpans(
      app,
      taken.map((value, i) => labelled(`0${i + 1}`, value)),
    ),
    {},
  )
  const records = await recordsOf(app)
  assert.equal(records.length, taken.length)
  for (const { payload, references } of records) {
    assert.equal(payload.attributes['tallystick.subject'], undefined)
    assert.equal(references.length, 1, 'a reference is counted in the same way')
  }
  for (const subject of [long, '4711']) {
    const found = await app.send('POST', '/v1/subjects/find', { body: { subject } })
    assert.equal(expectStatus(200, found).json().data.length, 1)
  }
  const refused = [
    { stringValue: `${long}x` },
    { boolValue: true },
    { doubleValue: 1.5 },
    { stringValue: 'a\nb' },
  ]
  const { partialSuccess } = await sendSpans(
    app,
    refused.map((value, i) => labelled(`1${i + 1}`, value)),
  )
  assert.equal(partialSuccess.rejectedSpans, `${refused.length}`)
  assert.match(partialSuccess.errorMessage, /whose tallystick\.subject is not a text of 1 to 256 characters/)
})

/** Returns a span. `trace` and `id` are two hex digits each, which are repeated to make the ids. */
const spanOf = (trace: string, id: string, about: object = {}) => ({
  ...{
    traceId: trace.repeat(16),
    spanId: id.repeat(8),
    name: 'gen_ai.call',
    endTimeUnixNano: '1790000000000000000',
  },
  ...about,
})
const sendSpans = async (app: TestApp, spans: object[]) => {
  const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
  return expectStatus(200, await app.send('POST', '/v1/traces', { text })).json()
}
const person = (value: string) => ({
  attributes: [{ key: 'tallystick.subject', value: { stringValue: value } }],
})

test('spans with the same ids and different content become separate records, in any request', async () => {
  const app = await sharedApp()
  const named = (name: string) => spanOf('ab', 'cd', { name })
  const names = async () => (await recordsOf(app)).map(({ payload }) => payload.name)
  await sendSpans(app, [named('gen_ai.harmless'), named('gen_ai.harmless'), named('gen_ai.in_one_request')])
  await sendSpans(app, [named('gen_ai.delete_everything')])
  const all = ['gen_ai.harmless', 'gen_ai.in_one_request', 'gen_ai.delete_everything']
  assert.deepEqual(await names(), all)
  // Simulates a server without cached items, which must read the known spans from their chunks.
  const { knownItems, readPool } = app.deps
  const fresh = new KnownItems(readPool)
  for (const name of ['find', 'remembers'] as const) knownItems[name] = fresh[name].bind(fresh) as never
  await sendSpans(app, all.map(named))
  // The same attributes in another order are the same content, so only one record is made.
  const pair = [
    { key: 'a', value: { intValue: '1' } },
    { key: 'b', value: { stringValue: 'x' } },
  ]
  for (const attributes of [pair, pair.toReversed()])
    await sendSpans(app, [spanOf('ab', 'ce', { attributes })])
  for (const name of ['find', 'remembers']) Reflect.deleteProperty(knownItems, name)
  assert.equal((await names()).length, 4)
  await assertVerifies(app)
})

test('spans and logs that differ only in the person become separate records, also in later requests', async () => {
  const app = await sharedApp()
  const { knownItems, readPool } = app.deps
  const found = async (subject: string) => {
    const answer = await app.send('POST', '/v1/subjects/find', { body: { subject } })
    return expectStatus(200, answer).json().data.length
  }
  const logs = (subject: string) => {
    const log = {
      ...spanOf('ef', '12', person(subject)),
      timeUnixNano: '1790000000000000000',
      eventName: 'codex.seen',
    }
    return [log, { ...log, traceId: '', spanId: '' }]
  }
  for (const restarts of [false, true]) {
    const fresh = new KnownItems(readPool)
    if (restarts)
      for (const name of ['find', 'remembers'] as const) knownItems[name] = fresh[name].bind(fresh) as never
    for (const subject of ['ada', 'bob', 'ada']) {
      assert.deepEqual(await sendSpans(app, [spanOf('ef', '12', person(subject))]), {})
      const text = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: logs(subject) }] }] })
      assert.deepEqual(expectStatus(200, await app.send('POST', '/v1/logs', { text })).json(), {})
    }
    assert.deepEqual([await found('ada'), await found('bob')], [3, 3])
    assert.equal((await recordsOf(app)).length, 6)
  }
  for (const name of ['find', 'remembers']) Reflect.deleteProperty(knownItems, name)
})

test('a span whose record was erased is rejected when sent again', async (t) => {
  const app = await sharedApp()
  const [erased, other] = [spanOf('ab', 'cd', person('ada')), spanOf('ab', 'ce')]
  await sendSpans(app, [erased])
  const [{ id }] = await recordsOf(app)
  expectStatus(202, await app.send('DELETE', `/v1/records/${id}/payload`, { body: { code: 'asked' } }))
  await openEraser(t, app).run()
  const { knownItems, readPool } = app.deps
  const fresh = new KnownItems(readPool)
  for (const name of ['find', 'remembers'] as const) knownItems[name] = fresh[name].bind(fresh) as never
  const { partialSuccess } = await sendSpans(app, [erased, other, { ...erased, name: 'gen_ai.other' }])
  for (const name of ['find', 'remembers']) Reflect.deleteProperty(knownItems, name)
  assert.equal(partialSuccess.rejectedSpans, '2')
  assert.match(partialSuccess.errorMessage, /^2 spans with the ids of an erased record/)
  assert.equal((await recordsOf(app)).length, 2)
})

test('a request with very many spans makes no second record when sent again', async () => {
  const app = await sharedApp()
  const count = (OTLP_ATTEMPTS_MAX + 1) * OTLP_BATCH_RECORDS_MAX + 1
  const body = manySpans(count)
  const send = () =>
    app.send('POST', '/v1/traces', { text: body, headers: { 'content-type': 'application/x-protobuf' } })
  expectStatus(200, await send())
  const written = await app.written()
  expectStatus(200, await send())
  assert.deepEqual(await app.written(), written)
})

test('a batch that references very many log groups does not prevent finding repeated logs', async () => {
  const app = await sharedApp()
  const hours = Array.from({ length: 1_000 }, (_, hour) => String(BigInt(hour) * 3_600_000_000_000n + 1n))
  const send = (some: string[]) => {
    const logRecords = some.map((timeUnixNano) => ({ timeUnixNano, eventName: 'codex.a' }))
    const text = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
    return app.send('POST', '/v1/logs', { text })
  }
  expectStatus(200, await send(hours.slice(0, 1)))
  const [{ references }] = await recordsOf(app)
  const group = (hour: number) => references[0].replace(/0$/, hour)
  // The 64 records of each chunk have 1,000 different references together.
  const records = Array.from({ length: 320 }, (_, i) => ({
    type: 'generic/1',
    payload: {},
    references: Array.from({ length: 16 }, (_, j) => group((16 * i + j) % 1_000)),
  }))
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  for (const _ of [1, 2]) expectStatus(200, await send(hours))
  const batches = (await app.entries('?limit=50')).filter(({ kind }) => kind === 'batch-notarized')
  assert.equal(batches.length, 3)
})

test('an append is repeated if spans of its trace were written after the lookup', async () => {
  const app = await sharedApp()
  const [a, b] = agentRun(['a']).map((span) => encodeSpans([span]))
  const { knownItems } = app.deps
  // Simulates another server that writes between the lookup and the append.
  const find = knownItems.find.bind(knownItems)
  let looks = 0
  // Makes the server look up all items. Normally the server does not look up items that are new to the process, and
  // append_entries detects those that exist.
  knownItems.remembers = () => true
  knownItems.find = async (...about) => {
    const found = await find(...about)
    if (about[0].ledgerId !== app.ledgerId || ++looks > 1) return found
    knownItems.whileReserved = (_sender, _groups, work) => work()
    expectStatus(200, await sendOtlp(app, 'traces', a!))
    return found
  }
  expectStatus(200, await sendOtlp(app, 'traces', a!))
  assert.equal(looks, 3)

  // Spans of this trace that another agent has sent do not count as known.
  const key = await addKey(app, { agent: await addAgent(app, 'other'), scopes: ['records:write'] })
  looks = 0
  knownItems.find = async (...about) => {
    const found = await find(...about)
    if (about[0].ledgerId !== app.ledgerId || ++looks > 1) return found
    expectStatus(200, await sendOtlp(app, 'traces', b!, { key }))
    return found
  }
  expectStatus(200, await sendOtlp(app, 'traces', b!))
  for (const name of ['find', 'whileReserved', 'remembers']) Reflect.deleteProperty(knownItems, name)
  assert.equal(looks, 2)
  expectStatus(200, await sendOtlp(app, 'traces', b!))
  assert.equal((await recordsOf(app)).length, 3)
})

/**
 * The names are of three sorts: frameworks use them for content, they look like content but name metadata, or they are
 * unknown.
 */
const CONTENT_NAMES = [
  ...[
    'gen_ai.input.messages',
    'gen_ai.retrieval.query.text',
    'gen_ai.prompt.0.content',
    'input.value',
    'reranker.query',
  ],
  ...[
    'final_result',
    'pydantic_ai.all_messages',
    'model_request_parameters',
    'tool_arguments',
    'tool_response',
  ],
  ...['gcp.vertex.agent.llm_request', 'gcp.vertex.agent.tool_call_args', 'ai.value', 'ai.prompt.messages'],
  ...['langfuse.observation.input', 'mlflow.spanInputs', 'traceloop.entity.input', 'logfire.msg', 'user.id'],
  ...[
    'exception.message',
    'exception.stacktrace',
    'db.query.text',
    'url.full',
    'http.request.header.authorization',
  ],
  ...['message', 'content', 'anything', 'tool_name', ''],
]

test('attributes that are not known metadata are recorded only as digests, in every position', async () => {
  const app = await sharedApp()
  const secret = 'SENTINEL'
  const values = [
    { stringValue: secret },
    { arrayValue: { values: [{ stringValue: secret }] } },
    { kvlistValue: { values: [{ key: secret, value: { intValue: 1 } }] } },
    { bytesValue: Buffer.from(secret).toString('base64') },
    ...[{ intValue: 424242 }, { doubleValue: 424242.5 }],
  ]
  const content = [
    ...CONTENT_NAMES.map((key) => ({ key, value: values[0] })),
    ...values.map((value, i) => ({ key: `value.${i}`, value })),
    // Names of metadata, with values that must be treated as content.
    { key: 'gen_ai.agent.name', value: { stringValue: secret.repeat(65) } },
    { key: 'gen_ai.agent.id', value: values[2] },
    { key: 'gen_ai.response.finish_reasons', value: { arrayValue: { values: [values[2]] } } },
  ]
  const model = { key: 'gen_ai.request.model', value: { stringValue: 'm' } }
  const about = { attributes: [...content, model] }
  const span = spanOf('c0', '01', {
    ...about,
    events: [{ name: 'exception', ...about }],
    links: [{ traceId: 'c1'.repeat(16), spanId: '02'.repeat(8), ...about }],
    status: { code: 2, message: secret },
  })
  const log = {
    ...spanOf('c0', '03'),
    eventName: 'gen_ai.x',
    body: { stringValue: `gen_ai. ${secret}` },
    ...about,
  }
  const origin = { resource: about, schemaUrl: 'https://example.com/1' }
  const spans = {
    resourceSpans: [{ ...origin, scopeSpans: [{ scope: { name: 's', ...about }, spans: [span] }] }],
  }
  const logs = {
    resourceLogs: [{ ...origin, scopeLogs: [{ scope: { name: 's', ...about }, logRecords: [log] }] }],
  }
  for (const [signal, body] of [
    ['traces', spans],
    ['logs', logs],
  ] as const)
    assert.deepEqual(expectStatus(200, await app.send('POST', `/v1/${signal}`, { body })).json(), {})
  const records = await recordsOf(app)
  assert.equal(records.length, 2)
  for (const { type, payload } of records) {
    const text = JSON.stringify(payload).replaceAll(/"[0-9a-f]{64}"/g, '')
    for (const told of [secret, Buffer.from(secret).toString('base64'), '424242'])
      assert.ok(!text.includes(told), `${type} ${told} ${text}`)
    const holders = [
      payload,
      payload.resource,
      payload.scope,
      ...(payload.events ?? []),
      ...(payload.links ?? []),
    ]
    assert.equal(holders.length, type === 'otel-span/1' ? 5 : 3)
    for (const { attributes, digests } of holders) {
      assert.deepEqual(attributes, { 'gen_ai.request.model': 'm' })
      assert.equal(Object.keys(digests).length, content.length)
      assert.equal(digests['final_result'].sha256, sha256(secret))
    }
    assert.deepEqual(BUILT_IN_TYPES.get(type)!.payload!.validate(payload, 10_000), { outcome: 'valid' })
  }
  assert.deepEqual(records[0].payload.status, {
    code: 'ERROR',
    messageDigest: { sha256: sha256(secret), of: 'bytes', length: secret.length },
  })
  await assertVerifies(app)
})

test('a key with content: keep records every attribute and the text of errors in clear', async () => {
  const app = await sharedApp()
  await setOtlp(app, { take: 'agents', content: 'keep', rest: 'reject' })
  const attributes = CONTENT_NAMES.map((key) => ({ key, value: { stringValue: key } }))
  const status = { code: 2, message: 'why' }
  assert.deepEqual(
    await sendSpans(app, [spanOf('c2', '01', { attributes, events: [{ attributes }], status })]),
    {},
  )
  const [{ payload }] = await recordsOf(app)
  for (const { attributes: kept, digests } of [payload, payload.events[0]])
    assert.deepEqual([Object.keys(kept).length, digests], [CONTENT_NAMES.length, undefined])
  assert.deepEqual(payload.status, { code: 'ERROR', message: 'why' })
})

test('a key’s settings decide which spans are recorded, and whether content is', async () => {
  const app = await sharedApp()
  const key = { id: app.ledger.key.id }
  const set = (otlp: object | null) => setOtlp(app, otlp)
  const { [0]: call } = agentRun(['x'])
  const plain = agentRun([], {})[0]!
  Reflect.deleteProperty(plain.attributes, 'gen_ai.operation.name')
  const body = encodeSpans([call!, plain], 'json')
  const rejectedBy = async () =>
    (await sendOtlp(app, 'traces', body, { encoding: 'json' })).json().partialSuccess
  assert.match((await rejectedBy()).errorMessage, /^1 spans not about an agent/)

  const otlp = { take: 'agents', content: 'digest', rest: 'drop' }
  assert.deepEqual(expectStatus(200, await set(otlp)).json(), { otlp })
  assert.equal(await rejectedBy(), undefined)
  assert.equal((await recordsOf(app)).length, 1)

  expectStatus(200, await set({ take: 'all', content: 'keep', rest: 'reject' }))
  const [other] = agentRun(['y'])
  await sendOtlp(app, 'traces', encodeSpans([other!, plain], 'json'), { encoding: 'json' })
  const records = await recordsOf(app)
  assert.equal(records.length, 3)
  assert.equal(records[1].payload.attributes['gen_ai.tool.call.arguments'], '{"n":0}')
  assert.equal(records[1].payload.digests, undefined)

  const shown = expectStatus(200, await app.send('GET', `/v1/keys/${key.id}`)).json()
  assert.deepEqual(shown.otlp, { take: 'all', content: 'keep', rest: 'reject' })
  assert.equal(expectStatus(200, await set(null)).json().otlp, null)
  for (const wrong of [{ take: 'none' }, { take: 'all' }]) assert.equal((await set(wrong)).statusCode, 422)
})

test('a body that is not OTLP is refused in OTLP’s error format and writes nothing', async () => {
  const app = await sharedApp()
  const before = await app.written()
  const spans = encodeSpans(agentRun(['a']))
  const bomb = gzipSync(Buffer.alloc(OTLP_PLAIN_BYTES_MAX + 1))
  const json = { 'content-type': 'application/json' }
  const protobuf = { 'content-type': 'application/x-protobuf' }
  for (const [status, text, headers, message] of [
    [400, spans.subarray(0, spans.length - 3), protobuf, /bad_otlp/],
    [400, Buffer.from([0x0b]), protobuf, /bad_otlp/],
    [400, Buffer.from('not gzip'), { ...protobuf, 'content-encoding': 'gzip' }, /not gzip/],
    [413, bomb, { ...protobuf, 'content-encoding': 'gzip' }, /decompressed/],
    [413, Buffer.alloc(4 * 1024 * 1024 + 1), protobuf, /body_too_large/],
    [413, manySpans(OTLP_ITEMS_MAX + 1), protobuf, /more than 10000 spans/],
    // These small requests would expand to gigabytes, because of their resource or because of many empty messages.
    [
      413,
      gzipSync(spansOf('x'.repeat(60_000), 1_000)),
      { ...json, 'content-encoding': 'gzip' },
      /smaller resource/,
    ],
    [
      413,
      gzipSync(spansOf('x'.repeat(2_000_000), 100)),
      { ...json, 'content-encoding': 'gzip' },
      /smaller resource/,
    ],
    [
      413,
      gzipSync(Buffer.alloc(2 * OTLP_TOKENS_MAX, '0a00', 'hex')),
      { ...protobuf, 'content-encoding': 'gzip' },
      /fewer spans/,
    ],
    [415, spans, { ...protobuf, 'content-encoding': 'zstd' }, /gzip/],
    [415, spans, { ...protobuf, 'content-encoding': 'gzip, gzip' }, /gzip/],
    [415, spans, { 'content-type': 'text/plain' }, /unsupported_media_type/],
    [400, '{', json, /bad_json/],
    [400, '[]', json, /body must be an object/],
    [400, '{"resourceSpans":{}}', json, /\/resourceSpans must be an array/],
    [400, `${'0a80'.repeat(9)}`, json, /bad_json/],
  ] as const) {
    const answer = await app.send('POST', '/v1/traces', { text: text as Buffer, headers })
    assert.equal(answer.statusCode, status, `${message} ${answer.body}`)
    assert.match(answer.body, message)
    if (answer.headers['content-type'] !== 'application/x-protobuf') assert.ok(answer.json().code > 0)
  }
  // Names of codings are case-insensitive (RFC 9110 §8.4.1). With each coding the server must notice that the body is
  // not gzip.
  for (const coding of ['GZIP', 'x-gzip', 'identity, gzip', ' gzip ,']) {
    const headers = { ...protobuf, 'content-encoding': coding }
    assert.match(
      (await app.send('POST', '/v1/traces', { text: Buffer.from('not gzip'), headers })).body,
      /not gzip/,
      coding,
    )
  }
  for (const coding of ['', 'Identity', ','])
    expectStatus(
      200,
      await app.send('POST', '/v1/traces', {
        text: Buffer.alloc(0),
        headers: { ...protobuf, 'content-encoding': coding },
      }),
    )
  // The request has neither body nor content type.
  const nothing = await app.send('POST', '/v1/traces')
  assert.equal(nothing.statusCode, 400)
  assert.match(nothing.body, /has no body: send application/)
  assert.deepEqual(await app.written(), before)
  // An empty request is valid in either encoding.
  expectStatus(200, await app.send('POST', '/v1/traces', { text: Buffer.alloc(0), headers: protobuf }))
  expectStatus(200, await app.send('POST', '/v1/logs', { text: '{}', headers: json }))
  assert.deepEqual(await app.written(), before)
})

test('U+0000 in a span’s text is replaced, and its record verifies', async () => {
  const app = await sharedApp()
  const nul = {
    'gen_ai.request.model': ['a\0', '\\u0000'],
    'gen_ai.tool.call.arguments': 'b\0',
    'nul\0': 'c\0',
  }
  expectStatus(200, await sendOtlp(app, 'traces', encodeSpans(agentRun(['c\0'], nul).slice(0, 1))))
  const [{ payload }] = await recordsOf(app)
  assert.equal(payload.name, 'execute_tool c\ufffd')
  assert.deepEqual(payload.attributes['gen_ai.request.model'], ['a\ufffd', '\\u0000'])
  assert.equal(payload.digests['gen_ai.tool.call.arguments'].sha256, sha256('b\0'))
  assert.equal(payload.digests['nul\ufffd'].sha256, sha256('c\0'))
  // The expected texts are in the order in which the record contains them: two attributes, the name of a digest, and
  // the name of the span.
  const replaced = JSON.stringify(['a\0', 'c\0', 'nul\0', 'execute_tool c\0'])
  assert.deepEqual(payload.replaced, { sha256: sha256(replaced), of: 'jcs', length: replaced.length })
  assert.throws(() => new CanonicalDocument('{"a":"\\u0000"}'), /U\+0000/)
  await assertVerifies(app)
})

test('a span without ids or too large is rejected, and the other spans are recorded', async () => {
  const app = await sharedApp()
  await setOtlp(app, { take: 'agents', content: 'keep', rest: 'reject' })
  const span = (traceId: string, spanId: string, text = 'x') => ({
    ...{ traceId, spanId, name: 'n', unknownField: { a: [1] } },
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: text } },
      { key: '__proto__', value: { intValue: '9007199254740993' } },
      { key: 'nan', value: { doubleValue: 'NaN' } },
      { key: 'bytes', value: { bytesValue: 'aGk=' } },
      { key: 'none', value: null },
    ],
  })
  const [trace, id] = ['AB'.repeat(16), 'CD'.repeat(8)]
  const spans = [
    span('0'.repeat(32), id),
    span(trace, ''),
    span(trace, 'EF'.repeat(8), 'x'.repeat(70_000)),
    span(trace, id),
  ]
  const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
  const answer = expectStatus(200, await app.send('POST', '/v1/traces', { text })).json()
  assert.equal(answer.partialSuccess.rejectedSpans, '3')
  assert.match(
    answer.partialSuccess.errorMessage,
    /2 spans without a valid traceId and spanId; 1 spans larger than/,
  )
  const [{ payload }, ...others] = await recordsOf(app)
  assert.deepEqual(others, [])
  assert.equal(payload.traceId, trace.toLowerCase())
  assert.deepEqual(JSON.parse(JSON.stringify(Object.entries(payload.attributes).sort())), [
    ['__proto__', '9007199254740993'],
    ['bytes', 'aGk='],
    ['gen_ai.operation.name', 'x'],
    ['nan', 'NaN'],
    ['none', null],
  ])
  assert.deepEqual(BUILT_IN_TYPES.get('otel-span/1')!.payload!.validate(payload, 10_000), {
    outcome: 'valid',
  })
  await assertVerifies(app)
})

test('a request with more spans than a batch allows becomes several batches', async () => {
  const app = await sharedApp()
  expectStatus(
    200,
    await app.send('POST', '/v1/traces', {
      text: manySpans(2_100),
      headers: { 'content-type': 'application/x-protobuf' },
    }),
  )
  const { body } = await app.send('POST', '/v1/traces', {
    text: manySpans(2_200),
    headers: { 'content-type': 'application/x-protobuf' },
  })
  assert.equal(body, '')
  const entries = await app.entries('?limit=50')
  assert.deepEqual(
    entries.slice(-4).map(({ kind }) => kind),
    ['batch-notarized', 'batch-notarized', 'batch-notarized', 'batch-notarized'],
  )
})

test('OpenTelemetry’s exporter sends spans; a wrong key gets 401 in the request’s encoding', async () => {
  const app = await sharedApp()
  const url = `${await addressOf(app)}/v1/traces`
  const exportWith = (key: string) => {
    const headers = { Authorization: `Bearer ${key}` }
    const exporter = new OTLPTraceExporter({ url, headers, compression: 'gzip' as never })
    return new Promise<{ code: number; error?: Error }>((resolve) =>
      exporter.export(agentRun(['a', 'b']), resolve),
    )
  }
  assert.equal((await exportWith(app.ledger.key.key)).code, 0)
  assert.equal((await recordsOf(app)).length, 3)
  assert.match(String((await exportWith('tly_none')).error), /Unauthorized|401/)

  const refused = await app.send('POST', '/v1/traces', {
    key: null,
    text: Buffer.alloc(0),
    headers: { 'content-type': 'application/x-protobuf' },
  })
  assert.deepEqual([refused.statusCode, refused.headers['content-type']], [401, 'application/x-protobuf'])
  const [field, code, next] = refused.rawPayload
  assert.deepEqual([field, code, next], [0x08, 16, 0x12])

  // Some exporters do not decode %20 in OTEL_EXPORTER_OTLP_HEADERS, and send it as it is.
  const encoded = await app.send('POST', '/v1/traces', {
    key: null,
    text: '{}',
    headers: { 'content-type': 'application/json', authorization: `Bearer%20${app.ledger.key.key}` },
  })
  assert.equal(encoded.statusCode, 401)
  assert.match(encoded.json().message, /with a space instead of %20/)
  assert.ok(!encoded.body.includes(app.ledger.key.key))
})

function spansOf(text: string, count: number): string {
  const spans = Array.from({ length: count }, (_, i) => ({
    ...{ traceId: 'ab'.repeat(16), spanId: (i + 1).toString(16).padStart(16, '0'), name: 'gen_ai.a' },
  }))
  // The long text is a schema URL, because each record stores the schema URL in clear. A long attribute would become a
  // digest.
  return JSON.stringify({ resourceSpans: [{ schemaUrl: text, scopeSpans: [{ spans }] }] })
}

/**
 * Returns `count` spans of one trace. The spans are the same in each call, and each span is as small as an agent's span
 * can be.
 */
function manySpans(count: number): Buffer {
  const spans = Array.from({ length: count }, (_, i) => {
    const spanId = (i + 1).toString(16).padStart(16, '0')
    return Object.create(one!, {
      spanContext: { value: () => ({ ...one!.spanContext(), traceId: 'ab'.repeat(16), spanId }) },
    })
  })
  return Buffer.from(ProtobufTraceSerializer.serializeRequest(spans)!)
}
