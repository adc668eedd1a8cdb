import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { CursorPosition } from '../../signing/cursor-mac.ts'
import { hasOpenFault, IS_HERE } from '../chain/verified-size.ts'
import type { Db } from '../connect/client.ts'

/** A cursor as stored. Its MAC MUST be verified before other values are trusted. */
type StoredCursor = CursorPosition & { readonly mac: Buffer }

/**
 * Lists ledgers without an open fault whose size differs from the position of their cursor, in random order. If `among`
 * is not null, lists only ledgers of `among`.
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
  const { rows } = await db.query<CursorColumns>({
    name: 'find_audit_cursor',
    text: `select ${CURSOR_COLUMNS} from tallystick.audit_cursors where ledger_id = $1`,
    values: [ledgerId],
  })
  return rows[0] ? toCursor(rows[0]) : null
}

/**
 * Lists at most `limit` cursors in the order of their ledger ids. Begins after the ledger `after`, or with the first
 * ledger if `after` is null.
 */
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

/** Moves the cursor, but only forward, because another worker may have moved it further. */
export async function moveAuditCursor(db: Db, ledgerId: Uuid, cursor: StoredCursor): Promise<void> {
  await db.query({
    name: 'move_audit_cursor',
    text: `insert into tallystick.audit_cursors (ledger_id, next_seq, chain, envelope_kid, agent_keys, mac)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (ledger_id) do update
     set next_seq = excluded.next_seq, chain = excluded.chain, envelope_kid = excluded.envelope_kid,
       agent_keys = excluded.agent_keys, mac = excluded.mac
     where audit_cursors.next_seq < excluded.next_seq`,
    values: [ledgerId, cursor.nextSeq, cursor.chain, cursor.envelopeKid, cursor.agentKeys, cursor.mac],
  })
}

/** Removes an untrusted cursor. Does nothing if the cursor has changed since it was read. */
export async function removeAuditCursor(db: Db, ledgerId: Uuid, mac: Uint8Array): Promise<void> {
  await db.query('delete from tallystick.audit_cursors where ledger_id = $1 and mac = $2', [ledgerId, mac])
}

/**
 * Locks the ledger's cursor until the end of the transaction. Returns false if another worker has the lock.
 *
 * This is a row lock and not an advisory lock: the API's login could take any advisory lock, but cannot lock these
 * rows. A ledger without a cursor has no row to lock, so two workers may verify the same entries of such a ledger.
 */
export async function tryLockAuditCursor(client: pg.ClientBase, ledgerId: Uuid): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean; locked: boolean }>({
    name: 'try_lock_audit_cursor',
    text: `with locked as materialized (
       select from tallystick.audit_cursors where ledger_id = $1 for update skip locked
     )
     select exists (select from tallystick.audit_cursors where ledger_id = $1) as exists, exists (select from locked) as locked`,
    values: [ledgerId],
  })
  return rows[0]!.locked || !rows[0]!.exists
}

/**
 * Sets up a new transaction with one snapshot and without sequential scans, which would read rows of other ledgers.
 * `mayLock` is true if the transaction may take row locks.
 */
export async function useSnapshot(client: pg.ClientBase, { mayLock = false } = {}): Promise<void> {
  const access = mayLock ? '' : ', read only'
  await client.query(
    `set transaction isolation level repeatable read${access}; set local enable_seqscan = off; set local jit = off`,
  )
}

type FollowerLag = { readonly entries: number; readonly seconds: number }

/**
 * Returns the number of unverified entries of all ledgers without an open fault, and the age of the oldest such entry.
 */
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
