import { join } from 'node:path'
import type pg from 'pg'
import { readFindKey } from '../../src/db/chain/signed-entries.ts'
import type { ArchiveContent } from '../../src/db/connect/archive.ts'
import { openReadPool } from '../../src/db/connect/pools.ts'
import { listPendingErasures } from '../../src/db/records/pending-erasures.ts'
import { type ReleaseDeps, releaseContent } from '../../src/followers/archive/release-content.ts'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import { eraseAll } from '../../src/followers/erasure/carry-out.ts'
import { openArchivedContent } from '../../src/run/archived-content.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { directoryStore } from '../../src/verify/archive/directory-store.ts'
import { buildTestApp, type Test, type TestApp } from './app.ts'
import { openArchiver } from './archiver.ts'
import { testDatabase } from './connect.ts'
import { TEST_MASTER_KEY } from './database.ts'
import { temporaryFiles } from './temporary-files.ts'

type Logged = { readonly level: 'info' | 'error'; readonly err?: Error; readonly chunks?: number }

/**
 * Builds an application that reads the archive. Also returns the worker's functions that archive its ledger's content
 * and release it from Postgres.
 */
export async function buildReleasedApp(t: Test) {
  const root = temporaryFiles({ after: (cleanup) => t.after(async () => cleanup()) }).directory
  const app = await buildTestApp(t, { environment: { TALLYSTICK_ARCHIVE: `file://${root}` } })
  return { app, ...(await openReleased(t, app, root)) }
}

/** Works like `buildReleasedApp`, for an existing application. `root`: directory of its archives. */
export async function openReleased(t: Test, app: TestApp, root: string) {
  const stores = { of: (ledger: string) => directoryStore(join(root, ledger)), close() {} }
  const archiver = await openArchiver(t, app, stores)
  const masterKey = makeMasterKey(TEST_MASTER_KEY)
  const openContent = () => openArchivedContent(masterKey, { stores })
  const pool = openReadPool(testDatabase(app.database.workerUrl, openContent()), { warn() {} })
  t.after(() => pool.end())
  const logged: Logged[] = []
  const deps: ReleaseDeps = {
    pool,
    retentionDays: 0,
    openContent,
    unreleased: new PausedLedgers(Date.now),
    stopping: new AbortController().signal,
    log: {
      info: (details) => void logged.push({ level: 'info', ...details }),
      error: (details) => void logged.push({ level: 'error', ...details }),
    },
  }
  const directory = join(root, app.ledger.ledger.id)
  return {
    ...{ archiver, deps, logged, pool, directory, masterKey, stores },
    /** Sets the verified size to the ledger's size, as if the audit follower had verified all entries. */
    async raiseFloor() {
      await app.sql(
        `insert into tallystick.audit_cursors select ledger_id, size, chain, envelope_kid, chain, chain from tallystick.chain_heads
         on conflict (ledger_id) do update set next_seq = excluded.next_seq, chain = excluded.chain`,
      )
    },
    async release() {
      while (await releaseContent(deps)) {}
    },
    /** Archives everything, and releases all content that Postgres may release. */
    async leave() {
      await archiver.run()
      await this.raiseFloor()
      await this.release()
    },
    async chunks() {
      const [row] = await app.sql<{ here: number; left: number }>(
        `select count(content)::int as here, (count(*) - count(content))::int as left from tallystick.batch_chunks`,
      )
      return [row!.here, row!.left]
    },
    async leftEnvelopes() {
      const rows = await app.sql<{ kind: string; left: number }>(
        `select kind, count(*)::int as left from tallystick.entries where envelope is null group by kind order by kind`,
      )
      return Object.fromEntries(rows.map(({ kind, left }) => [kind, left]))
    },
    /** Carries out pending erasures like a worker that reads the archive. */
    async eraseAll(worker: pg.Pool) {
      const pending = await listPendingErasures(worker, null, 100)
      await eraseAll({ pool: worker, masterKey }, pending, await readFindKey(worker))
    },
    openPool(released: ArchiveContent | null) {
      const opened = openReadPool(testDatabase(app.database.workerUrl, released), { warn() {} })
      t.after(() => opened.end())
      return opened
    },
  }
}
