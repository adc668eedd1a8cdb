import assert from 'node:assert/strict'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import type { TestApp } from './app.ts'

/** Asserts that the ledger's chain verifies and that every column agrees with the entries. */
export async function assertVerifies(app: TestApp, ledger: string = app.ledger.ledger.id): Promise<void> {
  // Without a worker, no new checkpoint is published. So after a minute the ledger has late entries without a
  // checkpoint. Here this must not be a failure.
  const options = { threads: 1, lateTail: 'noticed' } as const
  const report = await verifyLedger(database(app.database.superuserUrl, ledger), options)
  assert.equal(report.failure, null)
  assert.ok(report.entries > 0)
}
