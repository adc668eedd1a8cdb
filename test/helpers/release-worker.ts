/*
 * Process that releases content from Postgres like the worker, until it is killed or has finished. Usage:
 * `release-worker.ts WORKER_URL ARCHIVE`, with the URL of the worker's login and the archive's directory.
 */
import { join } from 'node:path'
import { openReadPool } from '../../src/db/connect/pools.ts'
import { releaseContent } from '../../src/followers/archive/release-content.ts'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import { openArchivedContent } from '../../src/run/archived-content.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { directoryStore } from '../../src/verify/archive/directory-store.ts'
import { testDatabase } from './connect.ts'
import { TEST_MASTER_KEY } from './database.ts'

const [url, archive] = process.argv.slice(2) as [string, string]
const stores = { of: (ledger: string) => directoryStore(join(archive, ledger)), close() {} }
const openContent = () => openArchivedContent(makeMasterKey(TEST_MASTER_KEY), { stores })
const pool = openReadPool(testDatabase(url, openContent()), { warn() {} })
const deps = {
  ...{ pool, retentionDays: 0, openContent },
  unreleased: new PausedLedgers(Date.now),
  stopping: new AbortController().signal,
  log: { info() {}, error: (details: object) => void console.error(details) },
}
while (await releaseContent(deps)) {}
await pool.end()
