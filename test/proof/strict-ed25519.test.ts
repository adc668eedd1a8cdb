import assert from 'node:assert/strict'
import { test } from 'node:test'
import { concat, fromHex } from '../../src/proof/bytes.ts'
import { isStrictEd25519 } from '../../src/proof/ed25519-points.ts'
import { SMALL_ORDER_POINTS } from './ed25519-edge-cases.ts'

const POINT = fromHex(`02${'00'.repeat(31)}`)
const WEAK = fromHex(SMALL_ORDER_POINTS[0]![1])
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const scalar = (value: bigint) => fromHex(value.toString(16).padStart(64, '0')).reverse()
const isStrict = (s: bigint, { key = POINT, r = POINT } = {}) => isStrictEd25519(key, concat([r, scalar(s)]))

test('accepts every S below the group order, and no S from the order on', () => {
  for (const s of [0n, 1n, 2n ** 252n, ORDER - 256n, ORDER - 1n]) assert.ok(isStrict(s), `${s}`)
  for (const s of [ORDER, ORDER + 1n, ORDER + 256n, 2n ** 253n, 2n ** 256n - 1n])
    assert.ok(!isStrict(s), `${s}`)
})

test('refuses weak points as key and as R, and a signature that is not 64 bytes long', () => {
  assert.ok(!isStrict(1n, { key: WEAK }))
  assert.ok(!isStrict(1n, { r: WEAK }))
  for (const bytes of [0, 32, 63, 65]) assert.ok(!isStrictEd25519(POINT, new Uint8Array(bytes).fill(2)))
})
