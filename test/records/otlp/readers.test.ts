import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { OTLP_SETTINGS_DEFAULT } from '../../../src/ledgers/otlp-settings.ts'
import { contentOf } from '../../../src/records/otlp/content.ts'
import { itemsOf } from '../../../src/records/otlp/items.ts'
import { LOGS, type ReadRequest, TRACES } from '../../../src/records/otlp/messages.ts'
import { readJson } from '../../../src/records/otlp/read-json.ts'
import { readProtobuf } from '../../../src/records/otlp/read-protobuf.ts'
import { Budget, writtenOf } from '../../../src/records/otlp/record-documents.ts'
import { textOfBytes } from '../../../src/records/otlp/text.ts'
import {
  bytesField,
  itemMessage,
  jsonOf,
  type Members,
  NAMES,
  protobufOf,
  raw,
  type Signal,
  type Value,
  varintField,
} from '../../helpers/otlp-requests.ts'
import { runs } from '../../helpers/runs.ts'

const bytes = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }).map((text) => Buffer.from(text)) },
  fc.uint8Array({ maxLength: 8 }).map((array) => Buffer.from(array)),
)
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    bytes.map((text) => ({ text })),
    fc.boolean().map((bool) => ({ bool })),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int) => ({ int })),
    fc.double().map((double) => ({ double })),
    fc.uint8Array({ maxLength: 6 }).map((array) => ({ bytes: array })),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }).map((list) => ({ list })),
    fc.array(fc.tuple(bytes, tie('value')), { maxLength: 3 }).map((map) => ({ map })),
    // Depths just below and just above the limit.
    fc.integer({ min: 14, max: 19 }).map((depth) => {
      let deep: Value = null
      for (let i = 0; i < depth; i++)
        deep = i % 2 === 0 ? { list: [deep] } : { map: [[Buffer.from('k'), deep]] }
      return deep
    }),
  ),
}))
const name = fc.oneof(
  fc.constantFrom('gen_ai.request.model', 'gen_ai.usage.input_tokens', 'note').map(Buffer.from),
  bytes,
)
const attributes = fc.array(fc.tuple(name, value), { maxLength: 4 })
const number = fc.oneof(fc.constantFrom(0, 1, 2, 3), fc.nat(2 ** 32 - 1))
const time = fc.oneof(
  fc.constantFrom(0n, 1_790_000_000_123_456_789n),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
)
const idOf = (length: number) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant('ab'.repeat(length)) },
    fc.constant('0'.repeat(2 * length)),
    fc.constant(''),
    fc.uint8Array({ maxLength: length + 1 }).map((array) => Buffer.from(array).toString('hex')),
  )
const some = (members: { readonly [name: string]: fc.Arbitrary<unknown> }): fc.Arbitrary<Members> =>
  fc.record(members, { requiredKeys: [] })
const scope = some({ name: bytes, version: bytes, attributes, droppedAttributesCount: number })
const span = some({
  ...{
    traceId: idOf(16),
    spanId: idOf(8),
    parentSpanId: idOf(8),
    traceState: bytes,
    name: bytes,
    kind: number,
  },
  ...{
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes,
    flags: number,
    droppedEventsCount: number,
  },
  events: fc.array(some({ timeUnixNano: time, name: bytes, attributes }), { maxLength: 2 }),
  links: fc.array(some({ traceId: idOf(16), spanId: idOf(8), attributes, flags: number }), { maxLength: 2 }),
  status: some({ message: bytes, code: number }),
})
const log = some({
  ...{ traceId: idOf(16), spanId: idOf(8), timeUnixNano: time, observedTimeUnixNano: time, flags: number },
  ...{ severityNumber: number, severityText: bytes, eventName: bytes, body: value, attributes },
})

function requestsOf(signal: Signal): fc.Arbitrary<Members> {
  const { groups, scopes, items } = NAMES[signal]
  const lists = { minLength: 1, maxLength: 2 }
  const scoped = fc.record({
    scope,
    schemaUrl: bytes,
    [items]: fc.array(signal === 'traces' ? span : log, { maxLength: 3 }),
  })
  const resource = some({ attributes, droppedAttributesCount: number })
  return fc.record({ [groups]: fc.array(fc.record({ resource, [scopes]: fc.array(scoped, lists) }), lists) })
}

function recordsOf(signal: Signal, request: ReadRequest, content: 'digest' | 'keep') {
  const settings = { ...OTLP_SETTINGS_DEFAULT, take: 'all', content } as const
  const about = { settings, subjectSalt: new Uint8Array(32), known: new Map() }
  const { items, rejected, bytes: size } = itemsOf(signal, request, about)
  const made = items.map(({ record, ...others }) => {
    const { text } = record.payload as { text: string }
    return { ...record, ...others, payload: text }
  })
  // The documents must be readable for verifiers.
  for (const { payload } of made) assert.ok(payload.isWellFormed() && !payload.includes('\\u0000'))
  return { made, rejected, size }
}

for (const [signal, message] of [
  ['traces', TRACES],
  ['logs', LOGS],
] as const)
  test(`${signal} in JSON and in protobuf become the same records, for any values`, () => {
    fc.assert(
      fc.property(
        requestsOf(signal),
        fc.boolean(),
        fc.constantFrom('digest', 'keep'),
        (request, numbers, content) => {
          const json = readJson(textOfBytes(jsonOf(message, request, { numbers })), message)
          const protobuf = readProtobuf(protobufOf(message, request), message)
          assert.deepEqual(recordsOf(signal, json, content), recordsOf(signal, protobuf, content))
        },
      ),
      { numRuns: runs(300) },
    )
  })

test('thousands of names with the same replacement produce a short text', () => {
  const names = Array.from({ length: 2_000 }, (_, i) =>
    String.fromCharCode(0xd800 + (i % 1024), 0xd800 + Math.floor(i / 1024)),
  )
  const members = Object.fromEntries(names.map((name, i) => [name, i]))
  const { text, replaced } = writtenOf({ members }, true)
  assert.equal(replaced.length, names.length)
  assert.ok(text.length < 20 * names.length, `${text.length}`)
  const made = JSON.parse(`{${text.slice(0, -1)}}`).members
  assert.deepEqual(Object.values(made).sort(), Object.values(members).sort())
})

test('the budget counts the hashed values of a resource that JSON cannot express', () => {
  const zeros = writtenOf({ resource: Array.from({ length: 15_000 }, () => -0) }, false)
  const last = writtenOf({ type: 'x' }, true)
  const budget = new Budget()
  let documents = 0
  assert.throws(() => {
    while (documents < 1_000 && budget.documentOf(zeros, [], last)) documents++
  }, /body_too_large|more than/)
  assert.ok(documents < 100, `${documents}`)
})

test('a resource in two parts with a malformed first part rejects only the spans of that part', () => {
  const span = bytesField(
    2,
    protobufOf(itemMessage('traces'), { traceId: 'ab'.repeat(16), spanId: 'ab'.repeat(8) }),
  )
  const [bad, good] = [varintField(1, 1), bytesField(1, Buffer.from('0a0173120a0a08736572766963ff0e', 'hex'))]
  const groups = [[bytesField(1, bad), bytesField(1, good), bytesField(2, span)], [bytesField(2, span)]]
  const body = raw(...groups.map((parts) => bytesField(1, raw(...parts))))
  const { made, rejected } = recordsOf('traces', readProtobuf(body, TRACES), 'keep')
  assert.deepEqual([made.length, rejected], [1, 1])
})

test('an error type is recorded in clear only if it is a class name or a code', () => {
  const types = {
    clear: [
      'TypeError',
      'java.net.SocketException',
      '*net.OpError',
      'core::fmt::Error',
      'List<T>',
      '500',
      404,
    ],
    digest: ['no such user: ada@example.com', 'a\nb', '', 'x'.repeat(257), ['Ada'], { name: 'Ada' }],
  }
  for (const name of ['error.type', 'exception.type']) {
    for (const type of types.clear)
      assert.deepEqual({ ...contentOf({ [name]: type }, 'digest').attributes }, { [name]: type })
    for (const type of types.digest) assert.equal(contentOf({ [name]: type }, 'digest').attributes, undefined)
  }
})

test('textOfBytes is reversible, so that different bytes give different texts', () => {
  const lone = /[\ud800-\udfff]/u
  const pieces = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 3 }).map((text) => Buffer.from(text)),
    ),
  )
  fc.assert(
    fc.property(pieces, (parts) => {
      const given = Buffer.concat(parts)
      const text = textOfBytes(given)
      const back = [...text].map((char) =>
        lone.test(char) ? Buffer.from([char.charCodeAt(0) - 0xdc00]) : Buffer.from(char),
      )
      assert.deepEqual(Buffer.concat(back), given)
    }),
  )
  assert.equal(
    textOfBytes(Buffer.from('c080eda0bdf48fbfbff4908080', 'hex')),
    '\udcc0\udc80\udced\udca0\udcbd\u{10ffff}\udcf4\udc90\udc80\udc80',
  )
})
