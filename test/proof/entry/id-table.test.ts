import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IdTable, wordAt } from '../../../src/proof/entry/id-table.ts'

test('finds exactly the added ids, like a Map', () => {
  const id = fc.uint8Array({ minLength: 16, maxLength: 16 })
  const entry = fc.tuple(id, fc.nat(), fc.nat())
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), id, fc.nat(), (entries, stranger, seed) => {
      const table = new IdTable(seed)
      const map = new Map<string, { seq: number; tag: number }>()
      for (const [bytes, seq, tag] of entries) {
        assert.equal(table.add(bytes, 0, seq, tag), !map.has(`${bytes}`))
        if (!map.has(`${bytes}`)) map.set(`${bytes}`, { seq, tag })
      }
      for (const [bytes] of entries) assert.deepEqual(table.get(bytes), map.get(`${bytes}`))
      assert.deepEqual(table.get(stranger), map.get(`${stranger}`) ?? null)
    }),
  )
})

test('grows, and adds ids from a longer array, even if they differ in one bit', () => {
  const count = 20_000
  const ids = new Uint8Array(16 * count)
  for (let i = 0; i < count; i++)
    new DataView(ids.buffer).setUint32(16 * i + 4 * (i % 4), i * 4 + (i % 4) + 1)
  const table = new IdTable(7)
  for (let i = 0; i < count; i++) assert.ok(table.add(ids, 16 * i, i, wordAt(ids, 16 * i)))
  for (let i = 0; i < count; i++) {
    assert.deepEqual(table.get(ids, 16 * i), { seq: i, tag: wordAt(ids, 16 * i) })
    assert.ok(!table.add(ids, 16 * i, 0, 0))
  }
  assert.equal(table.size, count)
})

test('finds ids that collide in one slot', () => {
  const table = new IdTable()
  const ids = Array.from({ length: 700 }, (_, i) => Uint8Array.of(...new Uint8Array(14), i >> 8, i))
  for (const [i, id] of ids.entries()) assert.ok(table.add(id, 0, i, i))
  for (const [i, id] of ids.entries()) assert.equal(table.get(id)?.seq, i)
})
