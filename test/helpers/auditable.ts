import assert from 'node:assert/strict'
import type { ArchiveContent } from '../../src/db/connect/archive.ts'
import { verifyInThread } from '../../src/followers/audit/verify-in-thread.ts'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import type { TestApp } from './app.ts'
import { testDatabase } from './connect.ts'

/**
 * Asserts that the ledger verifies with its archive, directly and in an audit's thread. Also asserts that an audit
 * without the archive is rejected.
 */
export async function requireAuditable(app: TestApp, content: ArchiveContent): Promise<void> {
  const url = app.database.workerUrl
  const ledger = app.ledger.ledger.id
  const report = await verifyLedger(database(testDatabase(url, content), ledger), { threads: 1 })
  assert.equal(report.failure, null)
  const task = { url, options: { caFile: null, password: null }, ledger, checkpoints: [] }
  const audit = (from: ArchiveContent | null) =>
    verifyInThread(task, () => {}, new AbortController().signal, from)
  assert.equal((await audit(content))!.failure, null)
  await assert.rejects(audit(null), /is in the archive/)
}
