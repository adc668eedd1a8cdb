import { join } from 'node:path'
import type pg from 'pg'
import { listArchiveKeys } from '../../src/db/chain/archives.ts'
import { openReadPool } from '../../src/db/connect/pools.ts'
import { type ArchiveDeps, archiveLedgers } from '../../src/followers/archive/archive-ledgers.ts'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import { publishCheckpoints } from '../../src/followers/checkpoints/publish.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import { openArchivedContent } from '../../src/run/archived-content.ts'
import { archiveKeyContext } from '../../src/signing/archive-keys.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { archiveLedger } from '../../src/verify/archive/archive-ledger.ts'
import { directoryStore } from '../../src/verify/archive/directory-store.ts'
import { type ArchiveKeys, formatArchiveKeys, parseArchiveKeys } from '../../src/verify/archive/key-file.ts'
import type { ArchiveStores } from '../../src/verify/archive/s3-store.ts'
import type { ArchiveReader } from '../../src/verify/archive/store.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import type { Test, TestApp } from './app.ts'
import { testDatabase } from './connect.ts'
import { TEST_MASTER_KEY } from './database.ts'
import { makePublisher } from './publisher.ts'
import { temporaryFiles } from './temporary-files.ts'

type Logged = { readonly level: 'info' | 'error'; readonly err?: Error; readonly size?: number }

/**
 * Opens the worker's follower that archives, for an application with one ledger. The follower has the worker's login.
 */
export async function openArchiver(t: Test, app: TestApp, given?: ArchiveStores) {
  const root = temporaryFiles({ after: (cleanup) => t.after(async () => cleanup()) }).directory
  const masterKey = makeMasterKey(TEST_MASTER_KEY)
  const released = given ? openArchivedContent(masterKey, { stores: given }) : null
  const pool = openReadPool(testDatabase(app.database.workerUrl, released), { warn() {} })
  t.after(() => pool.end())
  const publisher = await makePublisher(pool, join(root, 'data'))
  const ledger = app.ledger.ledger.id
  const logged: Logged[] = []
  const archive = join(root, 'archive')
  const directory = join(archive, ledger)
  const deps: ArchiveDeps = {
    pool,
    masterKey,
    workerId: makeEntropy().uuidv7(Date.now()),
    stores: given ?? { of: (name) => directoryStore(join(archive, name)), close() {} },
    policy: { entries: 1, seconds: 0 },
    stopping: new AbortController().signal,
    unarchived: new PausedLedgers(Date.now),
    log: {
      info: (details) => void logged.push({ level: 'info', ...details }),
      error: (details) => void logged.push({ level: 'error', ...details }),
    },
  }
  return {
    archive,
    directory,
    deps,
    logged,
    pool,
    ledger,
    async publish() {
      await app.sql(
        `do $$ begin set local session_replication_role = replica;
         update tallystick.checkpoints set published_at = now() - interval '2 seconds'; end $$`,
      )
      while (await publishCheckpoints(publisher)) {}
    },
    async run() {
      await this.publish()
      while (await archiveLedgers(deps)) {}
    },
    keys: () => readKeys(pool, ledger).then(parseArchiveKeys),
    keyFile: () => readKeys(pool, ledger),
    verify: (
      keys: ArchiveKeys | null = null,
      reader: ArchiveReader = directoryStore(directory),
      more: object = {},
    ) => verifyLedger(archiveLedger(reader, keys), { threads: 0, ...more }),
  }
}

async function readKeys(pool: pg.Pool, ledger: string): Promise<string> {
  const masterKey = makeMasterKey(TEST_MASTER_KEY)
  const ledgerId: Uuid = parseId('led', ledger)
  const rows = await listArchiveKeys(pool, ledgerId, null, 10_000)
  const pieces = rows.map(({ fromSeq, sealed }) => ({
    from: fromSeq,
    packed: masterKey.open(sealed, archiveKeyContext(ledgerId, fromSeq)),
  }))
  return formatArchiveKeys(formatId('led', ledgerId), pieces)
}
