import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { OtlpRow } from './otlp-settings.ts'
import { type RateLimit, toRateLimit } from './rate-limits.ts'

type ApiKeyRow = {
  readonly keyId: Uuid
  readonly agentId: Uuid
  readonly scopes: string[]
  readonly mac: Uint8Array
  readonly expiresAtMs: number | null
  readonly issuer: string
  /** Kid of the key that signs the ledger's next entry, in lower-case hex. */
  readonly envelopeKid: string
  readonly keyLimit: RateLimit | null
  readonly ledgerLimit: RateLimit | null
  readonly otlp: OtlpRow | null
  readonly subjectSalt: Buffer
}

/** A ledger, and the SHA-256 of a text that may be one of its keys' secrets. */
export type SecretHash = { readonly ledgerId: Uuid; readonly secretHash: Buffer }

type ApiKeyColumns = {
  ix: string
  keyId: Uuid
  agentId: Uuid
  scopes: string[]
  mac: Buffer
  expiresAt: Date | null
  issuer: string
  envelopeKid: Buffer
  keyPerSecond: number | null
  keyBurst: number | null
  ledgerPerSecond: number | null
  ledgerBurst: number | null
  otlp: OtlpRow | null
  subjectSalt: Buffer
}

/**
 * Returns the keys with these secrets, in the order of `secrets`. Each key has the expiry of the given secret. The
 * result has null for a key that does not exist, is revoked, or belongs to a disabled agent.
 */
export async function findApiKeys(
  pool: pg.Pool,
  secrets: readonly SecretHash[],
): Promise<(ApiKeyRow | null)[]> {
  // `offset 0` makes Postgres look up each secret by primary key. The planner's estimate of the array's size then does
  // not matter.
  const { rows } = await pool.query<ApiKeyColumns>({
    name: 'find_api_keys',
    text: `select w.ix, k.key_id, k.agent_id, k.scopes, s.mac, s.expires_at, l.issuer, h.envelope_kid,
        k.rate_limit_per_second as key_per_second, k.rate_limit_burst as key_burst, k.otlp,
        l.rate_limit_per_second as ledger_per_second, l.rate_limit_burst as ledger_burst, l.subject_salt
      from unnest($1::uuid[], $2::bytea[]) with ordinality w (ledger_id, secret_hash, ix)
      cross join lateral (
        select * from tallystick.api_key_secrets x
        where x.ledger_id = w.ledger_id and x.secret_hash = w.secret_hash offset 0
      ) s
      join tallystick.api_keys k on k.ledger_id = s.ledger_id and k.key_id = s.key_id
      join tallystick.agents a on a.ledger_id = k.ledger_id and a.agent_id = k.agent_id
      join tallystick.ledgers l on l.ledger_id = k.ledger_id
      join tallystick.chain_heads h on h.ledger_id = k.ledger_id
      where k.revoked_seq is null and a.disabled_seq is null`,
    values: [secrets.map(({ ledgerId }) => ledgerId), secrets.map(({ secretHash }) => secretHash)],
  })
  const found = new Array<ApiKeyRow | null>(secrets.length).fill(null)
  for (const row of rows) found[Number(row.ix) - 1] = toApiKeyRow(row)
  return found
}

function toApiKeyRow(row: ApiKeyColumns): ApiKeyRow {
  return {
    keyId: row.keyId,
    agentId: row.agentId,
    scopes: row.scopes,
    mac: row.mac,
    expiresAtMs: row.expiresAt?.getTime() ?? null,
    issuer: row.issuer,
    envelopeKid: row.envelopeKid.toString('hex'),
    keyLimit: toRateLimit(row.keyPerSecond, row.keyBurst),
    ledgerLimit: toRateLimit(row.ledgerPerSecond, row.ledgerBurst),
    otlp: row.otlp,
    subjectSalt: row.subjectSalt,
  }
}

export type KeyRow = {
  readonly keyId: Uuid
  readonly agentId: Uuid
  readonly name: string
  readonly scopes: readonly string[]
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly rateLimit: RateLimit | null
  readonly otlp: OtlpRow | null
  readonly secrets: readonly KeySecretRow[]
  /** The API key that was used to create this key. null if `system` created it. */
  readonly madeBy: Uuid | null
}

/** A secret of a key. The server made `secretHash` and `mac`. `expiresAtMs` is the expiry of this secret alone. */
export type KeySecretRow = {
  readonly secretHash: Buffer
  readonly mac: Buffer
  readonly expiresAtMs: number | null
}

type KeyColumns = {
  keyId: Uuid
  agentId: Uuid
  name: string
  scopes: string[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  rateLimitPerSecond: number | null
  rateLimitBurst: number | null
  otlp: OtlpRow | null
  secrets: { hash: string; mac: string; ends: number | null }[]
  madeBy: Uuid | null
}

// SQL that selects API keys with their secrets. The times of secrets are whole milliseconds, because this server wrote
// them.
const SELECT_KEYS = `select k.key_id, k.agent_id, k.name, k.scopes, k.expires_at, k.rate_limit_per_second, k.rate_limit_burst,
    k.otlp, c.recorded_at as created_at, c.key_id as made_by,
    r.recorded_at as revoked_at, coalesce(s.secrets, '[]') as secrets
  from tallystick.api_keys k
  join tallystick.entries c on c.ledger_id = k.ledger_id and c.seq = k.created_seq
  left join tallystick.entries r on r.ledger_id = k.ledger_id and r.seq = k.revoked_seq
  left join lateral (
    select json_agg(json_build_object('hash', encode(s.secret_hash, 'hex'), 'mac', encode(s.mac, 'hex'),
      'ends', round(extract(epoch from s.expires_at) * 1000)) order by s.secret_hash) as secrets
    from tallystick.api_key_secrets s where s.ledger_id = k.ledger_id and s.key_id = k.key_id
  ) s on true`

export async function findKey(pool: pg.Pool, ledgerId: Uuid, keyId: Uuid): Promise<KeyRow | null> {
  const { rows } = await pool.query<KeyColumns>({
    name: 'find_key',
    text: `${SELECT_KEYS} where k.ledger_id = $1 and k.key_id = $2`,
    values: [ledgerId, keyId],
  })
  return rows[0] ? toKeyRow(rows[0]) : null
}

/**
 * Lists keys in the order of their ids. Begins after the key `after`. If `agentId` is null, lists the keys of all
 * agents.
 */
export async function listKeys(
  pool: pg.Pool,
  ledgerId: Uuid,
  page: { agentId: Uuid | null; after: Uuid | null; limit: number },
): Promise<KeyRow[]> {
  const { rows } = await pool.query<KeyColumns>({
    name: 'list_keys',
    text: `${SELECT_KEYS} where k.ledger_id = $1 and ($2::uuid is null or k.key_id > $2)
      and ($3::uuid is null or k.agent_id = $3) order by k.key_id limit $4`,
    values: [ledgerId, page.after, page.agentId, page.limit],
  })
  return rows.map(toKeyRow)
}

type KeyMakerRow = {
  readonly keyId: Uuid
  readonly madeBy: Uuid | null
  readonly isRevoked: boolean
  readonly createdSeq: number
}

/**
 * Lists keys and the keys that created them, in the order of creation. Begins after the entry `afterSeq`.
 *
 * Each page sorts the ledger's keys, because no index has this order. This is fast enough: a ledger has few keys, and
 * only clean-ups call this function.
 */
export async function listKeyMakers(
  pool: pg.Pool,
  ledgerId: Uuid,
  page: { afterSeq: number; limit: number },
): Promise<KeyMakerRow[]> {
  const { rows } = await pool.query<KeyMakerRow>({
    name: 'list_key_makers',
    text: `select k.key_id, c.key_id as made_by, k.revoked_seq is not null as is_revoked, k.created_seq
      from (select * from tallystick.api_keys where ledger_id = $1 and created_seq > $2
        order by created_seq limit $3) k
      join tallystick.entries c on c.ledger_id = k.ledger_id and c.seq = k.created_seq
      order by k.created_seq`,
    values: [ledgerId, page.afterSeq, page.limit],
  })
  return rows
}

/**
 * Replaces the key's secrets with `secrets`. If the stored secrets differ from `found`, changes nothing and returns
 * false.
 */
export async function replaceKeySecrets(
  pool: pg.Pool,
  ledgerId: Uuid,
  keyId: Uuid,
  found: readonly KeySecretRow[],
  secrets: readonly KeySecretRow[],
): Promise<boolean> {
  const { rows } = await pool.query<{ replaced: boolean }>(
    `select tallystick.replace_key_secrets($1, $2, $3::bytea[], $4::bytea[], $5::bytea[], $6::timestamptz[]) as replaced`,
    [
      ledgerId,
      keyId,
      found.map((s) => s.secretHash),
      secrets.map((s) => s.secretHash),
      secrets.map((s) => s.mac),
      secrets.map((s) => (s.expiresAtMs === null ? null : new Date(s.expiresAtMs).toISOString())),
    ],
  )
  return rows[0]!.replaced
}

function toKeyRow(row: KeyColumns): KeyRow {
  return {
    keyId: row.keyId,
    agentId: row.agentId,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    rateLimit: toRateLimit(row.rateLimitPerSecond, row.rateLimitBurst),
    otlp: row.otlp,
    secrets: row.secrets.map(({ hash, mac, ends }) => ({
      secretHash: Buffer.from(hash, 'hex'),
      mac: Buffer.from(mac, 'hex'),
      expiresAtMs: ends,
    })),
    madeBy: row.madeBy,
  }
}
