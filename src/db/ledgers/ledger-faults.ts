import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

/** A fault that verification found in a ledger. `seq` is null if the fault is about the whole ledger. */
export type LedgerFault = {
  readonly foundBy: 'follower' | 'audit'
  readonly seq: number | null
  readonly code: string
  readonly reason: string
}

type OpenFault = LedgerFault & { readonly ledgerId: Uuid; readonly foundAt: Date }

/**
 * Stores a fault, which stops the ledger's checkpoints. If the ledger already has an open fault, keeps that fault and
 * returns false.
 */
export async function insertFault(db: Db, ledgerId: Uuid, fault: LedgerFault): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into tallystick.ledger_faults (ledger_id, found_by, seq, code, reason) values ($1, $2, $3, $4, $5)
     on conflict (ledger_id) where cleared_at is null do nothing`,
    [ledgerId, fault.foundBy, fault.seq, fault.code, fault.reason],
  )
  return rowCount === 1
}

export async function listOpenFaults(db: Db, limit: number): Promise<OpenFault[]> {
  const { rows } = await db.query<OpenFault>(
    `select ledger_id, found_at, found_by, seq, code, reason from tallystick.ledger_faults
     where cleared_at is null order by found_at limit $1`,
    [limit],
  )
  return rows
}

/** Returns the ledgers among `ledgerIds` that have an open fault. */
export async function listFaulty(db: Db, ledgerIds: readonly Uuid[]): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ ledgerId: Uuid }>({
    name: 'list_faulty',
    text: 'select ledger_id from tallystick.ledger_faults where ledger_id = any($1) and cleared_at is null',
    values: [[...new Set(ledgerIds)]],
  })
  return new Set(rows.map(({ ledgerId }) => ledgerId))
}

export async function countOpenFaults(db: Db): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from tallystick.ledger_faults where cleared_at is null',
  )
  return rows[0]!.count
}

/**
 * Clears the ledger's open fault. Needs a connection of the database's owner. Returns false if the ledger has no open
 * fault.
 */
export async function clearFault(db: Db, ledgerId: Uuid, note: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update tallystick.ledger_faults set cleared_at = now(), cleared_note = $2
     where ledger_id = $1 and cleared_at is null`,
    [ledgerId, note],
  )
  return rowCount === 1
}
