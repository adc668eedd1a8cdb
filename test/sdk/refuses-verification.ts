import assert from 'node:assert/strict'
import { VerificationError, type VerificationErrorCode } from '../../sdk/verify/index.ts'

export async function refusesVerification(
  code: VerificationErrorCode,
  work: () => Promise<unknown>,
  seq: number | null = null,
): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof VerificationError, `${error}`)
    assert.deepEqual([error.code, error.seq], [code, seq], error.message)
    assert.ok(!error.retryable)
    return true
  })
}
