import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import { formatId, type Uuid } from '../../src/proof/ids.ts'
import { type BatchRequestItem, buildBatch } from '../../src/records/write/build-batch.ts'
import { fingerprint } from '../../src/records/write/idempotency.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { toHex } from '../../src/signing/text-of-bytes.ts'
import { samplesOfItem } from '../helpers/every-member.ts'
import { runs } from '../helpers/runs.ts'

const entropy = makeEntropy()
const newId = () => entropy.uuidv7(Date.now())
const agents = [newId(), newId()].map((id) => formatId('agt', id))
const parents = [newId(), newId()].map((id) => formatId('rec', id))
const actor = newId()
const about = {
  actor,
  subjectSalt: new Uint8Array(32),
  traceparent: null,
  request: { method: 'POST', path: '/v1/records/batch' },
}

const json = fc.jsonValue({ maxDepth: 2 })
const object = fc.dictionary(fc.string({ maxLength: 8 }), json, { maxKeys: 4 })
const samples = samplesOfItem({ agents: [agents[0]!, agents[1]!], records: [parents[0]!, parents[1]!] })
// Salts are left out: an agent's signature has a new salt each time, but the request stays the same.
const { salt: _, ...others } = samples
const members = {
  ...mapValues(others, (values) => fc.constantFrom(...(values as readonly unknown[]))),
  type: fc.constantFrom('generic/1', 'order/1', 'note/12'),
  payload: object,
  metadata: object,
  occurredAt: fc.constantFrom('2026-11-20T12:00:00Z', '1969-12-31T23:59:59.999Z'),
  onBehalfOf: fc.constantFrom(...agents),
  parent: fc.oneof(fc.constantFrom(...parents), fc.constant(0)),
  references: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 3 }),
  subject: fc.string({ minLength: 1, maxLength: 8 }),
}
function mapValues<T>(
  of: Readonly<Record<string, readonly unknown[]>>,
  made: (values: readonly unknown[]) => T,
) {
  return Object.fromEntries(Object.entries(of).map(([name, values]) => [name, made(values)]))
}
const item = fc.record(members, { requiredKeys: ['type', 'payload'] })
// The first item cannot have an earlier item as its parent.
const batch = fc
  .array(item, { minLength: 1, maxLength: 140 })
  .map(([first, ...items]) => [
    { ...first!, ...(first!.parent === 0 && { parent: parents[0]! }) },
    ...items,
  ]) as fc.Arbitrary<BatchRequestItem[]>

test('every item of a batch is in a chunk, and the request hash covers the whole request', () => {
  fc.assert(
    fc.property(batch, (items) => {
      const built = buildBatch(entropy, items, about)
      assert.equal(built.count, items.length)
      const whole = fingerprint(entropy, 'key', { ...about.request, body: { records: items } })
      assert.deepEqual(built.requestHash, whole!.requestHash)
      const records = built.chunks.flatMap(({ content, count }) => decodeChunk(content, count))
      assert.deepEqual(
        records.map(({ type, document }) => [
          type,
          JSON.parse(String(document.erasedSeq ?? Buffer.from(document.payload as Uint8Array))),
        ]),
        items.map(({ type, payload }) => [type, JSON.parse(JSON.stringify(payload))]),
      )
      const answer = JSON.parse(`[${built.answer}]`) as { id: string }[]
      const [first] = built.chunks
      assert.equal(answer[0]!.id, formatId('rec', first!.firstRecordId))
      assert.equal(new Set(answer.map(({ id }) => id)).size, items.length)
      assert.deepEqual(
        built.types.map(({ name }) => name),
        [...new Set(items.map(({ type }) => type))],
      )
      assert.deepEqual(
        built.payloads.map(({ index }) => index),
        [...items.keys()].filter((i) => items[i]!.type !== 'generic/1'),
      )
    }),
    { numRuns: runs(100) },
  )
})

test('any additional, removed or changed member of an item changes the request hash', () => {
  const hashOf = (change: object) => {
    const item = {
      ...mapValues(others, ([first]) => first),
      ...change,
    }
    return toHex(buildBatch(entropy, [item as unknown as BatchRequestItem], about).requestHash!)
  }
  const hashes = [hashOf({})]
  for (const [name, [, second]] of Object.entries(others)) {
    hashes.push(hashOf({ [name]: second }))
    if (name !== 'type' && name !== 'payload') hashes.push(hashOf({ [name]: undefined }))
  }
  assert.equal(new Set(hashes).size, hashes.length)
})

test('the root signs every member but metadata and subject; chunks or keys contain all members', () => {
  const fixed = { uuidv7: () => actor, bytes16: () => new Uint8Array(16) } as never
  const build = (change: object) => {
    const items = [{ ...mapValues(others, ([first]) => first), ...change }] as unknown as BatchRequestItem[]
    const { root, chunks } = buildBatch(fixed, items, about)
    return {
      root: toHex(root),
      stored: JSON.stringify(chunks.map(({ content, keys }) => [toHex(content), keys.map(toHex)])),
    }
  }
  const first = build({})
  for (const [name, [, second]] of Object.entries(others)) {
    const changed = build({ [name]: second })
    assert.notEqual(changed.stored, first.stored, name)
    if (name === 'metadata' || name === 'subject') assert.equal(changed.root, first.root, name)
    else assert.notEqual(changed.root, first.root, name)
  }
})

test('without an Idempotency-Key the request hash is null', () => {
  const { requestHash } = buildBatch(entropy, [{ type: 'generic/1', payload: {} }], {
    ...about,
    request: null,
  })
  assert.equal(requestHash, null)
})

test('refuses a parent that is not an earlier item of the batch', () => {
  for (const parent of [1, 2]) {
    const items = [
      { type: 'generic/1', payload: {} },
      { type: 'generic/1', payload: {}, parent },
    ]
    assert.throws(() => buildBatch(entropy, items, about), {
      code: 'unknown_parent',
      members: { path: '/records/1/parent', index: 1 },
    })
  }
  const items = [
    { type: 'generic/1', payload: {} },
    { type: 'generic/1', payload: {}, parent: 0 },
  ]
  const { chunks } = buildBatch(entropy, items, about)
  const [first, second] = decodeChunk(chunks[0]!.content, 2)
  assert.equal(first!.parentId, null)
  assert.equal(second!.parentId, chunks[0]!.firstRecordId satisfies Uuid)
})

test('a built batch has no views of larger buffers, when sent between threads and queued', () => {
  const items = Array.from({ length: 500 }, (_, i) => ({
    type: 'generic/1',
    payload: { tool: 'search', q: `price ${i}` },
    traceparent: `00-${`${i}`.padStart(32, 'a')}-${'cd'.repeat(8)}-01`,
  }))
  const { root, requestHash, chunks } = structuredClone(buildBatch(entropy, items, about))
  const views = [root, requestHash!, ...chunks.flatMap(({ content, keys }) => [content, ...keys])]
  const bytes = views.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const buffers = [...new Set(views.map(({ buffer }) => buffer))]
  assert.equal(
    buffers.reduce((sum, { byteLength }) => sum + byteLength, 0),
    bytes,
  )
})

test('a batch with an item that verifiers would refuse is not built', () => {
  const good = { type: 'generic/1', payload: {} }
  const wrong = [
    { ...good, type: 'Generic/1' },
    { ...good, traceparent: `00-${'zz'.repeat(16)}-${'cd'.repeat(8)}-01` },
    { ...good, occurredAt: '+010000-01-01T00:00:00.000Z' },
  ]
  for (const item of wrong)
    for (const before of [[], [good, good]])
      assert.throws(() => buildBatch(entropy, [...before, item], about), { code: 'batch_item' })
})
