import type pg from 'pg'
import { type PublicKey, parsePublicKey } from '../proof/keys.ts'
import { toUuid } from './uuid.ts'

type LedgerRow = {
  readonly name: string
  readonly issuer: string
  readonly origin: string
  readonly noteKey: PublicKey
}

/** Throws where there is no such ledger. */
export async function getLedger(db: pg.Pool | pg.ClientBase, ledgerId: Uint8Array): Promise<LedgerRow> {
  const { rows } = await db.query<{ name: string; issuer: string; origin: string; spki: Buffer }>(
    `select l.name, l.issuer, l.origin, k.spki
     from tallystick.ledgers l join tallystick.server_keys k on k.kid = l.note_kid
     where l.ledger_id = $1`,
    [toUuid(ledgerId)],
  )
  const row = rows[0]
  if (!row) throw new Error('there is no such ledger')
  return {
    name: row.name,
    issuer: row.issuer,
    origin: row.origin,
    noteKey: parsePublicKey('EdDSA', row.spki),
  }
}
