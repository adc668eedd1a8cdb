import assert from 'node:assert/strict'
import { test } from 'node:test'
import { excerptOf } from '../../../src/outside/connector/excerpt.ts'

test('drops an incomplete character at the end, and joins characters split between chunks', () => {
  assert.equal(excerptOf([Buffer.from('aé').subarray(0, 2), Buffer.from('aé').subarray(2)]), 'aé')
  assert.equal(excerptOf([Buffer.from('cé').subarray(0, 2)]), 'c')
  assert.equal(excerptOf([]), '')
})

test('an excerpt is one line without control or bidi characters, storable by Postgres', () => {
  assert.equal(excerptOf([Buffer.from('a\0b\r\nc\u001b[2Jd\u202ee\u2028f\u0085g')]), 'a b c [2Jd e f g')
  assert.equal(excerptOf([Buffer.from([0x61, 0xff, 0xed, 0xa0, 0x80, 0x62])]), 'a\ufffd\ufffd\ufffd\ufffdb')
})
