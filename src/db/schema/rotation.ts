import type pg from 'pg'
import type { PublicKey } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import { parsePublicKey } from '../../proof/keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { Db } from '../connect/client.ts'
import { withTransaction } from '../connect/transaction.ts'
import { checkSchema, lockMigrations } from './migrate.ts'
import { getNoteKeySecret, insertServerKey, type ServerKey } from './server-keys.ts'

export type StartedRotation = {
  /** Kids of the keys that still sign until every ledger has moved to the new key, oldest first. */
  readonly oldKids: readonly Uint8Array[]
  readonly newKid: Uint8Array
}

/**
 * Creates a new envelope key. New ledgers use the new key, and the worker moves the other ledgers to it. Must be called
 * with the login of the database's owner.
 *
 * `compromisedAt`: time from which on the current signing keys are marked as compromised. Throws if an earlier rotation
 * is unfinished, unless `force` is set.
 */
export async function startRotation(
  client: pg.ClientBase,
  masterKey: MasterKey,
  options: { readonly compromisedAt: Date | null; readonly force: boolean },
): Promise<StartedRotation> {
  return withTransaction(client, async () => {
    await lockMigrations(client)
    await checkSchema(client)
    // Throws if the master key is wrong. A new key sealed under a wrong master key would prevent every server and
    // worker from starting again.
    await getNoteKeySecret(client, masterKey)
    const old = await listSigningKeys(client)
    if (old.length > 1 && !options.force) {
      const kids = old.map(({ kid }) => Buffer.from(kid).toString('hex')).join(', ')
      throw new Error(
        `an earlier rotation is not finished: the keys ${kids} are all in use. Wait for the worker, or use --force (docs/operate/secrets.md#the-envelope-key)`,
      )
    }
    if (options.compromisedAt) await markCompromised(client, options.compromisedAt)
    const { kid } = await insertServerKey(client, masterKey, 'envelope')
    return { oldKids: old.map((key) => key.kid), newKid: kid }
  })
}

/** Marks the current envelope keys as compromised since `at`. An earlier time in the database is kept. */
async function markCompromised(client: pg.ClientBase, at: Date): Promise<void> {
  await client.query(
    `update tallystick.server_keys set compromised_at = least(compromised_at, $1)
     where use = 'envelope' and retired_at is null`,
    [at],
  )
}

/**
 * Returns the public keys of all envelope keys that are not retired, oldest first. During a rotation there is more
 * than one.
 */
export async function listSigningKeys(db: Db): Promise<ServerKey[]> {
  const { rows } = await db.query<{ kid: Buffer; alg: PublicKey['alg']; spki: Buffer }>(
    `select kid, alg, spki from tallystick.server_keys where use = 'envelope' and retired_at is null
     order by activated_at, kid`,
  )
  return rows.map(({ kid, alg, spki }) => ({ kid, key: parsePublicKey(alg, spki) }))
}

/** A ledger that does not sign with the newest key yet. */
export type LedgerToRotate = { readonly ledgerId: Uuid; readonly kid: Uint8Array }

/**
 * Lists at most `limit` ledgers to move to the newest key. They are in random order, so that ledgers that cannot be
 * moved do not block others.
 *
 * Ledgers that are closed as restored are left out, because they accept only the entry that acknowledges the restore.
 */
export async function listLedgersToRotate(
  db: Db,
  newestKid: Uint8Array,
  limit: number,
): Promise<LedgerToRotate[]> {
  const { rows } = await db.query<{ ledgerId: Uuid; kid: Buffer }>(
    `select ledger_id, envelope_kid as kid from tallystick.chain_heads
     where envelope_kid <> $1 and coalesce(closed, 'frozen') = 'frozen'
     order by random() limit $2`,
    [newestKid, limit],
  )
  return rows.map((row) => ({ ledgerId: row.ledgerId, kid: row.kid }))
}

export async function countLedgersToRotate(db: Db): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from tallystick.chain_heads
     where coalesce(closed, 'frozen') = 'frozen' and envelope_kid <> (
       select kid from tallystick.server_keys where use = 'envelope' and retired_at is null
       order by activated_at desc, kid desc limit 1)`,
  )
  return rows[0]!.count
}

/**
 * Retires keys that no ledger uses any more, once retiring them is safe. Returns the number of retired keys. Only the
 * worker's login may call this.
 */
export async function retireEnvelopeKeys(db: Db): Promise<number> {
  const { rows } = await db.query<{ retired: number }>('select tallystick.retire_envelope_keys() as retired')
  return rows[0]!.retired
}
