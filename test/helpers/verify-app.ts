import assert from 'node:assert/strict'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import type { TestApp } from './app.ts'

/** The ledger's chain verifies, and every column says what its entries say. */
export async function assertVerifies(app: TestApp, ledger: string = app.ledger.ledger.id): Promise<void> {
  const report = await verifyLedger(database(app.database.superuserUrl, ledger), { threads: 1 })
  assert.equal(report.failure, null)
  assert.ok(report.entries > 0)
}
