import { join } from 'node:path'
import type pg from 'pg'
import { getNoteKeySecret } from '../../src/db/schema/server-keys.ts'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import type { PublishDeps } from '../../src/followers/checkpoints/publish.ts'
import { StoredCheckpoints } from '../../src/followers/checkpoints/stored-checkpoints.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { TEST_MASTER_KEY } from './database.ts'

export type Publisher = PublishDeps & { readonly logged: object[] }

/** Returns the dependencies of the checkpoint publisher, as in the worker. `pool` uses the worker's login. */
export async function makePublisher(pool: pg.Pool, dataDir: string): Promise<Publisher> {
  const { seed } = await getNoteKeySecret(pool, makeMasterKey(TEST_MASTER_KEY))
  const logged: object[] = []
  return {
    pool,
    noteSigner: makeEd25519Signer(nativeProviders.sha256, seed),
    storedCheckpoints: new StoredCheckpoints(join(dataDir, 'checkpoints')),
    faulty: new PausedLedgers(Date.now),
    log: { error: (details) => void logged.push(details) },
    logged,
  }
}
