import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProofError } from '../../src/proof/error.ts'

test('a ProofError has a code and a detail, and its text has both', () => {
  const error = new ProofError('bad_id', 'x')
  assert.equal(error.code, 'bad_id')
  assert.equal(error.detail, 'x')
  assert.equal(`${error}`, 'ProofError: bad_id: x')
  assert.ok(error instanceof Error)
})
