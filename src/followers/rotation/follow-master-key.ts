import type { Database } from '../../db/connect/connection.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { Signers } from '../../signing/signers.ts'
import { MASTER_KEY_AGE_MS_MAX } from '../limits.ts'

/**
 * Reloads the server keys regularly while the master key is replaced, because they show which key seals. A failed
 * reload is repeated. Database sessions that were authenticated with the old master key are renewed before Postgres
 * forgets that key. Returns a function that stops this.
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
