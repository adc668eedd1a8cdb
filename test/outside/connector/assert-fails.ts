import assert from 'node:assert/strict'
import { OutboundError, type OutboundErrorCode } from '../../../src/outside/connector/error.ts'

/** Asserts that the post fails with the code, and that the error contains no address and nothing that a peer sent. */
export async function assertFails(
  post: Promise<unknown>,
  code: OutboundErrorCode,
  what?: string,
): Promise<void> {
  await assert.rejects(post, (error) => {
    assert.ok(error instanceof OutboundError, what)
    assert.equal(error.code, code, what)
    assert.doesNotMatch(error.message, /\d+\.\d+\.\d+\.\d+|::|SSH|HTTP\/\d\.\d \d/, what)
    assert.equal(error.cause, undefined)
    return true
  })
}
