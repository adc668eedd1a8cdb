import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import { formatId, type Uuid } from '../../src/proof/ids.ts'
import { type BatchRequestItem, buildBatch } from '../../src/records/build-batch.ts'
import { fingerprint } from '../../src/records/idempotency.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
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
const item = fc.record(
  {
    type: fc.constantFrom('generic/1', 'order/1', 'note/12'),
    payload: object,
    metadata: object,
    occurredAt: fc.constantFrom('2026-11-20T12:00:00Z', '1969-12-31T23:59:59.999Z'),
    onBehalfOf: fc.constantFrom(...agents),
    parent: fc.oneof(fc.constantFrom(...parents), fc.constant(0)),
    references: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 3 }),
    traceparent: fc.constant(`00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`),
  },
  { requiredKeys: ['type', 'payload'] },
)
// The first item has no earlier one.
const batch = fc
  .array(item, { minLength: 1, maxLength: 140 })
  .map(([first, ...items]): BatchRequestItem[] => [
    { ...first!, ...(first!.parent === 0 && { parent: parents[0]! }) },
    ...items,
  ])

test('a batch is built from its items: every record is in a chunk, and the hash is that of the whole request', () => {
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

test('without an Idempotency-Key no hash is made', () => {
  const { requestHash } = buildBatch(entropy, [{ type: 'generic/1', payload: {} }], {
    ...about,
    request: null,
  })
  assert.equal(requestHash, null)
})

test('the parent of an item is an earlier one', () => {
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

test('a batch takes no other memory along, between threads and in the append queue', () => {
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
