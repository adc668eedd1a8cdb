import type pg from 'pg'
import { findEnvelopeKid, listServerKeySecrets } from '../db/schema/server-keys.ts'
import type { Signer } from '../proof/crypto.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../signing/native.ts'
import { Signers } from '../signing/signers.ts'

export function openSigners(pool: pg.Pool, masterKey: MasterKey, now: () => number): Signers {
  return new Signers({
    loadSigners: () => loadSigners(pool, masterKey),
    findEnvelopeKid: (ledgerId) => findEnvelopeKid(pool, ledgerId),
    now,
  })
}

/** Loads the envelope keys that are not retired, oldest first. */
export async function loadSigners(pool: pg.Pool, masterKey: MasterKey): Promise<Signer[]> {
  const keys = await listServerKeySecrets(pool, masterKey, 'envelope')
  return keys.map(({ seed }) => makeEd25519Signer(nativeProviders.sha256, seed))
}
