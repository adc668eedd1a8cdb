import type pg from 'pg'
import { fromUuid, toUuid } from './uuid.ts'

type ApiKeyRow = {
  readonly keyId: Uint8Array
  readonly agentId: Uint8Array
  readonly scopes: string[]
  readonly mac: Uint8Array
  readonly expiresAtMs: number | null
  readonly issuer: string
}

export async function findApiKey(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  secretHash: Buffer,
): Promise<ApiKeyRow | null> {
  const { rows } = await pool.query<{
    key_id: string
    agent_id: string
    scopes: string[]
    mac: Buffer
    expires_at: Date | null
    issuer: string
  }>({
    name: 'find_api_key',
    text: `select k.key_id, k.agent_id, k.scopes, k.mac, k.expires_at, l.issuer
      from tallystick.api_keys k join tallystick.ledgers l on l.ledger_id = k.ledger_id
      where k.ledger_id = $1 and k.secret_hash = $2`,
    values: [toUuid(ledgerId), secretHash],
  })
  const row = rows[0]
  if (!row) return null
  return {
    keyId: fromUuid(row.key_id),
    agentId: fromUuid(row.agent_id),
    scopes: row.scopes,
    mac: row.mac,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    issuer: row.issuer,
  }
}
