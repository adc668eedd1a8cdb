import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { type Encoding, sendOtlp, setOtlp } from '../helpers/otlp.ts'
import {
  bytesField,
  groupField,
  itemMessage,
  jsonOf,
  type Members,
  NAMES,
  protobufOf,
  protobufValue,
  type Raw,
  raw,
  requestOf,
  type Signal,
  type Value,
  varintField,
} from '../helpers/otlp-requests.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

/*
 * Sends 10 spans or logs over HTTP, one of them with a bad value. The other 9 must be recorded. The bad one must be
 * recorded too, or be named in `partialSuccess`.
 */

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Payload = any

const ITEMS = 10
const ODD = 5
const END = 1_790_000_000_000_000_000n
const SIGNALS: Signal[] = ['traces', 'logs']
const text = (value: string): Value => ({ text: Buffer.from(value) })

let traces = 0
function newTrace(): string {
  return (++traces).toString(16).padStart(32, 'a')
}

function membersOf(signal: Signal, traceId: string, i: number): Members {
  const ids = { traceId, spanId: (i + 1).toString(16).padStart(16, '0') }
  return signal === 'traces'
    ? { ...ids, name: Buffer.from('gen_ai.call'), endTimeUnixNano: END }
    : { ...ids, eventName: Buffer.from('gen_ai.call'), timeUnixNano: END }
}

/**
 * Changes that make a span or log bad. An object replaces members of a good span or log. Bytes are appended to a good
 * one.
 */
type Odd = Members | Raw

type Case = {
  readonly json?: Odd
  readonly protobuf?: Odd
  readonly both?: Members
  /** Pattern of the expected `errorMessage`; null if the item is recorded without a warning. */
  readonly told: RegExp | null
  /** True if the item is recorded with a warning. */
  readonly taken?: boolean
  readonly signals?: readonly Signal[]
  readonly payload?: (payload: Payload) => void
}

function itemOf(signal: Signal, encoding: Encoding, traceId: string, odd: Odd): Raw {
  const message = itemMessage(signal)
  const good = membersOf(signal, traceId, ODD)
  const write = encoding === 'json' ? jsonOf : protobufOf
  if (!Buffer.isBuffer(odd)) return write(message, { ...good, ...odd })
  const before = write(message, good)
  return encoding === 'json' ? raw(before.subarray(0, -1), ',', odd, '}') : raw(before, odd)
}

async function sendWith(app: TestApp, signal: Signal, encoding: Encoding, odd: (traceId: string) => Raw) {
  const traceId = newTrace()
  const write = encoding === 'json' ? jsonOf : protobufOf
  const items = Array.from({ length: ITEMS }, (_, i) =>
    i === ODD ? odd(traceId) : write(itemMessage(signal), membersOf(signal, traceId, i)),
  )
  const answer = await sendOtlp(app, signal, requestOf(signal, encoding, items), { encoding })
  expectStatus(200, answer)
  const [batch] = await app.sql<{ count: number }>(
    'select sum(count)::int as count from tallystick.batch_chunks where ledger_id = $1 and seq = (select max(seq) from tallystick.batch_chunks where ledger_id = $1)',
    [app.ledgerId],
  )
  return { ...partialOf(answer.rawPayload, encoding), recorded: batch!.count, traceId }
}

async function payloadOf(app: TestApp, traceId: string): Promise<Payload> {
  const answer = await app.send('GET', `/v1/records?traceId=${traceId}&limit=${ODD + 1}&order=asc`)
  return expectStatus(200, answer).json().data[ODD].payload
}

/**
 * Reads an Export…ServiceResponse. The protobuf reader reads only the first field. This field contains a number and a
 * text of less than 2^14 bytes.
 */
function partialOf(body: Buffer, encoding: Encoding): { rejected: number; message: string } {
  if (encoding === 'json') {
    const { partialSuccess: told = {} } = JSON.parse(body.toString())
    return {
      rejected: Number(told.rejectedSpans ?? told.rejectedLogRecords ?? 0),
      message: told.errorMessage ?? '',
    }
  }
  const partial = body.subarray(body[1]! < 128 ? 2 : 3)
  const rejected = partial[0] === 8 ? partial[1]! : 0
  const rest = partial.subarray(partial[0] === 8 ? 2 : 0)
  return { rejected, message: rest.subarray(rest[1]! < 128 ? 2 : 3).toString() }
}

/** Settings of an API key. With them even maps and long texts are stored in clear. */
const KEEP = { take: 'agents', content: 'keep', rest: 'reject' }
/** An attribute that stays in clear, because its name is known to be metadata. */
const KEPT = 'gen_ai.request.model'
const kept = (value: Value) => ({ attributes: [[Buffer.from(KEPT), value]] })
const keptJson = (value: string) => raw(`"attributes":[{"key":"${KEPT}","value":${value}}]`)
const isKept = (value: unknown, replaced: boolean) => (payload: Payload) => {
  assert.deepEqual(payload.attributes[KEPT], value)
  assert.equal('replaced' in payload, replaced)
}
const nested = (depth: number, wrap: (value: Value) => Value): Value =>
  depth === 0 ? text('x') : wrap(nested(depth - 1, wrap))
const inList = (value: Value): Value => ({ list: [value] })
const inMap = (value: Value): Value => ({ map: [[Buffer.from('k'), value]] })
const MAX = 2n ** 63n - 1n
const brackets = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

const TAKEN: { [name: string]: Case } = {
  'nothing odd': { both: {}, told: null },
  'lone surrogate': {
    json: keptJson('{"stringValue":"cut \\ud83d"}'),
    told: null,
    payload: isKept('cut \ufffd', true),
  },
  'bytes that are not UTF-8': {
    both: kept({ text: raw('cut ', Buffer.from('f09f98', 'hex')) }),
    told: null,
    payload: isKept('cut \ufffd\ufffd\ufffd', true),
  },
  'U+0000': { both: kept(text('a\0b')), told: null, payload: isKept('a\ufffdb', true) },
  'U+0000 in a name of an attribute': { both: { attributes: [[Buffer.from('a\0'), text('x')]] }, told: null },
  'a name that is not UTF-8': {
    both: { name: Buffer.from('67656e5f61692eff', 'hex') },
    signals: ['traces'],
    told: null,
    payload: (payload) => assert.equal(payload.name, 'gen_ai.\ufffd'),
  },
  'an integer of 64 bits': { both: kept({ int: MAX }), told: null, payload: isKept(`${MAX}`, true) },
  'an integer of 64 bits as a number': {
    json: keptJson(`{"intValue":${MAX}}`),
    told: null,
    payload: isKept(`${MAX}`, true),
  },
  'the least integer as a number': {
    json: keptJson(`{"intValue":${-MAX - 1n}}`),
    told: null,
    payload: isKept(`${-MAX - 1n}`, true),
  },
  'an integer that looks like a double': {
    json: keptJson('{"intValue":1152921504606847000}'),
    told: null,
    payload: isKept('1152921504606847000', true),
  },
  'an integer with an exponent': {
    json: keptJson('{"intValue":1.5e3}'),
    told: null,
    payload: isKept(1500, false),
  },
  'a large integer with an exponent': {
    json: keptJson('{"intValue":"9.007199254740993e15"}'),
    told: null,
    payload: isKept('9007199254740993', true),
  },
  'an integer with a fraction of 0': {
    json: keptJson('{"intValue":2.0}'),
    told: null,
    payload: isKept(2, false),
  },
  'an integer -0': { json: keptJson('{"intValue":-0}'), told: null, payload: isKept(0, false) },
  'a double with more digits than it keeps': {
    json: keptJson('{"doubleValue":0.1000000000000000055511151231257827}'),
    told: null,
    payload: isKept(0.1, false),
  },
  'a double as text': { json: keptJson('{"doubleValue":"1.25e2"}'), told: null, payload: isKept(125, false) },
  'a double -0': { both: kept({ double: -0 }), told: null, payload: isKept(0, true) },
  NaN: { both: kept({ double: Number.NaN }), told: null, payload: isKept('NaN', true) },
  '-Infinity': { both: kept({ double: -Infinity }), told: null, payload: isKept('-Infinity', true) },
  bytes: { both: kept({ bytes: Buffer.from('hi') }), told: null, payload: isKept('aGk=', true) },
  'base64 of the other alphabet, without padding': {
    json: keptJson('{"bytesValue":"-_8"}'),
    told: null,
    payload: isKept('+/8=', true),
  },
  'a value of no kind': { both: kept(null), told: null, payload: isKept(null, false) },
  'a member of value that is null': {
    json: keptJson('{"stringValue":null,"intValue":"1"}'),
    told: null,
    payload: isKept(1, false),
  },
  'an attribute without a value': {
    json: raw(`"attributes":[{"key":"${KEPT}"}]`),
    told: null,
    payload: isKept(null, false),
  },
  'an attribute without a name': { json: raw('"attributes":[{"value":{"intValue":1}}]'), told: null },
  'lists 16 deep': { both: kept(nested(16, inList)), told: null },
  'maps 16 deep': { both: kept(nested(16, inMap)), told: null },
  'an unknown member that is very deep': { json: raw(`"unknown":${brackets(5_000)}`), told: null },
  'an unknown member with a doubled name': { json: raw('"unknown":{"a":1,"a":2}'), told: null },
  'unknown fields, and groups in each other': {
    protobuf: raw(
      varintField(900, 1),
      bytesField(901, 'x'),
      groupField(902, groupField(903, varintField(1, 1))),
    ),
    told: null,
  },
  'a time as a number': {
    json: raw('"observedTimeUnixNano":1790000000123456789'),
    signals: ['logs'],
    told: null,
    payload: (payload) => assert.equal(payload.observedTimeUnixNano, '1790000000123456789'),
  },
  'a start as a number': {
    json: raw('"startTimeUnixNano":1790000000123456789'),
    signals: ['traces'],
    told: null,
    payload: (payload) => assert.equal(payload.startTimeUnixNano, '1790000000123456789'),
  },
  'a kind of a newer OTLP': {
    both: { kind: 99 },
    signals: ['traces'],
    told: null,
    payload: (payload) => assert.equal(payload.kind, 99),
  },
  'a severity of a newer OTLP': {
    both: { severityNumber: 30 },
    signals: ['logs'],
    told: null,
    payload: (payload) => assert.equal(payload.severityNumber, 30),
  },
  'ids of zeros where one may be missing': {
    both: { parentSpanId: '0'.repeat(16) },
    signals: ['traces'],
    told: null,
  },
  'an attribute twice': {
    both: { attributes: [1n, 2n].map((int) => [Buffer.from(KEPT), { int }]) },
    told: /"gen_ai\.request\.model" occurs twice: the last value is taken/,
    taken: true,
    payload: isKept(2, false),
  },
  'a member of a map twice': {
    both: kept({ map: ['x', 'y'].map((value) => [Buffer.from('k'), text(value)] as const) }),
    told: /"k" occurs twice/,
    taken: true,
    payload: isKept({ k: 'y' }, false),
  },
}

const REFUSED: { [name: string]: Case } = {
  'lists 17 deep': { both: kept(nested(17, inList)), told: /attributes.* is nested more than 16 deep/ },
  'maps 17 deep': { both: kept(nested(17, inMap)), told: /nested more than 16 deep/ },
  'maps 60 deep': { both: kept(nested(60, inMap)), told: /nested/ },
  'a value that is deeper than JSON is read': {
    json: keptJson(brackets(5_000)),
    told: /attributes\/0\/value is nested too deep|must be an object/,
  },
  'an integer beyond 64 bits': {
    json: keptJson(`{"intValue":"${MAX + 1n}"}`),
    told: /intValue must be an integer of 64 bits/,
  },
  'an integer 1e21': { json: keptJson('{"intValue":1e21}'), told: /intValue must be/ },
  'an integer with an exponent that is a bomb': {
    json: keptJson('{"intValue":1e999999999}'),
    told: /intValue must be/,
  },
  'an integer with a fraction': {
    json: keptJson('{"intValue":1.00000000000000000001}'),
    told: /intValue must be/,
  },
  'an integer that is a word': { json: keptJson('{"intValue":"ten"}'), told: /intValue must be/ },
  'an integer that is empty': { json: keptJson('{"intValue":""}'), told: /intValue must be/ },
  'a double beyond any': { json: keptJson('{"doubleValue":1e999}'), told: /doubleValue must be a number/ },
  'a double in hex': { json: keptJson('{"doubleValue":"0x10"}'), told: /doubleValue must be a number/ },
  'bytes that are not base64': { json: keptJson('{"bytesValue":"***"}'), told: /bytesValue must be base64/ },
  'a text that is a number': {
    json: keptJson('{"stringValue":9007199254740993}'),
    told: /stringValue must be a text/,
  },
  'a truth that is a text': {
    json: keptJson('{"boolValue":"true"}'),
    told: /boolValue must be true or false/,
  },
  'two values in one': { json: keptJson('{"stringValue":"a","intValue":"1"}'), told: /must be one value/ },
  'a list with null': {
    json: keptJson('{"arrayValue":{"values":[null]}}'),
    told: /values\/0 must be an object/,
  },
  'a value that is a text': { json: keptJson('"x"'), told: /value must be an object/ },
  'attributes that are a text': { json: raw('"attributes":"x"'), told: /attributes must be an array/ },
  'attributes that are an object': {
    json: raw('"attributes":{"a":"x"}'),
    told: /attributes must be an array/,
  },
  'an attribute that is null': { json: raw('"attributes":[null]'), told: /attributes\/0 must be an object/ },
  'an attribute whose name is a number': {
    json: raw('"attributes":[{"key":1}]'),
    told: /key must be a text/,
  },
  'a doubled member': { json: raw('"flags":1,"flags":2'), told: /has "flags" twice/ },
  'a doubled member of an attribute': {
    json: raw('"attributes":[{"key":"a","key":"b"}]'),
    told: /attributes\/0 has "key" twice/,
  },
  'a doubled member of a value': {
    json: keptJson('{"intValue":1,"intValue":2}'),
    told: /value has "intValue" twice/,
  },
  'a trace id in base64': {
    json: { traceId: 'q83vEjRWeJCrze8SNFZ4kA==' },
    told: /valid traceId|no id/,
  },
  'a span id of 3 digits': { json: { spanId: 'abc' }, told: /valid traceId|no id/ },
  'a span id of 3 bytes': { both: { spanId: 'abcdef' }, told: /valid traceId|no id/ },
  'a trace id that is a number': { json: raw('"name":"gen_ai.x","traceId":5'), told: /traceId/ },
  'a parent of 3 bytes': {
    both: { parentSpanId: 'abcdef' },
    signals: ['traces'],
    told: /parentSpanId or link/,
  },
  'a link of 3 bytes': {
    both: { links: [{ spanId: 'abcdef' }] },
    signals: ['traces'],
    told: /parentSpanId or link/,
  },
  'a kind as a word': {
    json: raw('"kind":"SPAN_KIND_CLIENT"'),
    signals: ['traces'],
    told: /kind must be an integer/,
  },
  'a kind below 0': { json: raw('"kind":-1'), signals: ['traces'], told: /kind must be an integer/ },
  'a severity as a word': {
    json: raw('"severityNumber":"SEVERITY_NUMBER_INFO"'),
    signals: ['logs'],
    told: /severityNumber must be/,
  },
  'flags beyond 32 bits': { json: raw('"flags":4294967296'), told: /flags must be an integer of 32 bits/ },
  'a time below 0': {
    json: raw('"observedTimeUnixNano":"-1"'),
    signals: ['logs'],
    told: /observedTimeUnixNano must be/,
  },
  'a time beyond 64 bits': {
    json: raw('"startTimeUnixNano":18446744073709551616'),
    signals: ['traces'],
    told: /startTimeUnixNano must be/,
  },
  'a time in two halves': {
    json: raw('"startTimeUnixNano":{"low":1,"high":2}'),
    signals: ['traces'],
    told: /startTimeUnixNano must be/,
  },
  'events that are a text': {
    json: raw('"events":"x"'),
    signals: ['traces'],
    told: /events must be an array/,
  },
  'an event that is null': {
    json: raw('"events":[null]'),
    signals: ['traces'],
    told: /events\/0 must be an object/,
  },
  'a status that is a number': {
    json: raw('"status":2'),
    signals: ['traces'],
    told: /status must be an object/,
  },
  'a body that is a text': { json: raw('"body":"x"'), signals: ['logs'], told: /body must be an object/ },
  'a body that is too deep': {
    both: { body: nested(17, inMap) },
    signals: ['logs'],
    told: /body.* nested more than 16 deep/,
  },
  'a field that is cut off': { protobuf: Buffer.from([0xaa, 0x38, 0x7f, 0x00]), told: /ends within a field/ },
  'a tag without a value': { protobuf: Buffer.from([0x80]), told: /ends within a field/ },
  'a number of more than 64 bits': {
    protobuf: raw(Buffer.from([0xa0, 0x38]), Buffer.alloc(11, 0xff)),
    told: /more than 64 bits/,
  },
  'a field with the number 0': { protobuf: Buffer.from([0x02, 0x00]), told: /number 0/ },
  'a group that does not end': { protobuf: Buffer.from([0xa3, 0x38]), told: /ends within a field/ },
  'a group that ends as another': {
    protobuf: Buffer.from([0xa3, 0x38, 0xac, 0x38]),
    told: /end of a group has no start/,
  },
  'a group that only ends': { protobuf: Buffer.from([0xa4, 0x38]), told: /wire type 4/ },
  'groups that are very deep': {
    protobuf: Buffer.alloc(2_000, Buffer.from([0xa3, 0x38])),
    told: /groups are nested/,
  },
  'a wire type that there is not': { protobuf: Buffer.from([0xa7, 0x38]), told: /wire type 7/ },
  'a known field of another wire type': { protobuf: varintField(9, 1), told: /wire type 0/ },
  'an attribute that is cut off': {
    protobuf: bytesField(9, Buffer.from([0x0a, 0x7f])),
    signals: ['traces'],
    told: /attributes: it ends within a field/,
  },
  'a value that is cut off': {
    protobuf: bytesField(
      9,
      raw(bytesField(1, KEPT), bytesField(2, protobufValue(text('abc')).subarray(0, -1))),
    ),
    signals: ['traces'],
    told: /attributes: it ends within a field/,
  },
}

for (const encoding of ['json', 'protobuf'] as const)
  for (const signal of SIGNALS)
    test(`${signal} in ${encoding}: one bad value rejects at most its own item`, async () => {
      const app = await sharedApp()
      await setOtlp(app, KEEP)
      const path = `/${Object.values(NAMES[signal]).join('/0/')}/${ODD}`
      for (const [name, one] of Object.entries({ ...TAKEN, ...REFUSED })) {
        const odd = one[encoding] ?? one.both
        if (odd === undefined || !(one.signals ?? SIGNALS).includes(signal)) continue
        const isTaken = one.told === null || one.taken === true
        const { rejected, message, recorded, traceId } = await sendWith(app, signal, encoding, (traceId) =>
          itemOf(signal, encoding, traceId, odd),
        )
        const about = `${name}: ${message}`
        assert.equal(rejected, isTaken ? 0 : 1, about)
        assert.equal(recorded, isTaken ? ITEMS : ITEMS - 1, about)
        if (one.told === null) assert.equal(message, '', about)
        else {
          assert.match(message, one.told, about)
          assert.ok(message.includes(path), about)
        }
        if (isTaken && one.payload) one.payload(await payloadOf(app, traceId))
      }
      for (const item of ['null', '5', '"x"', '[]'].slice(0, encoding === 'json' ? 4 : 0)) {
        const { rejected, recorded } = await sendWith(app, signal, encoding, () => raw(item))
        assert.deepEqual([rejected, recorded], [1, ITEMS - 1], item)
      }
      await assertVerifies(app)
    })

test('a bad resource or scope rejects all items below it, and the message names it', async () => {
  const app = await sharedApp()
  const span = (traceId: string, i: number) =>
    JSON.parse(jsonOf(itemMessage('traces'), membersOf('traces', traceId, i)).toString())
  const spans = (traceId: string, from: number) => [from, from + 1, from + 2].map((i) => span(traceId, i))
  const deep = JSON.parse(jsonOf(itemMessage('traces'), kept(nested(17, inMap))).toString())
  const bad = [
    [
      { resource: deep, scopeSpans: [{ spans: 3 }] },
      3,
      '/resourceSpans/0/scopeSpans/0/spans/0: /resource: /attributes',
    ],
    [{ scopeSpans: [{ scope: deep, spans: 3 }, { spans: 0 }] }, 3, '/spans/2: /scope: /attributes'],
    [{ resource: null, scopeSpans: [{ scope: { name: 5 }, spans: 3 }] }, 3, '/scope: /name must be a text'],
    [
      { scopeSpans: [{ schemaUrl: 5, spans: 3 }] },
      3,
      '/resourceSpans/0/scopeSpans/0: /schemaUrl must be a text',
    ],
    [
      { schemaUrl: [], scopeSpans: [{ spans: 3 }, { spans: 3 }] },
      6,
      '/resourceSpans/0: /schemaUrl must be a text',
    ],
    [{ scopeSpans: [{ spans: {} }] }, 1, '/resourceSpans/0/scopeSpans/0: /spans must be an array'],
    [{ scopeSpans: 'x' }, 1, '/resourceSpans/0: /scopeSpans must be an array'],
    [{ resource: 5, scopeSpans: [{ spans: 3 }] }, 3, '/resource: it must be an object'],
    [null, 1, '/resourceSpans/0: it must be an object'],
  ] as const
  for (const [group, rejected, told] of bad) {
    const traceId = newTrace()
    let from = 0
    const filled = JSON.stringify(group, (name, value) => {
      if (name !== 'spans' || typeof value !== 'number') return value
      return value === 0 ? [] : spans(traceId, 3 * from++)
    })
    const text = `{"resourceSpans":[${filled},${JSON.stringify({ scopeSpans: [{ spans: spans(traceId, 50) }] })}]}`
    const answer = await app.send('POST', '/v1/traces', { text })
    const { rejectedSpans, errorMessage } = expectStatus(200, answer).json().partialSuccess
    assert.equal(rejectedSpans, `${rejected}`, errorMessage)
    assert.ok(errorMessage.includes(told), errorMessage)
    const records = await app.send('GET', `/v1/records?traceId=${traceId}`)
    assert.equal(expectStatus(200, records).json().data.length, 3, errorMessage)
  }
  // The protobuf body has two groups. The first group has a truncated resource, the second has a resource in two
  // fragments.
  const traceId = newTrace()
  const scoped = (i: number) =>
    bytesField(2, bytesField(2, protobufOf(itemMessage('traces'), membersOf('traces', traceId, i))))
  const attribute = (name: string) =>
    bytesField(
      1,
      protobufOf(itemMessage('traces'), { attributes: [[Buffer.from(name), text('x')]] }).subarray(2),
    )
  const body = raw(
    bytesField(1, raw(bytesField(1, Buffer.from([0x0a, 0x7f])), scoped(1), scoped(2))),
    bytesField(
      1,
      raw(bytesField(1, attribute('service.name')), bytesField(1, attribute('service.version')), scoped(3)),
    ),
  )
  const { rejected, message } = partialOf((await sendOtlp(app, 'traces', body)).rawPayload, 'protobuf')
  assert.equal(rejected, 2)
  assert.match(message, /resourceSpans\/0\/scopeSpans\/1\/spans\/0: \/resource: \/attributes: it ends/)
  const { data } = (await app.send('GET', `/v1/records?traceId=${traceId}`)).json()
  assert.deepEqual(
    data.map(({ payload }: Payload) => payload.resource.attributes),
    [{ 'service.name': 'x', 'service.version': 'x' }],
  )
})

test('in protobuf, bad framing of a group rejects all items below it, and the message names it', async () => {
  const app = await sharedApp()
  for (const signal of ['traces', 'logs'] as const) {
    const { groups, scopes, items } = NAMES[signal]
    const item = (traceId: string, i: number) =>
      bytesField(2, protobufOf(itemMessage(signal), membersOf(signal, traceId, i)))
    const scoped = (...parts: Uint8Array[]) => bytesField(2, raw(...parts))
    const [badUrl, cut] = [varintField(3, 5), Buffer.from([0x1a, 0x7f])]
    for (const [makeGroup, rejected, told] of [
      [(one: Item) => scoped(one(1), badUrl, one(2)), 2, `${scopes}/0: /schemaUrl: it has the wire type 0`],
      [(one: Item) => scoped(one(1), one(2), cut), 2, `${scopes}/0: /schemaUrl: it ends within a field`],
      [(_: Item) => scoped(cut), 1, `${scopes}/0: /schemaUrl: it ends within a field`],
      [
        (one: Item) => raw(badUrl, scoped(one(1), one(2)), scoped(one(4), badUrl)),
        3,
        `/${groups}/0: /schemaUrl: it has the wire type 0`,
      ],
      [(one: Item) => raw(scoped(one(1)), scoped(one(2)), cut), 2, `/${groups}/0: /schemaUrl: it ends`],
      [
        (one: Item) => raw(scoped(one(1)), varintField(2, 1), scoped(one(2))),
        2,
        `/${groups}/0: /${scopes}: it has the wire type 0`,
      ],
      [(one: Item) => scoped(varintField(2, 1), one(2)), 1, `${scopes}/0: /${items}: it has the wire type`],
    ] as const) {
      const traceId = newTrace()
      const one: Item = (i) => item(traceId, i)
      const body = raw(bytesField(1, makeGroup(one)), bytesField(1, scoped(one(3))))
      const answer = partialOf((await sendOtlp(app, signal, body)).rawPayload, 'protobuf')
      assert.deepEqual([answer.rejected, answer.message.includes(told)], [rejected, true], answer.message)
      const { data } = (await app.send('GET', `/v1/records?traceId=${traceId}`)).json()
      assert.equal(data.length, 1, told)
    }
  }
})

type Item = (i: number) => Uint8Array

test('an undecodable request is answered 400; skipped members that may contain spans are named', async () => {
  const app = await sharedApp()
  const good = jsonOf(itemMessage('traces'), membersOf('traces', newTrace(), 1)).toString()
  const before = await app.written()
  for (const text of [
    ...[
      '',
      '{',
      'null',
      '[]',
      '"x"',
      '{"resourceSpans":{}}',
      `{"resourceSpans":"x"}`,
      `{"resourceSpans":[{]}`,
    ],
    ...[
      `{"resourceSpans":[],"resourceSpans":[]}`,
      `${requestOf('traces', 'json', [raw(good)]).subarray(0, -1)}`,
    ],
    ...[
      `{"resourceSpans":${'['.repeat(5_000)}}`,
      '{"resourceSpans":[01]}',
      '{"resourceSpans":[{"a":"\u0001"}]}',
    ],
  ]) {
    const answer = await app.send('POST', '/v1/traces', {
      text,
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(answer.statusCode, 400, `${text} ${answer.body}`)
  }
  const span = protobufOf(itemMessage('traces'), membersOf('traces', newTrace(), 1))
  const request = requestOf('traces', 'protobuf', [span])
  for (const body of [request.subarray(0, -1), raw(request, '\x0a'), varintField(1, 1)]) {
    const answer = await sendOtlp(app, 'traces', body)
    assert.equal(answer.statusCode, 400, answer.body)
  }
  assert.deepEqual(await app.written(), before)
  for (const [body, encoding, told] of [
    [
      raw(`{"resource_spans":[{"scope_spans":[{"spans":[${good}]}]}]}`),
      'json',
      /unknown member: "resource_spans"/,
    ],
    [
      raw(`{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[${good}]}]}]}`),
      'json',
      /"instrumentationLibrarySpans"/,
    ],
    [bytesField(1, bytesField(1000, bytesField(2, span))), 'protobuf', /unknown member: field 1000/],
  ] as const) {
    const answer = expectStatus(200, await sendOtlp(app, 'traces', body, { encoding }))
    const { rejected, message } = partialOf(answer.rawPayload, encoding)
    assert.equal(rejected, 0)
    assert.match(message, told)
  }
  assert.deepEqual(await app.written(), before)
})

test('the message names the first rejected item in quotes and has a limited length', async () => {
  const app = await sharedApp()
  const traceId = newTrace()
  const name = `\u001b[31m${'x'.repeat(10_000)}`
  const item = (i: number) =>
    raw(
      jsonOf(itemMessage('traces'), membersOf('traces', traceId, i)).subarray(0, -1),
      `,${JSON.stringify(name)}:1,${JSON.stringify(name)}:2}`,
    )
  const body = requestOf(
    'traces',
    'json',
    Array.from({ length: 200 }, (_, i) => item(i)),
  )
  const { partialSuccess } = expectStatus(
    200,
    await sendOtlp(app, 'traces', body, { encoding: 'json' }),
  ).json()
  assert.equal(partialSuccess.rejectedSpans, '200')
  assert.match(
    partialSuccess.errorMessage,
    /^200 spans with an invalid value; \/resourceSpans\/0\/scopeSpans\/0\/spans\/0: it has "\\u001b\[31mx+/,
  )
  assert.ok(partialSuccess.errorMessage.length < 2_000)
})

test('two spans that differ only in a value that JSON cannot express are two records', async () => {
  const app = await sharedApp()
  const traceId = newTrace()
  const values = [
    ...[
      '{"stringValue":"\\ud83d"}',
      '{"stringValue":"\\ud83e"}',
      '{"stringValue":"\\u0000"}',
      '{"stringValue":"\ufffd"}',
    ],
    ...[
      '{"intValue":"9007199254740993"}',
      '{"stringValue":"9007199254740993"}',
      '{"bytesValue":"aGk="}',
      '{"stringValue":"aGk="}',
    ],
    ...['{"doubleValue":"NaN"}', '{"stringValue":"NaN"}', '{"doubleValue":-0.0}', '{"doubleValue":0}'],
  ]
  const good = jsonOf(itemMessage('traces'), membersOf('traces', traceId, 1))
    .toString()
    .slice(0, -1)
  const spans = (key: string) =>
    values.map((value) => raw(`${good},"attributes":[{"key":"${key}","value":${value}}]}`))
  for (const [key, content] of [
    [KEPT, KEEP],
    ['note', null],
  ] as const) {
    await setOtlp(app, content)
    for (const _ of ['first', 'again'])
      expectStatus(
        200,
        await sendOtlp(app, 'traces', requestOf('traces', 'json', spans(key)), { encoding: 'json' }),
      )
  }
  const { data } = (await app.send('GET', `/v1/records?traceId=${traceId}&limit=200`)).json()
  assert.equal(data.length, 2 * values.length)
  const digests = data.flatMap(({ payload }: Payload) => payload.digests?.note.sha256 ?? [])
  assert.equal(new Set(digests).size, values.length)
  await assertVerifies(app)
})
