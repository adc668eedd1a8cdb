import type { Database } from '../../db/connect/connection.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { Signers } from '../../signing/signers.ts'
import { MASTER_KEY_AGE_MS_MAX } from '../limits.ts'

/**
 * Reloads the server keys regularly, because they show which master key is in use while the master key is replaced. If
 * a reload fails, it is repeated. When the master key has changed, the database sessions are renewed before Postgres
 * forgets the old key. Returns a function that stops the reloading.
 */
export function followMasterKey(
  { signers, masterKey, database }: { signers: Signers; masterKey: MasterKey; database: Database },
  log: { warn(details: object, message: string): void },
): () => void {
  const proof = () => masterKey.databaseMac([]).toString('hex')
  let last = proof()
  const follow = async () => {
    await signers.load()
    if (proof() === last) return
    last = proof()
    database.renew()
  }
  const tryFollow = () => follow().catch((err) => log.warn({ err }, 'the server keys cannot be read'))
  const timer = setInterval(tryFollow, MASTER_KEY_AGE_MS_MAX).unref()
  return () => clearInterval(timer)
}
