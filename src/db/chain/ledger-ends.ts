import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

/** A state of a ledger, by its number of entries. */
export type LedgerState = { readonly ledgerId: Uuid; readonly size: number }

/** How far a ledger has come, as one look at the primary finds it. */
export type LedgerEnd = {
  /** Number of entries; 0 where there is no such ledger. */
  readonly size: number
  /** Size of the ledger right after its newest erasure; 0: it has none. A state of fewer entries may show a document that is erased. */
  readonly erasedBelow: number
  /** Chain hash (32 bytes) of the state that was asked about; null: the ledger has fewer entries, or the state none. */
  readonly chain: Buffer | null
  /** Bytes of the server's log that were written by then: nothing that is visible lies beyond them. */
  readonly walBytes: number
}

/** Ends of the ledgers of these states, in their order, in one query. On the primary only: a standby writes no log. */
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
