import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/** Content of the column `otlp` of api_keys. The route has validated it. */
export type OtlpRow = {
  readonly take: 'agents' | 'all'
  readonly content: 'digest' | 'keep'
  readonly rest: 'reject' | 'drop'
}

/** Sets what the key accepts over OTLP. Returns false if the ledger has no such key. */
export async function setKeyOtlp(
  pool: pg.Pool,
  ledgerId: Uuid,
  keyId: Uuid,
  settings: OtlpRow | null,
): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    'select tallystick.set_key_otlp($1, $2, $3) as found',
    [ledgerId, keyId, settings && JSON.stringify(settings)],
  )
  return rows[0]!.found
}
