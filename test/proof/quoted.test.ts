import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasHidden, quoted } from '../../src/proof/quoted.ts'
import { runs } from '../helpers/runs.ts'

test('quoted writes any text as one line of JSON without hidden characters', () => {
  assert.equal(quoted('a "b" \u202e\u2028\u0085'), '"a \\"b\\" \\u202e\\u2028\\u0085"')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const line = quoted(text)
      assert.equal(JSON.parse(line), text)
      assert.ok(!hasHidden(line))
      // The first unescaped quote must be the last character.
      assert.match(line, /^"(?:[^"\\]|\\.)*"$/)
    }),
    { numRuns: runs(1_000) },
  )
})
