import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { TypeRegistry } from '../../src/ledgers/types/type-registry.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const ORDER = {
  name: 'order',
  version: 1,
  payloadSchema: {
    type: 'object',
    properties: {
      sku: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' },
      quantity: { type: 'integer', minimum: 1 },
    },
    required: ['sku', 'quantity'],
    additionalProperties: false,
  },
}
const GOOD = { sku: 'ABC-1234', quantity: 2 }

const GATED = {
  name: 'delivery',
  version: 3,
  payloadSchema: { type: 'object', properties: { quantity: { type: 'number' } } },
  evidenceSchema: { type: 'object', required: ['quantity'] },
  rules: [
    {
      id: 'quantity',
      op: 'within',
      expected: '/quantity',
      actual: '/quantity',
      tolerance: { percent: '5' },
      overridable: { percentMax: '10' },
    },
  ],
}

async function register(app: TestApp, body: object, status = 201, headers: Record<string, string> = {}) {
  return expectStatus(status, await app.send('POST', '/v1/types', { body, headers })).json()
}

test('registers a type, signs the digest of its definition, and shows the definition unchanged', async () => {
  const app = await sharedApp()
  const type = await register(app, ORDER)
  assert.deepEqual(type.definition, ORDER)
  assert.equal(type.type, 'order/1')
  assert.equal(type.gated, false)
  assert.equal(type.digest, createHash('sha256').update(canonicalize(ORDER)).digest('hex'))
  const entry = (await app.entries()).at(-1)
  assert.deepEqual(type.entry, {
    seq: entry.seq,
    kind: 'type-registered',
    leaf: entry.leaf,
    chain: entry.chain,
  })
  assert.equal(entry.recordedAt, type.registeredAt)
  const shown = await app.send('GET', '/v1/types/order/1')
  assert.deepEqual(expectStatus(200, shown).json(), type)
  await assertVerified(app)
})

test('the same definition again returns the existing type; another definition is refused', async () => {
  const app = await sharedApp()
  const type = await register(app, ORDER)
  const before = await app.written()
  const sameText = { version: 1, payloadSchema: ORDER.payloadSchema, name: 'order' }
  assert.deepEqual(await register(app, sameText, 200), type)
  assert.deepEqual(await register(app, ORDER, 200, { 'idempotency-key': 'another' }), type)
  const other = { ...ORDER, payloadSchema: true }
  assertProblem(await app.send('POST', '/v1/types', { body: other }), 409, 'type_exists')
  assert.deepEqual(await app.written(), before)
  await register(app, { ...other, version: 7 })
})

test('concurrent registrations of a type create one entry; other definitions are answered 409', async () => {
  const app = await sharedApp()
  const bodies = [ORDER, { ...ORDER, payloadSchema: { type: 'object' } }]
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => app.send('POST', '/v1/types', { body: bodies[i % 2] })),
  )
  const statuses = answers.map((answer) => answer.statusCode).sort()
  assert.deepEqual(statuses, [...Array(5).fill(200), 201, ...Array(6).fill(409)])
  const made = answers.filter((answer) => answer.statusCode < 300).map((answer) => answer.json())
  for (const type of made) assert.deepEqual(type, made[0])
  await assertVerified(app)
})

test('a retry with the same Idempotency-Key is answered with the first outcome', async () => {
  const app = await sharedApp()
  const headers = { 'idempotency-key': 'one' }
  const first = await app.send('POST', '/v1/types', { body: ORDER, headers })
  const second = await app.send('POST', '/v1/types', { body: ORDER, headers })
  assert.equal(expectStatus(201, second).body, first.body)
  assert.equal(second.headers['idempotency-replayed'], 'true')
  const reused = await app.send('POST', '/v1/types', { body: { ...ORDER, version: 2 }, headers })
  assertProblem(reused, 422, 'idempotency_key_reused')
})

test('refuses names of built-in types in every version with 409 type_exists', async () => {
  const app = await sharedApp()
  for (const [name, version] of [
    ['generic', 1],
    ['generic', 2],
    ['task', 1],
    ['task', 9],
    ['agent-action', 2],
    ['otel-log', 1],
  ] as const) {
    const body = { name, version, payloadSchema: { type: 'object' } }
    assertProblem(await app.send('POST', '/v1/types', { body }), 409, 'type_exists')
  }
  for (const name of ['generic', 'task', 'approval', 'mcp-call']) {
    const type = expectStatus(200, await app.send('GET', `/v1/types/${name}/1`)).json()
    assert.equal(type.registeredAt, null)
    assert.equal(type.entry, null)
    assert.equal(type.digest, createHash('sha256').update(canonicalize(type.definition)).digest('hex'))
  }
})

test('validates actions, approvals and outcomes by the built-in types, alone and in a batch', async () => {
  const app = await sharedApp()
  const digest = { sha256: 'ab'.repeat(32), of: 'jcs', length: 9 }
  const action = { kind: 'tool', name: 'refund', callId: 'c1', argumentsDigest: digest, told: 'held' }
  const items = [
    { type: 'agent-action/1', payload: action },
    { type: 'approval/1', payload: { decision: 'deny', by: { kind: 'policy', id: 'p1' }, why: 'too much' } },
    { type: 'agent-outcome/1', payload: { status: 'denied', result: [null, 1], durationMs: 0.5 } },
    { type: 'mcp-call/1', payload: { method: 'resources/read', status: 'ok', told: 'after' } },
    { type: 'otel-span/1', payload: spanPayload({ digests: { a: digest } }) },
    { type: 'otel-log/1', payload: { told: 'after', body: 'said' } },
  ]
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records: items } }))
  for (const body of items) expectStatus(201, await app.send('POST', '/v1/records', { body }))
  const before = await app.written()
  for (const [type, payload, path] of [
    ['agent-action/1', { name: 'refund' }, ''],
    ['agent-action/1', { ...action, argumentsDigest: { sha256: 'AB' } }, '/argumentsDigest'],
    ['agent-action/1', { ...action, tool: 'refund' }, '/tool'],
    ['agent-outcome/1', { status: 'fine' }, '/status'],
    ['approval/1', { decision: 'deny', by: { kind: 'policy' }, why: 'x'.repeat(4_097) }, '/why'],
    ['mcp-call/1', { method: 'resources/read', status: 'ok', told: 'before' }, '/told'],
    ['otel-span/1', spanPayload({ traceId: 'ab' }), '/traceId'],
    ['otel-log/1', { told: 'after', digests: { a: 'ab' } }, '/digests/a'],
  ] as const) {
    const item = { type, payload }
    const one = await app.send('POST', '/v1/records', { body: item })
    assert.equal(assertProblem(one, 422, 'payload_invalid')['path'], path)
    const records = [{ type: 'generic/1', payload: {} }, item]
    const batch = await app.send('POST', '/v1/records/batch', { body: { records } })
    const { path: place, index } = assertProblem(batch, 422, 'payload_invalid')
    assert.deepEqual([place, index], [path, 1])
  }
  assert.deepEqual(await app.written(), before)

  function spanPayload(more: object) {
    return { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), name: 'execute_tool', told: 'after', ...more }
  }
})

test('refuses an invalid definition, with the path of the fault', async () => {
  const app = await sharedApp()
  const before = await app.written()
  for (const [change, path] of [
    [{ payloadSchema: { type: 'strnig' } }, '/payloadSchema/type'],
    [{ payloadSchema: { properties: { a: { pattern: '(?=a)' } } } }, '/payloadSchema/properties/a/pattern'],
    [{ payloadSchema: { $ref: 'https://elsewhere.example/s' } }, '/payloadSchema/$ref'],
    [{ evidenceSchema: { minimum: '1' } }, '/evidenceSchema/minimum'],
    [{ rules: [] }, '/rules'],
    [
      { evidenceSchema: true, rules: [{ ...GATED.rules[0], tolerance: { percent: 5 } }] },
      '/rules/0/tolerance/percent',
    ],
    [{ payloadSchema: { title: 'x'.repeat(65_536) } }, ''],
  ] as const) {
    const response = await app.send('POST', '/v1/types', { body: { ...ORDER, ...change } })
    assert.equal(assertProblem(response, 422, 'invalid_schema')['path'], path)
  }
  for (const change of [
    { name: 'Order' },
    { version: 0 },
    { version: 1.5 },
    { payloadSchema: null },
    { more: 1 },
  ]) {
    const response = await app.send('POST', '/v1/types', { body: { ...ORDER, ...change } })
    assertProblem(response, 422, 'invalid_request')
  }
  assert.deepEqual(await app.written(), before)
})

test('lists registered and built-in types by name, in pages', async () => {
  const app = await sharedApp()
  for (const [name, version] of [
    ['order', 1],
    ['order', 2],
    ['order', 10],
    ['orders', 1],
    ['a', 1],
    ['zz.top', 1],
  ])
    await register(app, { name, version, payloadSchema: true })
  await register(app, GATED)
  const expected = [
    'a/1',
    'agent-action/1',
    'agent-outcome/1',
    'approval/1',
    'delivery/3',
    'generic/1',
    'mcp-call/1',
    'order/1',
    'order/10',
    'order/2',
    'orders/1',
    'otel-log/1',
    'otel-span/1',
    'task/1',
    'zz.top/1',
  ]
  for (const limit of [1, 2, 3, 50]) {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { data: { type: string }[]; nextCursor: string | null } = (
        await app.send('GET', `/v1/types?limit=${limit}${cursor && `&cursor=${cursor}`}`)
      ).json()
      assert.ok(page.data.length <= limit)
      seen.push(...page.data.map((type: { type: string }) => type.type))
      cursor = page.nextCursor
    }
    assert.deepEqual(seen, expected)
  }
  const names = async (query: string) =>
    (await app.send('GET', `/v1/types?${query}`)).json().data.map((type: { type: string }) => type.type)
  assert.deepEqual(await names('name=order'), ['order/1', 'order/10', 'order/2'])
  assert.deepEqual(await names('name=task'), ['task/1'])
  assert.deepEqual(await names('name=nothing'), [])
  const { nextCursor } = (await app.send('GET', '/v1/types?name=order&limit=1')).json()
  for (const query of [`name=orders&cursor=${nextCursor}`, `cursor=${nextCursor}`, 'cursor=e30'])
    assertProblem(await app.send('GET', `/v1/types?${query}`), 422, 'invalid_request')
})

test('accepts a record of a registered type only if its payload is valid', async () => {
  const app = await sharedApp()
  await register(app, ORDER)
  const record = await app.notarize({ type: 'order/1', payload: GOOD })
  assert.equal(record.type, 'order/1')
  const before = await app.written()
  for (const [payload, path, message] of [
    [{ ...GOOD, quantity: 0 }, '/quantity', 'must be at least 1'],
    [{ ...GOOD, sku: 'a secret' }, '/sku', 'must match the pattern of the type'],
    [{ sku: 'ABC-1234' }, '', 'must have the member "quantity"'],
    [{ ...GOOD, 'a/b~': 1 }, '/a~1b~0', 'is not allowed here'],
  ] as const) {
    const problem = assertProblem(
      await app.send('POST', '/v1/records', { body: { type: 'order/1', payload } }),
      422,
      'payload_invalid',
    )
    assert.equal(problem['path'], path)
    assert.equal(problem['detail'], `order/1: ${message}`)
  }
  assert.deepEqual(await app.written(), before)
  await assertVerified(app)
})

test('refuses a batch with an invalid item with 422 payload_invalid, and names the item', async () => {
  const app = await sharedApp()
  await register(app, ORDER)
  const good = { type: 'order/1', payload: GOOD }
  const send = (records: object[]) => app.send('POST', '/v1/records/batch', { body: { records } })
  expectStatus(201, await send([good, { type: 'generic/1', payload: {} }, good]))
  const before = await app.written()
  const bad = assertProblem(
    await send([good, { ...good, payload: { ...GOOD, sku: 1 } }]),
    422,
    'payload_invalid',
  )
  assert.deepEqual([bad['index'], bad['path']], [1, '/sku'])
  const unknown = assertProblem(await send([good, good, { ...good, type: 'order/2' }]), 422, 'unknown_type')
  assert.deepEqual([unknown['index'], unknown['recordType']], [2, 'order/2'])
  const many = Array.from({ length: 33 }, (_, i) => ({ type: `order/${i + 1}`, payload: GOOD }))
  assertProblem(await send(many), 422, 'unknown_type')
  assert.deepEqual(await app.written(), before)
})

test('a batch has records of at most 32 registered types', async () => {
  const app = await sharedApp()
  for (let version = 1; version <= 33; version++) await register(app, { ...ORDER, version })
  const records = Array.from({ length: 33 }, (_, i) => ({ type: `order/${i + 1}`, payload: GOOD }))
  const response = await app.send('POST', '/v1/records/batch', { body: { records } })
  assert.equal(assertProblem(response, 422, 'invalid_request')['index'], 32)
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records: records.slice(0, 32) } }))
})

test('refuses to notarize gated types with not_notarizable, and unknown or foreign types with unknown_type', async () => {
  const app = await sharedApp()
  await register(app, GATED)
  const elsewhere = await app.newLedger()
  expectStatus(201, await app.send('POST', '/v1/types', { body: ORDER, key: elsewhere.key.key }))
  const before = await app.written()
  for (const [type, code] of [
    ['delivery/3', 'not_notarizable'],
    ['task/1', 'not_notarizable'],
    ['order/1', 'unknown_type'],
    ['delivery/1', 'unknown_type'],
  ] as const) {
    const record = { type, payload: GOOD }
    const response =
      code === 'not_notarizable'
        ? await app.send('POST', '/v1/records/batch', { body: { records: [record] } })
        : await app.send('POST', '/v1/records', { body: record })
    const problem = assertProblem(response, 422, code)
    assert.equal(problem['recordType'], type)
  }
  assertProblem(await app.send('GET', '/v1/types/order/1'), 404, 'not_found')
  assertProblem(await app.send('GET', '/v1/types/order/01'), 404, 'not_found')
  assert.deepEqual(await app.written(), before)
})

test('a new type is usable at once, also on a server that just looked for it', async () => {
  const app = await sharedApp()
  const body = { type: 'order/1', payload: GOOD }
  assertProblem(await app.send('POST', '/v1/records', { body }), 422, 'unknown_type')
  // A second registry, like the registry of another server.
  const other = new TypeRegistry(app.deps)
  const caller = { ledger: app.ledger.ledger.id, ledgerId: app.ledgerId }
  assert.equal(await other.find(caller, 'order/1'), null)
  await register(app, ORDER)
  assert.equal((await other.find(caller, 'order/1'))?.name, 'order/1')
  await app.notarize(body)
})

test('previews documents against registered and unregistered types, and writes nothing', async () => {
  const app = await sharedApp()
  await register(app, GATED)
  const before = await app.written()
  const preview = async (url: string, body: object) =>
    expectStatus(200, await app.send('POST', url, { body })).json()
  const valid = { valid: true, errors: [], outcome: null, rules: null }
  assert.deepEqual(await preview('/v1/types/delivery/3/preview', { payload: { quantity: 1 } }), valid)
  assert.deepEqual(await preview('/v1/types/generic/1/preview', { payload: { anything: 1 } }), valid)
  assert.deepEqual(
    await preview('/v1/types/delivery/3/preview', { payload: { quantity: '1' }, evidence: {} }),
    {
      valid: false,
      errors: [
        { path: '/payload/quantity', keyword: 'type', message: 'must be of type number' },
        { path: '/evidence', keyword: 'required', message: 'must have the member "quantity"' },
      ],
      outcome: null,
      rules: null,
    },
  )
  assert.deepEqual(await preview('/v1/types/preview', { ...ORDER, payload: GOOD }), valid)
  assert.equal((await preview('/v1/types/preview', { ...ORDER, payload: {} })).valid, false)
  const bad = await app.send('POST', '/v1/types/preview', { body: { ...ORDER, payloadSchema: { $id: 'x' } } })
  assertProblem(bad, 422, 'invalid_schema')
  assertProblem(await app.send('POST', '/v1/types/no/1/preview', { body: {} }), 404, 'not_found')
  assert.deepEqual(await app.written(), before)
})

test('a preview with payload and evidence shows the result of each rule', async () => {
  const app = await sharedApp()
  await register(app, GATED)
  const before = await app.written()
  const said = async (url: string, body: object) => {
    const { valid, outcome, rules } = expectStatus(200, await app.send('POST', url, { body })).json()
    return { valid, outcome, rules }
  }
  const documents = (expected: number, actual: number) => ({
    payload: { quantity: expected },
    evidence: { quantity: actual },
  })
  const failed = { id: 'quantity', outcome: 'fail', code: 'outside_tolerance' }
  for (const [url, definition] of [
    ['/v1/types/delivery/3/preview', {}],
    ['/v1/types/preview', GATED],
  ] as const) {
    assert.deepEqual(await said(url, { ...definition, ...documents(100, 105) }), {
      valid: true,
      outcome: 'pass',
      rules: [{ id: 'quantity', outcome: 'pass' }],
    })
    assert.deepEqual(await said(url, { ...definition, ...documents(100, 106) }), {
      valid: true,
      outcome: 'fail',
      rules: [failed],
    })
    const nothing = { outcome: null, rules: null }
    const { payload, evidence } = documents(1, 1)
    assert.deepEqual(await said(url, { ...definition, payload }), { valid: true, ...nothing })
    assert.deepEqual(await said(url, { ...definition, evidence }), { valid: true, ...nothing })
    assert.deepEqual(await said(url, { ...definition, payload, evidence: {} }), { valid: false, ...nothing })
  }
  const task = await said('/v1/types/task/1/preview', documents(1, 2))
  assert.deepEqual(task, { valid: true, outcome: 'pass', rules: [] })
  const generic = await said('/v1/types/generic/1/preview', documents(1, 2))
  assert.deepEqual(generic, { valid: true, outcome: null, rules: null })
  assert.deepEqual(await app.written(), before)
})

test('refuses a payload that exceeds the schema’s steps with 422 schema_too_costly', async () => {
  const app = await sharedApp()
  const levels = 8
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, i) => [
      `d${i}`,
      i === 0
        ? { type: 'integer' }
        : { allOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] },
    ]),
  )
  const wide = { ...ORDER, payloadSchema: { $defs, properties: { list: { items: { $ref: '#/$defs/d7' } } } } }
  await register(app, wide)
  const payload = { list: Array.from({ length: 20_000 }, () => 1) }
  const before = await app.written()
  const problem = await app.send('POST', '/v1/records', { body: { type: 'order/1', payload } })
  assertProblem(problem, 422, 'schema_too_costly')
  const records = [
    { type: 'order/1', payload: { list: [] } },
    { type: 'order/1', payload },
  ]
  const batch = await app.send('POST', '/v1/records/batch', { body: { records } })
  assert.equal(assertProblem(batch, 422, 'schema_too_costly')['index'], 1)
  assert.deepEqual(await app.written(), before)
})

test('an expensive validation runs in a thread, with the same answer as on the event loop', async () => {
  const app = await sharedApp()
  // The validation of one item evaluates five nested schemas, each of which takes four steps. A list of such items is
  // too costly for the event loop, but within the limit for a document.
  const deep = Array.from({ length: 4 }).reduce<object>((inner) => ({ allOf: [inner] }), { maximum: 9 })
  await register(app, { ...ORDER, payloadSchema: { properties: { list: { items: deep } } } })
  const inThread: string[] = []
  const run = app.deps.threads.run
  app.deps.threads.run = function (this: unknown, ...args: Parameters<typeof run>) {
    inThread.push(args[0])
    return run.apply(app.deps.threads, args)
  } as typeof run
  try {
    const payloadOf = (last: number) => ({
      list: [...Array.from({ length: 15_000 }, () => 1), last],
      pad: 'x'.repeat(30_000),
    })
    const send = (last: number) =>
      app.send('POST', '/v1/records', { body: { type: 'order/1', payload: payloadOf(last) } })
    expectStatus(201, await send(9))
    const problem = assertProblem(await send(10), 422, 'payload_invalid')
    assert.equal(problem['path'], '/list/15000')
    assert.deepEqual(
      inThread.filter((name) => name === 'validateText'),
      ['validateText', 'validateText'],
    )
    const small = { body: { type: 'order/1', payload: { list: [1] } } }
    expectStatus(201, await app.send('POST', '/v1/records', small))
    assert.equal(inThread.filter((name) => name === 'validateText').length, 2)
  } finally {
    app.deps.threads.run = run
  }
})

test('a ledger beyond its share of validation time still gets the correct answers', async () => {
  const app = await sharedApp()
  await register(app, ORDER)
  const text = 'ab'.repeat(30_000)
  const pattern = '[ab]*a[ab]{400}[^ab][^ab]'
  const costly = { ...ORDER, payloadSchema: { properties: { text: { pattern } } }, payload: { text } }
  const good = { type: 'order/1', payload: GOOD }
  const bad = { type: 'order/1', payload: {} }
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => app.send('POST', '/v1/types/preview', { body: costly })),
    app.send('POST', '/v1/records', { body: bad }),
    app.send('POST', '/v1/records/batch', { body: { records: [good, bad] } }),
    app.send('POST', '/v1/records', { body: good }),
  ])
  for (const answer of answers.slice(0, 4)) assertProblem(answer, 422, 'schema_too_costly')
  for (const answer of answers.slice(4, 6)) assertProblem(answer, 422, 'payload_invalid')
  expectStatus(201, answers[6]!)
  assert.equal((await app.entries()).filter((entry) => entry.kind.endsWith('-notarized')).length, 1)
})

test('any scope for records reads types, and only types:write registers them', async () => {
  const app = await sharedApp()
  for (const scope of ['records:read', 'records:write', 'audit:read', 'types:write'] as const) {
    const key = await addKey(app, { scopes: [scope] })
    expectStatus(200, await app.send('GET', '/v1/types', { key }))
    expectStatus(200, await app.send('POST', '/v1/types/generic/1/preview', { key, body: {} }))
    const response = await app.send('POST', '/v1/types', { key, body: ORDER })
    if (scope === 'types:write') expectStatus(201, response)
    else assertProblem(response, 403, 'forbidden')
  }
})

/** Verifies all entries and the rows made of them. */
async function assertVerified(app: TestApp): Promise<void> {
  const report = await verifyLedger(database(app.database.superuserUrl, app.ledger.ledger.id), { threads: 1 })
  assert.ok(report.ok, JSON.stringify(report.failure))
}
