import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/** Average number of requests per second, and the number of requests that are possible at once after a pause. */
export type RateLimit = { readonly requestsPerSecond: number; readonly burst: number }

/** Sets the ledger's limit. Returns false if the ledger does not exist. */
export async function setLedgerRateLimit(
  pool: pg.Pool,
  ledgerId: Uuid,
  limit: RateLimit | null,
): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    'select tallystick.set_ledger_rate_limit($1, $2, $3) as found',
    [ledgerId, limit?.requestsPerSecond ?? null, limit?.burst ?? null],
  )
  return rows[0]!.found
}

/** Sets the key's limit. Returns false if the ledger has no such key. */
export async function setKeyRateLimit(
  pool: pg.Pool,
  ledgerId: Uuid,
  keyId: Uuid,
  limit: RateLimit | null,
): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    'select tallystick.set_key_rate_limit($1, $2, $3, $4) as found',
    [ledgerId, keyId, limit?.requestsPerSecond ?? null, limit?.burst ?? null],
  )
  return rows[0]!.found
}

/**
 * Makes a rate limit from the columns `rate_limit_per_second` and `rate_limit_burst`. Either both are set or neither.
 */
export function toRateLimit(requestsPerSecond: number | null, burst: number | null): RateLimit | null {
  return requestsPerSecond === null || burst === null ? null : { requestsPerSecond, burst }
}
