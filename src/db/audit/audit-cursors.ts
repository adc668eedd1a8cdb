import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { CursorPlace } from '../../signing/cursor-mac.ts'
import { hasOpenFault, IS_HERE } from '../chain/floors.ts'
import type { Db } from '../connect/client.ts'

/** As it is stored: anybody who goes by it MUST hold its MAC to it. */
type StoredCursor = CursorPlace & { readonly mac: Buffer }

/**
 * Ledgers without an open fault whose head is not where their cursor is, in no order that a ledger could rely on. `among`: of
 * these alone.
 */
export async function listLedgersUnverified(
  db: Db,
  limit: number,
  among: readonly Uuid[] | null = null,
): Promise<Uuid[]> {
  const { rows } = await db.query<{ ledgerId: Uuid }>(
    `select h.ledger_id from tallystick.chain_heads h
     left join tallystick.audit_cursors c on c.ledger_id = h.ledger_id
     where h.size <> coalesce(c.next_seq, 0) and ${IS_HERE} and not ${hasOpenFault('h.ledger_id')}
       ${among === null ? '' : 'and h.ledger_id = any($2)'}
     order by random() limit $1`,
    among === null ? [limit] : [limit, among],
  )
  return rows.map((row) => row.ledgerId)
}

type CursorColumns = {
  ledgerId: Uuid
  nextSeq: number
  chain: Buffer
  envelopeKid: Buffer
  agentKeys: Buffer | null
  mac: Buffer
}

const CURSOR_COLUMNS = 'ledger_id, next_seq, chain, envelope_kid, agent_keys, mac'

export async function findAuditCursor(db: Db, ledgerId: Uuid): Promise<StoredCursor | null> {
  const { rows } = await db.query<CursorColumns>(
    `select ${CURSOR_COLUMNS} from tallystick.audit_cursors where ledger_id = $1`,
    [ledgerId],
  )
  return rows[0] ? toCursor(rows[0]) : null
}

/** By ledger, after `after`. */
export async function listAuditCursors(
  db: Db,
  after: Uuid | null,
  limit: number,
): Promise<(StoredCursor & { readonly ledgerId: Uuid })[]> {
  const { rows } = await db.query<CursorColumns>(
    `select ${CURSOR_COLUMNS} from tallystick.audit_cursors
     where $1::uuid is null or ledger_id > $1 order by ledger_id limit $2`,
    [after, limit],
  )
  return rows.map((row) => ({ ...toCursor(row), ledgerId: row.ledgerId }))
}

function toCursor({ nextSeq, chain, envelopeKid, agentKeys, mac }: CursorColumns): StoredCursor {
  return { nextSeq, chain, envelopeKid, agentKeys, mac }
}

/** Only forward: another worker may have come further. */
export async function moveAuditCursor(db: Db, ledgerId: Uuid, cursor: StoredCursor): Promise<void> {
  await db.query(
    `insert into tallystick.audit_cursors (ledger_id, next_seq, chain, envelope_kid, agent_keys, mac)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (ledger_id) do update
     set next_seq = excluded.next_seq, chain = excluded.chain, envelope_kid = excluded.envelope_kid,
       agent_keys = excluded.agent_keys, mac = excluded.mac
     where audit_cursors.next_seq < excluded.next_seq`,
    [ledgerId, cursor.nextSeq, cursor.chain, cursor.envelopeKid, cursor.agentKeys, cursor.mac],
  )
}

/** One that is not believed, as long as it is the one that was read. */
export async function removeAuditCursor(db: Db, ledgerId: Uuid, mac: Uint8Array): Promise<void> {
  await db.query('delete from tallystick.audit_cursors where ledger_id = $1 and mac = $2', [ledgerId, mac])
}

/**
 * Until the end of the transaction; false when another worker is at the ledger. A row's lock, because the API's login may take any
 * advisory lock, and none of these. A ledger without a cursor has no row: two workers may then verify the same.
 */
export async function tryLockAuditCursor(client: pg.ClientBase, ledgerId: Uuid): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean; locked: boolean }>(
    `with locked as materialized (
       select from tallystick.audit_cursors where ledger_id = $1 for update skip locked
     )
     select exists (select from tallystick.audit_cursors where ledger_id = $1) as exists, exists (select from locked) as locked`,
    [ledgerId],
  )
  return rows[0]!.locked || !rows[0]!.exists
}

/**
 * In a transaction that has done nothing yet: one moment's view, and no plan that scans the ledgers of others. `mayLock`: rows
 * can be locked in it.
 */
export async function useSnapshot(client: pg.ClientBase, { mayLock = false } = {}): Promise<void> {
  const access = mayLock ? '' : ', read only'
  await client.query(
    `set transaction isolation level repeatable read${access}; set local enable_seqscan = off; set local jit = off`,
  )
}

type FollowerLag = { readonly entries: number; readonly seconds: number }

/** Unverified entries of all ledgers without a fault, and the age of the oldest. */
export async function readFollowerLag(db: Db): Promise<FollowerLag> {
  const { rows } = await db.query<{ entries: number; seconds: number }>(
    `select coalesce(sum(h.size - coalesce(c.next_seq, 0)), 0) as entries,
       coalesce(max(extract(epoch from now() - e.recorded_at)), 0)::float8 as seconds
     from tallystick.chain_heads h
     left join tallystick.audit_cursors c on c.ledger_id = h.ledger_id
     left join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = coalesce(c.next_seq, 0)
     where h.size > coalesce(c.next_seq, 0) and ${IS_HERE} and not ${hasOpenFault('h.ledger_id')}`,
  )
  return { entries: rows[0]!.entries, seconds: rows[0]!.seconds }
}
