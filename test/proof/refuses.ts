import assert from 'node:assert/strict'
import { ProofError, type ProofErrorCode } from '../../src/proof/error.ts'

export function refuses(code: ProofErrorCode | RegExp, act: () => unknown): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof ProofError, `${error}`)
    if (typeof code === 'string') assert.equal(error.code, code, error.message)
    else assert.match(error.code, code)
    return true
  })
}
