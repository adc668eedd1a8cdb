import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { toHex } from '../../../src/proof/bytes.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../../src/proof/json/json-value.ts'
import {
  type BatchItem,
  batchRoot,
  itemBytes,
  itemLeaf,
  parseBatchItem,
  verifyBatchItem,
} from '../../../src/proof/statement/batch.ts'
import { inclusionPath, leafHash } from '../../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { refuses } from '../refuses.ts'

const { sha256 } = nativeProviders
const ITEM: BatchItem = {
  record: 'rec_01jegv5gyme0a8000000000001',
  type: 'generic/1',
  digest: 'ab'.repeat(32),
}
const FULL: BatchItem = {
  ...ITEM,
  onBehalfOf: 'agt_01jegv5gyme018000000000002',
  occurredAt: '2026-11-19T08:30:00.000Z',
  parent: 'rec_01jegv5gyme05800000000000a',
  references: 'cd'.repeat(32),
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
}

test('itemBytes equals the JCS of the item for any members', () => {
  const text = fc.string({ unit: 'grapheme' })
  const items = fc.record(
    {
      record: text,
      type: text,
      digest: text,
      onBehalfOf: text,
      occurredAt: text,
      parent: text,
      references: text,
      traceparent: text,
    },
    { requiredKeys: ['record', 'type', 'digest'] },
  ) as fc.Arbitrary<BatchItem>
  fc.assert(
    fc.property(items, (item) => {
      assert.equal(itemBytes(item), canonicalize(item))
    }),
  )
})

test('itemLeaf hashes an item of any length completely', () => {
  for (const text of ['', 'ü'.repeat(1_024), 'ü'.repeat(1_025), 'x'.repeat(5_000)])
    assert.deepEqual(itemLeaf(sha256, text), leafHash(sha256, Buffer.from(text)))
})

test('accepts an item with and without its optional members', () => {
  assert.deepEqual(parseBatchItem(ITEM), ITEM)
  assert.deepEqual(parseBatchItem(FULL), FULL)
})

describe('an item is refused if changed after hashing', () => {
  const leaves = [ITEM, FULL, ITEM].map((item) => itemLeaf(sha256, itemBytes(item)))
  const root = toHex(batchRoot(sha256, leaves))
  const path = inclusionPath(sha256, leaves, 1)

  test('the unchanged item is accepted', () => {
    assert.deepEqual(verifyBatchItem(sha256, FULL, 1, 3, path, root), FULL)
  })

  for (const [what, change] of Object.entries({
    'an unknown member': { extra: 1 },
    'a type that holds another member': { type: 'generic/1","x":"1' },
    'a digest in upper case': { digest: 'AB'.repeat(32) },
    'an agent that is none': { onBehalfOf: 'system' },
    'a time without milliseconds': { occurredAt: '2026-11-19T08:30:00Z' },
    'a trace id that is none': { traceparent: 'x' },
    'a parent that is a place': { parent: 0 },
    'a parent that is no record': { parent: 'agt_01jegv5gyme018000000000002' },
    'references as a list': { references: ['jira:OPS-7'] },
  })) {
    test(what, () =>
      refuses('batch_item', () => verifyBatchItem(sha256, { ...FULL, ...change }, 1, 3, path, root)),
    )
  }

  test('a missing member, with batch_item', () => {
    const { digest: _, ...item } = FULL
    refuses('batch_item', () => verifyBatchItem(sha256, item, 1, 3, path, root))
    refuses('batch_item', () => parseBatchItem([] as JsonValue))
  })

  test('another record id, with merkle_path', () => {
    const item = { ...FULL, record: 'rec_01jegv5gyme0a8000000000002' }
    refuses('merkle_path', () => verifyBatchItem(sha256, item, 1, 3, path, root))
  })

  test('an index beyond the signed count, with merkle_range', () => {
    refuses('merkle_range', () => verifyBatchItem(sha256, FULL, 3, 3, path, root))
  })

  test('an id of another index, even if signed, with batch_item', () => {
    const moved = inclusionPath(sha256, leaves, 2)
    const [at, count] = [2, 3]
    refuses('batch_item', () => verifyBatchItem(sha256, ITEM, at, count, moved, root))
  })
})
