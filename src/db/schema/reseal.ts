import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { listAuditCursors } from '../audit/audit-cursors.ts'
import type { ArchiveKeyPosition, ArchiveKeyRow } from '../chain/archives.ts'
import { bytea, encodeColumn, uuid } from '../connect/binary-array.ts'

/*
 * Lists all data that depends on the master key, and replaces it, in pages. All functions of this file need the login
 * of the database's owner.
 */

type SealedServerKey = {
  readonly use: 'envelope' | 'note'
  readonly kid: Buffer
  readonly sealed: Buffer
}

export async function listSealedServerKeys(client: pg.ClientBase): Promise<SealedServerKey[]> {
  const { rows } = await client.query<SealedServerKey>(
    `select 'envelope' as use, kid, sealed from tallystick.envelope_key_secrets
     union all select 'note', kid, sealed from tallystick.note_key_secrets`,
  )
  return rows
}

export async function replaceSealedServerKey(
  client: pg.ClientBase,
  { use, kid }: SealedServerKey,
  sealed: Buffer,
): Promise<void> {
  await client.query(`update tallystick.${use}_key_secrets set sealed = $2 where kid = $1`, [kid, sealed])
}

/**
 * A row as it was read, and its new value. The value is replaced only if the row is still unchanged, because a secret
 * may have expired or been replaced since it was read.
 */
export type Replaced<Row> = { readonly row: Row; readonly replacement: Buffer }

export type SealedWebhookSecret = {
  readonly ledgerId: Uuid
  readonly webhookId: Uuid
  readonly secretId: Uuid
  readonly sealed: Buffer
}

export async function listSealedWebhookSecrets(
  client: pg.ClientBase,
  after: SealedWebhookSecret | null,
  limit: number,
): Promise<SealedWebhookSecret[]> {
  const { rows } = await client.query<SealedWebhookSecret>(
    `select ledger_id, webhook_id, secret_id, sealed from tallystick.webhook_secrets
     where $1::uuid is null or (ledger_id, webhook_id, secret_id) > ($1, $2::uuid, $3::uuid)
     order by ledger_id, webhook_id, secret_id limit $4`,
    [after?.ledgerId, after?.webhookId, after?.secretId, limit],
  )
  return rows
}

/** Replaces sealed secrets of webhooks. Returns the number of replaced secrets. */
export async function replaceWebhookSecrets(
  client: pg.ClientBase,
  replaced: readonly Replaced<SealedWebhookSecret>[],
): Promise<number> {
  const { rowCount } = await client.query(
    `update tallystick.webhook_secrets s set sealed = n.sealed
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[], $5::bytea[]) n (ledger_id, webhook_id, secret_id, old, sealed)
     where s.ledger_id = n.ledger_id and s.webhook_id = n.webhook_id and s.secret_id = n.secret_id and s.sealed = n.old`,
    [
      encodeColumn(uuid, replaced, ({ row }) => row.ledgerId),
      encodeColumn(uuid, replaced, ({ row }) => row.webhookId),
      encodeColumn(uuid, replaced, ({ row }) => row.secretId),
      encodeColumn(bytea, replaced, ({ row }) => row.sealed),
      encodeColumn(bytea, replaced, ({ replacement }) => replacement),
    ],
  )
  return rowCount ?? 0
}

export type GrantedSecret = {
  readonly ledgerId: Uuid
  readonly keyId: Uuid
  readonly agentId: Uuid
  readonly scopes: readonly string[]
  readonly secretHash: Buffer
  readonly mac: Buffer
  readonly expiresAtMs: number | null
}

export async function listGrantedSecrets(
  client: pg.ClientBase,
  after: GrantedSecret | null,
  limit: number,
): Promise<GrantedSecret[]> {
  const { rows } = await client.query<{
    ledgerId: Uuid
    keyId: Uuid
    agentId: Uuid
    scopes: string[]
    secretHash: Buffer
    mac: Buffer
    expiresAt: Date | null
  }>(
    `select s.ledger_id, s.key_id, k.agent_id, k.scopes, s.secret_hash, s.mac, s.expires_at
     from tallystick.api_key_secrets s join tallystick.api_keys k using (ledger_id, key_id)
     where $1::uuid is null or (s.ledger_id, s.secret_hash) > ($1, $2::bytea)
     order by s.ledger_id, s.secret_hash limit $3`,
    [after?.ledgerId, after?.secretHash, limit],
  )
  return rows.map((row) => ({
    ledgerId: row.ledgerId,
    keyId: row.keyId,
    agentId: row.agentId,
    scopes: row.scopes,
    secretHash: row.secretHash,
    mac: row.mac,
    expiresAtMs: row.expiresAt?.getTime() ?? null,
  }))
}

/** Replaces MACs of API keys. Returns the number of replaced MACs. */
export async function replaceKeyMacs(
  client: pg.ClientBase,
  replaced: readonly Replaced<GrantedSecret>[],
): Promise<number> {
  const { rowCount } = await client.query(
    `update tallystick.api_key_secrets s set mac = n.mac
     from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::bytea[]) n (ledger_id, secret_hash, old, mac)
     where s.ledger_id = n.ledger_id and s.secret_hash = n.secret_hash and s.mac = n.old`,
    [
      encodeColumn(uuid, replaced, ({ row }) => row.ledgerId),
      encodeColumn(bytea, replaced, ({ row }) => row.secretHash),
      encodeColumn(bytea, replaced, ({ row }) => row.mac),
      encodeColumn(bytea, replaced, ({ replacement }) => replacement),
    ],
  )
  return rowCount ?? 0
}

export type CursorRow = Awaited<ReturnType<typeof listAuditCursors>>[number]

/**
 * Replaces MACs of cursors. Returns the number of replaced MACs. A cursor that has moved since it was read is skipped.
 * The worker that moved the cursor knows both keys.
 */
export async function replaceCursorMacs(
  client: pg.ClientBase,
  replaced: readonly Replaced<CursorRow>[],
): Promise<number> {
  const { rowCount } = await client.query(
    `update tallystick.audit_cursors c set mac = n.mac
     from unnest($1::uuid[], $2::bytea[], $3::bytea[]) n (ledger_id, old, mac)
     where c.ledger_id = n.ledger_id and c.mac = n.old`,
    [
      encodeColumn(uuid, replaced, ({ row }) => row.ledgerId),
      encodeColumn(bytea, replaced, ({ row }) => row.mac),
      encodeColumn(bytea, replaced, ({ replacement }) => replacement),
    ],
  )
  return rowCount ?? 0
}

/**
 * Replaces the secrets that are unchanged since they were read. A secret may have changed because a document was
 * erased. Returns the number of replaced secrets.
 */
export async function replaceSealedArchiveKeys(
  client: pg.ClientBase,
  replaced: readonly Replaced<ArchiveKeyRow & ArchiveKeyPosition>[],
): Promise<number> {
  const { rowCount } = await client.query(
    `update tallystick.archive_keys k set sealed = n.sealed
     from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bytea[]) n (ledger_id, from_seq, old, sealed)
     where k.ledger_id = n.ledger_id and k.from_seq = n.from_seq and k.sealed = n.old`,
    [
      encodeColumn(uuid, replaced, ({ row }) => row.ledgerId),
      replaced.map(({ row }) => row.fromSeq),
      encodeColumn(bytea, replaced, ({ row }) => row.sealed),
      encodeColumn(bytea, replaced, ({ replacement }) => replacement),
    ],
  )
  return rowCount ?? 0
}

/** Records that the master key was replaced: when, and by which login. */
export async function insertMasterKeyChange(
  client: pg.ClientBase,
  change: {
    readonly previousId: Buffer
    readonly currentId: Buffer
    readonly serverKeys: number
    readonly webhookSecrets: number
    readonly apiKeySecrets: number
    readonly peerKeys: number
    readonly refused: number
  },
): Promise<void> {
  await client.query(
    `insert into tallystick.master_key_changes
       (previous_id, current_id, server_keys, webhook_secrets, api_key_secrets, peer_keys, refused) values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      change.previousId,
      change.currentId,
      change.serverKeys,
      change.webhookSecrets,
      change.apiKeySecrets,
      change.peerKeys,
      change.refused,
    ],
  )
}
