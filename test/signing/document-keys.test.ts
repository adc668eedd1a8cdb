import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { DocumentKeys, documentPosition, KEY_TREE_DEPTH } from '../../src/signing/document-keys.ts'

const places = [0, 1, 2, 4_095, 4_096, 4_097, 70_000, 2 ** KEY_TREE_DEPTH - 1]

test('each position has a key of its own, in whatever order keys are computed', () => {
  const secret = randomBytes(32)
  const inOrder = DocumentKeys.of(secret)
  const keys = places.map((place) => Buffer.from(inOrder.find(place)!).toString('hex'))
  assert.equal(new Set(keys).size, places.length)
  const backwards = DocumentKeys.of(secret)
  const again = places.toReversed().map((place) => Buffer.from(backwards.find(place)!).toString('hex'))
  assert.deepEqual(again.toReversed(), keys)
})

test('a key that was destroyed cannot be computed any more, and all others can', () => {
  const secret = randomBytes(32)
  const before = DocumentKeys.of(secret)
  const keys = DocumentKeys.of(secret)
  for (const gone of [4_096, 0, 4_097]) assert.equal(keys.destroy(gone), true)
  assert.equal(keys.destroy(0), false)
  const left = DocumentKeys.unpack(keys.pack())
  for (const place of [...places, 4_098, 8_192])
    assert.deepEqual(
      left.find(place),
      [0, 4_096, 4_097].includes(place) ? null : before.find(place),
      String(place),
    )
})

test('packed keys contain neither a destroyed key nor the root secret', () => {
  const secret = randomBytes(32)
  const [whole, keys] = [DocumentKeys.of(secret), DocumentKeys.of(secret)]
  const key = Buffer.from(whole.find(5)!)
  keys.destroy(5)
  const packed = keys.pack()
  assert.equal(packed.length, KEY_TREE_DEPTH * 37)
  assert.equal(packed.includes(key), false)
  assert.equal(packed.includes(secret), false)
})

test('adopt restores a destroyed key from other keys, and no other destroyed key', () => {
  const secret = randomBytes(32)
  const [whole, keys] = [DocumentKeys.of(secret), DocumentKeys.of(secret)]
  for (const gone of [4, 5, 6]) keys.destroy(gone)
  assert.equal(keys.adopt(5, undefined), false)
  assert.equal(keys.adopt(5, whole), true)
  assert.equal(keys.adopt(7, undefined), true)
  const left = DocumentKeys.unpack(keys.pack())
  for (const place of [3, 4, 5, 6, 7])
    assert.deepEqual(left.find(place), place === 4 || place === 6 ? null : whole.find(place), String(place))
  keys.destroy(5)
  assert.equal(keys.adopt(5, left) && keys.destroy(5) && keys.adopt(5, keys), false)
})

test('malformed secrets, and positions outside a piece, throw RangeError', () => {
  assert.throws(() => DocumentKeys.unpack(randomBytes(36)), RangeError)
  assert.throws(
    () =>
      DocumentKeys.unpack(
        Buffer.concat([
          Buffer.of(24, 0, 0, 0, 1),
          randomBytes(32),
          Buffer.of(25, 0, 0, 0, 0),
          randomBytes(32),
        ]),
      ),
    RangeError,
  )
  assert.throws(() => documentPosition(4_096, 0), RangeError)
  assert.throws(() => documentPosition(0, 4_096), RangeError)
})
