import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutReason } from '../../../src/followers/audit/faults.ts'

test('a fault’s reason is cut to 1,000 characters, and U+0000 and lone surrogates are replaced', () => {
  assert.equal(cutReason('what was found'), 'what was found')
  assert.equal(cutReason('a\0b'), 'a\ufffdb')
  assert.equal(cutReason('x'.repeat(5_000)).length, 1_000)
  const cut = cutReason(`${'x'.repeat(999)}\u{1f600}`)
  assert.equal(cut, `${'x'.repeat(999)}\ufffd`)
})
