import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

export type LedgerState = { readonly ledgerId: Uuid; readonly size: number }

/** State of a ledger, read from the primary at one moment. */
export type LedgerEnd = {
  /** Number of entries. 0 if the ledger does not exist. */
  readonly size: number
  /**
   * Size of the ledger right after its newest erasure. 0 if nothing was erased. A server that reads a smaller ledger
   * may show an erased document.
   */
  readonly erasedBelow: number
  /**
   * Chain hash (32 bytes) of the requested state. null if the ledger is shorter than the requested state, or if the
   * requested size is 0.
   */
  readonly chain: Buffer | null
  /**
   * Length of the primary's write-ahead log in bytes, read at the same moment as the state. A standby that has replayed
   * these bytes shows at least this state.
   */
  readonly walBytes: number
}

/**
 * Returns the end of each ledger in `states`, in the same order, in one query. Must run on the primary, because a
 * standby writes no log.
 */
export async function readLedgerEnds(db: Db, states: readonly LedgerState[]): Promise<LedgerEnd[]> {
  const { rows } = await db.query<LedgerEnd>({
    name: 'read_ledger_ends',
    text: `select coalesce(h.size, 0) as size, coalesce(greatest(e.seq, d.seq) + 1, 0) as erased_below, n.chain,
        pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal_bytes
      from unnest($1::uuid[], $2::bigint[]) with ordinality as asked (ledger_id, size, ix)
      left join tallystick.chain_heads h on h.ledger_id = asked.ledger_id
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = asked.ledger_id order by x.seq desc limit 1
      ) e on true
      left join lateral (
        select x.erased_seq as seq from tallystick.received_documents x
        where x.ledger_id = asked.ledger_id and x.erased_seq is not null order by x.erased_seq desc limit 1
      ) d on true
      left join lateral (
        select x.chain from tallystick.entries x where x.ledger_id = asked.ledger_id and x.seq = asked.size - 1 offset 0
      ) n on true
      order by asked.ix`,
    values: [states.map(({ ledgerId }) => ledgerId), states.map(({ size }) => size)],
  })
  return rows
}
