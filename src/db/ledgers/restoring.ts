import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { ArchivePosition } from '../chain/archives.ts'
import type { Db } from '../connect/client.ts'
import { insertClosure } from './restored-entries.ts'

/*
 * Has the queries of `restore-archive`, which run as the database's owner. Triggers run as for any append, so the
 * database checks again whether the rows match each other.
 */

type RestoredServerKey = {
  readonly kid: Uint8Array
  readonly use: 'envelope' | 'note'
  readonly alg: string
  readonly spki: Uint8Array
  /** `activatedAt`, `retiredAt` and `compromisedAt` are times in ISO 8601. */
  readonly activatedAt: string | null
  readonly retiredAt: string | null
  readonly compromisedAt: string | null
}

/**
 * Inserts a public key that the database lacks. The key is marked as retired, because its private key is unknown and
 * no ledger may be moved to it.
 */
export async function restoreServerKey(
  client: pg.ClientBase,
  { kid, use, alg, spki, ...times }: RestoredServerKey,
): Promise<void> {
  await client.query(
    `insert into tallystick.server_keys (kid, use, alg, spki, activated_at, retired_at, compromised_at)
     values ($1, $2, $3, $4, coalesce($5::timestamptz, now()), coalesce($6::timestamptz, now()), $7) on conflict do nothing`,
    [kid, use, alg, spki, times.activatedAt, times.retiredAt, times.compromisedAt],
  )
}

/**
 * Returns whether the deployment has the private keys for the ledger's next entry (`envelope`) and for its checkpoints
 * (`note`). Servers check this too before they reopen a ledger.
 */
export async function findOwnKeys(
  db: Db,
  ledgerId: Uuid,
): Promise<{ readonly envelope: boolean; readonly note: boolean }> {
  const { rows } = await db.query<{ envelope: boolean; note: boolean }>(
    `select exists (select from tallystick.envelope_key_secrets s where s.kid = h.envelope_kid) as envelope,
       exists (select from tallystick.server_keys k where k.kid = l.note_kid and k.retired_at is null) as note
     from tallystick.chain_heads h join tallystick.ledgers l on l.ledger_id = h.ledger_id where h.ledger_id = $1`,
    [ledgerId],
  )
  return rows[0]!
}

/**
 * Forbids sequential scans until the transaction ends. Otherwise a cached plan that was made for empty tables would
 * read whole tables for each row.
 */
export async function planForGrowth(client: pg.ClientBase): Promise<void> {
  await client.query("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
}

/** Creates the head of a ledger without entries. Returns false if the database already has the ledger. */
export async function beginLedger(client: pg.ClientBase, ledgerId: Uuid, kid: Uint8Array): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into tallystick.chain_heads (ledger_id, size, chain, envelope_kid)
     values ($1, 0, sha256('\\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send($1)), $2)
     on conflict do nothing`,
    [ledgerId, kid],
  )
  return rowCount === 1
}

/** A checkpoint of the ledger. `note` is the note without cosignatures. `cosignatures` contains them in order. */
export type RestoredCheckpoint = {
  readonly size: number
  readonly root: Uint8Array
  readonly chain: Uint8Array
  readonly note: string
  /** `kid` may be any 32 bytes that are unique for the witness. */
  readonly cosignatures: readonly { readonly kid: Uint8Array; readonly line: string }[]
}

/**
 * Inserts a checkpoint and its cosignatures. Both get the time of the last covered entry, because notes contain no
 * time.
 */
export async function restoreCheckpoint(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { size, root, chain, note, cosignatures }: RestoredCheckpoint,
): Promise<void> {
  await client.query(
    `insert into tallystick.checkpoints (ledger_id, size, root, chain, note, published_at)
     select $1, $2, $3, $4, $5, e.recorded_at from tallystick.entries e where e.ledger_id = $1 and e.seq = $2::bigint - 1`,
    [ledgerId, size, root, chain, note],
  )
  for (const [i, { kid, line }] of cosignatures.entries())
    await client.query(
      `insert into tallystick.cosignatures (ledger_id, size, witness_kid, line, cosigned_at)
       select $1, $2, $3, $4, c.published_at + $5 * interval '1 microsecond'
       from tallystick.checkpoints c where c.ledger_id = $1 and c.size = $2`,
      [ledgerId, size, kid, line, i],
    )
}

/** Stores the archive's newest seal, its pieces and their sealed secrets, so that the worker continues the archive. */
export async function restoreArchive(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { size, sealDigest, pieces }: ArchivePosition,
  keys: Iterable<{ readonly fromSeq: number; readonly sealed: Uint8Array }>,
): Promise<void> {
  await client.query(
    'insert into tallystick.archives (ledger_id, size, seal_digest, sealed_at) values ($1, $2, $3, now())',
    [ledgerId, size, sealDigest],
  )
  for (const { from, end, lines, documents } of pieces)
    await client.query(
      `insert into tallystick.archive_pieces (ledger_id, from_seq, end_seq, lines_digest, lines_bytes, documents_digest, documents_bytes)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [ledgerId, from, end, lines.digest, lines.bytes, documents?.digest, documents?.bytes],
    )
  for (const { fromSeq, sealed } of keys)
    await client.query(
      'insert into tallystick.archive_keys (ledger_id, from_seq, sealed) values ($1, $2, $3)',
      [ledgerId, fromSeq, sealed],
    )
}

/**
 * Closes the ledger because entries that are known to exist are missing. It stays closed until an operator
 * acknowledges the loss.
 */
export async function closeRestored(
  client: pg.ClientBase,
  ledgerId: Uuid,
  known: { readonly size: number; readonly chain: Uint8Array },
): Promise<void> {
  await insertClosure(client, ledgerId, known, new Date())
  await client.query("update tallystick.chain_heads set closed = 'restored' where ledger_id = $1", [ledgerId])
}

/**
 * Returns a valid key of the ledger, or null if the ledger has none. If it has several valid keys, returns the newest
 * of those with the most scopes.
 */
export async function findValidKey(
  client: pg.ClientBase,
  ledgerId: Uuid,
): Promise<{
  readonly keyId: Uuid
  readonly agentId: Uuid
  readonly scopes: readonly string[]
  readonly expiresAt: Date | null
} | null> {
  const { rows } = await client.query(
    `select k.key_id, k.agent_id, k.scopes, k.expires_at from tallystick.api_keys k
     join tallystick.agents a on a.ledger_id = k.ledger_id and a.agent_id = k.agent_id
     where k.ledger_id = $1 and k.revoked_seq is null and a.disabled_seq is null and (k.expires_at is null or k.expires_at > now())
     order by cardinality(k.scopes) desc, k.created_seq desc limit 1`,
    [ledgerId],
  )
  return rows[0] ?? null
}

export async function insertKeySecret(
  client: pg.ClientBase,
  ledgerId: Uuid,
  secret: {
    readonly keyId: Uuid
    readonly secretHash: Uint8Array
    readonly mac: Uint8Array
    readonly expiresAt: Date | null
  },
): Promise<void> {
  await client.query(
    `insert into tallystick.api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at) values ($1, $2, $3, $4, $5)`,
    [ledgerId, secret.secretHash, secret.keyId, secret.mac, secret.expiresAt],
  )
}
