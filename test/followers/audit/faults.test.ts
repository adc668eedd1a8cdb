import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutReason } from '../../../src/followers/audit/faults.ts'

test('a reason that quotes an attacker is cut, and is text that Postgres takes', () => {
  assert.equal(cutReason('what was found'), 'what was found')
  assert.equal(cutReason('a\0b'), 'a\ufffdb')
  assert.equal(cutReason('x'.repeat(5_000)).length, 1_000)
  const cut = cutReason(`${'x'.repeat(999)}\u{1f600}`)
  assert.equal(cut, `${'x'.repeat(999)}\ufffd`)
})
