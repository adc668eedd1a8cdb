import type pg from 'pg'
import type { Db } from './client.ts'
import { fromUuid, toUuid } from './uuid.ts'

/** How far a ledger's entries were verified as they came, and what the next one must continue. */
export type AuditCursor = {
  readonly nextSeq: number
  readonly chain: Uint8Array
  readonly envelopeKid: Uint8Array
}

/** Ledgers without an open fault whose head is not where their cursor is, in no order that a ledger could rely on. */
export async function listLedgersUnverified(db: Db, limit: number): Promise<Uint8Array[]> {
  const { rows } = await db.query<{ ledger_id: string }>(
    `select h.ledger_id from tallystick.chain_heads h
     left join tallystick.audit_cursors c on c.ledger_id = h.ledger_id
     where h.size <> coalesce(c.next_seq, 0) and not exists (
       select from tallystick.ledger_faults f where f.ledger_id = h.ledger_id and f.cleared_at is null)
     order by random() limit $1`,
    [limit],
  )
  return rows.map((row) => fromUuid(row.ledger_id))
}

export async function findAuditCursor(db: Db, ledgerId: Uint8Array): Promise<AuditCursor | null> {
  const { rows } = await db.query<{ next_seq: string; chain: Buffer; envelope_kid: Buffer }>(
    'select next_seq, chain, envelope_kid from tallystick.audit_cursors where ledger_id = $1',
    [toUuid(ledgerId)],
  )
  const row = rows[0]
  return row ? { nextSeq: Number(row.next_seq), chain: row.chain, envelopeKid: row.envelope_kid } : null
}

/** Only forward: another worker may have come further. */
export async function moveAuditCursor(db: Db, ledgerId: Uint8Array, cursor: AuditCursor): Promise<void> {
  await db.query(
    `insert into tallystick.audit_cursors (ledger_id, next_seq, chain, envelope_kid) values ($1, $2, $3, $4)
     on conflict (ledger_id) do update
     set next_seq = excluded.next_seq, chain = excluded.chain, envelope_kid = excluded.envelope_kid
     where audit_cursors.next_seq < excluded.next_seq`,
    [toUuid(ledgerId), cursor.nextSeq, cursor.chain, cursor.envelopeKid],
  )
}

/** Until the end of the transaction; false when another worker is at the ledger. */
export async function tryLockAuditCursor(client: pg.ClientBase, ledgerId: Uint8Array): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    "select pg_try_advisory_xact_lock(hashtextextended('audit cursor ' || $1, 0)) as locked",
    [toUuid(ledgerId)],
  )
  return rows[0]!.locked
}

/** In a transaction that has done nothing yet: one moment's view, and no plan that scans the ledgers of others. */
export async function useSnapshot(client: pg.ClientBase): Promise<void> {
  await client.query(
    'set transaction isolation level repeatable read, read only; set local enable_seqscan = off; set local jit = off',
  )
}

export type FollowerLag = { readonly entries: number; readonly seconds: number }

/** Of all ledgers without a fault: entries that are not verified yet, and the age of the oldest of them. */
export async function readFollowerLag(db: Db): Promise<FollowerLag> {
  const { rows } = await db.query<{ entries: string; seconds: number }>(
    `select coalesce(sum(h.size - coalesce(c.next_seq, 0)), 0) as entries,
       coalesce(max(extract(epoch from now() - e.recorded_at)), 0)::float8 as seconds
     from tallystick.chain_heads h
     left join tallystick.audit_cursors c on c.ledger_id = h.ledger_id
     left join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = coalesce(c.next_seq, 0)
     where h.size > coalesce(c.next_seq, 0) and not exists (
       select from tallystick.ledger_faults f where f.ledger_id = h.ledger_id and f.cleared_at is null)`,
  )
  return { entries: Number(rows[0]!.entries), seconds: rows[0]!.seconds }
}
