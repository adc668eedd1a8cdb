import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

/*
 * Reads and sets the daily budget of each peer for data that is stored here. migrations/functions/charge-peers.sql
 * counts the data in the transaction that stores it.
 */

/**
 * Numbers of entries and bytes that were stored for a peer since its present day began, and their maximums. A maximum
 * is null if nobody has set it.
 */
export type PeerBudgetRow = {
  readonly entries: number
  readonly bytes: number
  readonly entriesMax: number | null
  readonly bytesMax: number | null
  /** Time at which the peer's present day ends. null if nothing was stored today. */
  readonly resetsAt: Date | null
}

/** SQL that joins the budgets of the peerings `p` as `b`. */
export const BUDGET_JOIN = `left join tallystick.peer_budgets b on b.ledger_id = p.ledger_id and b.peer_id = p.peer_id`

const IS_TODAY = `b.began_at > now() - interval '1 day'`

export const BUDGET_COLUMNS = `case when ${IS_TODAY} then b.entries else 0 end as budget_entries,
  case when ${IS_TODAY} then b.bytes else 0 end as budget_bytes, b.entries_max, b.bytes_max,
  case when ${IS_TODAY} then b.began_at + interval '1 day' end as budget_resets_at`

export type BudgetColumns = {
  budgetEntries: number
  budgetBytes: number
  entriesMax: number | null
  bytesMax: number | null
  budgetResetsAt: Date | null
}

export function toBudget(row: BudgetColumns): PeerBudgetRow {
  return {
    entries: row.budgetEntries,
    bytes: row.budgetBytes,
    entriesMax: row.entriesMax,
    bytesMax: row.bytesMax,
    resetsAt: row.budgetResetsAt,
  }
}

/**
 * `full` is the number of active peerings that have used up their budget. `most` is the largest used fraction of any
 * budget.
 */
type PeerBudgetFigures = { readonly full: number; readonly most: number }

/** Returns the figures of all ledgers. `ofAll` is the default budget. */
export async function readPeerBudgets(
  db: Db,
  ofAll: { readonly entriesMax: number; readonly bytesMax: number },
): Promise<PeerBudgetFigures> {
  const { rows } = await db.query<{ full: number; most: number }>(
    `select count(*) filter (where u.part >= 1) as full, coalesce(max(u.part), 0) as most
     from tallystick.peer_budgets b
     join tallystick.peers p on p.ledger_id = b.ledger_id and p.peer_id = b.peer_id and p.state = 'active'
     cross join lateral (
       select greatest(b.entries / coalesce(b.entries_max, $1)::float8, b.bytes / coalesce(b.bytes_max, $2)::float8) as part
     ) u
     where ${IS_TODAY}`,
    [ofAll.entriesMax, ofAll.bytesMax],
  )
  return { full: rows[0]!.full, most: rows[0]!.most }
}

/** Sets a peering's budget. null sets the default budget. Returns false if the peering does not exist. */
export async function setPeerBudget(
  db: Db,
  peering: { readonly ledgerId: Uuid; readonly peerId: Uuid },
  budget: { readonly entriesPerDay: number; readonly bytesPerDay: number } | null,
): Promise<boolean> {
  const { rows } = await db.query<{ set: boolean }>(
    'select tallystick.set_peer_budget($1, $2, $3, $4) as set',
    [peering.ledgerId, peering.peerId, budget?.entriesPerDay ?? null, budget?.bytesPerDay ?? null],
  )
  return rows[0]!.set
}
