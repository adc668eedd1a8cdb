import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import type pg from 'pg'
import type { PublicKey } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../../proof/keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { Db } from '../connect/client.ts'

type KeyUse = 'envelope' | 'note'
export type ServerKey = { readonly kid: Uint8Array; readonly key: PublicKey }
type ServerKeySecret = ServerKey & { readonly seed: Uint8Array }

/**
 * Creates the deployment's first envelope key and note key if they are missing. Throws if existing keys are sealed
 * under another master key. Must be called with the login of the database's owner.
 */
export async function ensureServerKeys(client: pg.ClientBase, masterKey: MasterKey): Promise<void> {
  for (const use of ['envelope', 'note'] as const) {
    const found = await client.query(
      'select from tallystick.server_keys where use = $1 and retired_at is null',
      [use],
    )
    if (found.rowCount === 0) await insertServerKey(client, masterKey, use)
  }
  await getNoteKeySecret(client, masterKey)
}

/**
 * Creates a key. The key's activation time is later than that of all other keys for the same use, even if the clock was
 * set back. Must be called with the login of the database's owner.
 */
export async function insertServerKey(
  client: pg.ClientBase,
  masterKey: MasterKey,
  use: KeyUse,
): Promise<ServerKey> {
  const pair = generateKeyPairSync('ed25519')
  const key = parsePublicKey('EdDSA', pair.publicKey.export({ type: 'spki', format: 'der' }))
  const kid = keyThumbprint((bytes) => hash('sha256', bytes, 'buffer'), key)
  await client.query(
    `insert into tallystick.server_keys (kid, use, alg, spki, activated_at)
     select $1, $2, $3, $4, greatest(now(), max(activated_at) + interval '1 millisecond')
     from tallystick.server_keys where use = $2`,
    [kid, use, key.alg, key.spki],
  )
  await client.query(`insert into tallystick.${use}_key_secrets (kid, sealed) values ($1, $2)`, [
    kid,
    masterKey.seal(seedOf(pair.privateKey), sealContext(use, kid)),
  ])
  return { kid, key }
}

/**
 * Returns the keys of `use` that are not retired, oldest first, with their opened secrets.
 *
 * During a rotation there is more than one envelope key. Only the worker's login can read the note key's secret.
 */
export async function listServerKeySecrets(
  db: Db,
  masterKey: MasterKey,
  use: KeyUse,
): Promise<ServerKeySecret[]> {
  const { rows } = await db.query<{ kid: Buffer; spki: Buffer; sealed: Buffer }>(
    `select k.kid, k.spki, s.sealed from tallystick.server_keys k join tallystick.${use}_key_secrets s using (kid)
     where k.use = $1 and k.retired_at is null order by k.activated_at, k.kid`,
    [use],
  )
  if (rows.length === 0)
    throw new Error(`the database has no current ${use} key: run \`npm run op -- migrate\``)
  const newest = rows.at(-1)!
  masterKey.followSealed(newest.sealed, sealContext(use, newest.kid))
  return rows.map(({ kid, spki, sealed }) => ({
    kid,
    key: parsePublicKey('EdDSA', spki),
    seed: masterKey.open(sealed, sealContext(use, kid)),
  }))
}

/**
 * Returns the current note key, which signs checkpoints, with its opened secret. Throws if `masterKey` is not the
 * deployment's master key.
 */
export async function getNoteKeySecret(db: Db, masterKey: MasterKey): Promise<ServerKeySecret> {
  const keys = await listServerKeySecrets(db, masterKey, 'note')
  return keys[0]!
}

/**
 * Returns the kid, in lower-case hex, of the key that must sign the ledger's next entry. Returns null if the ledger
 * does not exist.
 */
export async function findEnvelopeKid(db: pg.Pool, ledgerId: Uuid): Promise<string | null> {
  const { rows } = await db.query<{ kid: Buffer }>({
    name: 'find_envelope_kid',
    text: 'select envelope_kid as kid from tallystick.chain_heads where ledger_id = $1',
    values: [ledgerId],
  })
  return rows[0]?.kid.toString('hex') ?? null
}

/** Returns the public note key, for the definition of a new ledger. */
export async function getNoteKey(db: pg.Pool): Promise<ServerKey> {
  const { rows } = await db.query<{ kid: Buffer; spki: Buffer }>(
    "select kid, spki from tallystick.server_keys where use = 'note' and retired_at is null",
  )
  const row = rows[0]
  if (!row) throw new Error('the database has no current note key: run `npm run op -- migrate`')
  return { kid: row.kid, key: parsePublicKey('EdDSA', row.spki) }
}

const ED25519_SEED_BYTES = 32

/** Returns the last 32 bytes of an Ed25519 private key in PKCS #8 form (RFC 8410 §7). */
function seedOf(privateKey: KeyObject): Uint8Array {
  return privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(-ED25519_SEED_BYTES)
}

export function sealContext(use: KeyUse, kid: Uint8Array): string {
  return `tallystick ${use} key ${Buffer.from(kid).toString('hex')}`
}
