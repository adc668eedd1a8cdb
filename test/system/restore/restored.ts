import { join } from 'node:path'
import { RestoredLedgers } from '../../../src/followers/checkpoints/restored-ledgers.ts'
import type { NewLedger } from '../../../src/ledgers/create-ledger.ts'
import type { Test, TestApp } from '../../helpers/app.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { makePublisher, type Publisher } from '../../helpers/publisher.ts'

export type RestoreWorker = Publisher & { readonly restored: RestoredLedgers; readonly notesDir: string }

/** Returns the dependencies of the worker's followers. The worker's data is in a separate folder. */
export async function makeRestoreWorker(t: Test, app: TestApp, dir = temporaryDir()): Promise<RestoreWorker> {
  const pool = openTestPool(app.database.workerUrl, { max: 4 })
  t.after(() => pool.end())
  const publisher = await makePublisher(pool, dir)
  const { storedCheckpoints: kept, log } = publisher
  await kept.load(log)
  return {
    ...publisher,
    restored: new RestoredLedgers({ pool, storedCheckpoints: kept, log }),
    notesDir: join(dir, 'checkpoints'),
  }
}

/** Stores a checkpoint of `size` entries that the database lacks, as if it had been published before the restore. */
export async function keepUnknown(
  worker: RestoreWorker,
  { ledger: { id, origin } }: NewLedger,
  size: number,
): Promise<string> {
  const hash = Buffer.alloc(32, size)
  const text = `${origin}\n${size}\n${hash.toString('base64')}\nchain ${hash.toString('base64')}\n`
  await worker.storedCheckpoints.store(id, `${text}\n— ${origin} ${Buffer.alloc(68, 1).toString('base64')}\n`)
  return hash.toString('hex')
}
