import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import { bytea, encodeColumn, uuid } from '../connect/binary-array.ts'
import type { Db } from '../connect/client.ts'
import { type SignedColumns, toSignedLine } from './signed-entries.ts'

/** Size of a chain, and its hash (32 bytes) at that size. */
export type Head = { readonly size: number; readonly chain: Uint8Array }

/** A state that the ledger is known to have had, but that its present chain does not continue. */
export type ContradictionRow = {
  readonly index: number
  /** Present state of the ledger. null if the ledger no longer exists. */
  readonly current: { readonly size: number; readonly closed: string | null } | null
  /**
   * The entry that is stored as acknowledgement of this contradiction, and the chain hash before that entry. null if
   * there is no such entry. The caller must verify the entry.
   */
  readonly restored: {
    readonly seq: number
    readonly entry: SignedLine
    readonly chainBefore: Uint8Array
  } | null
}

type ContradictionColumns = {
  ix: number
  size: number | null
  closed: string | null
  restoredSeq: number | null
  chainBefore: Buffer | null
} & (SignedColumns | Record<keyof SignedColumns, null>)

/**
 * Returns those of the known states whose chain hash differs from the ledger's chain hash at the same size. Takes one
 * look-up by primary key for each state.
 */
export async function listContradictionRows(
  db: Db,
  known: readonly (Head & { readonly ledgerId: Uuid })[],
): Promise<ContradictionRow[]> {
  const { rows } = await db.query<ContradictionColumns>({
    name: 'list_contradictions',
    text: `select k.ix, h.size, h.closed, c.restored_seq, b.chain as chain_before, a.kind, a.recorded_at, a.leaf, a.envelope
      from (
        select k.* from unnest($1::uuid[], $2::bigint[], $3::bytea[]) with ordinality k (ledger_id, size, chain, ix)
        left join lateral (
          select x.chain from tallystick.entries x where x.ledger_id = k.ledger_id and x.seq = k.size - 1 offset 0
        ) e on true
        where e.chain is distinct from k.chain
      ) k
      left join lateral (
        select x.size, x.closed from tallystick.chain_heads x where x.ledger_id = k.ledger_id offset 0
      ) h on true
      left join lateral (
        select x.restored_seq from tallystick.ledger_closures x
        where x.ledger_id = k.ledger_id and x.known_size = k.size and x.known_chain = k.chain offset 0
      ) c on true
      left join lateral (
        select x.kind, x.recorded_at, x.leaf, x.envelope from tallystick.entries x
        where x.ledger_id = k.ledger_id and x.seq = c.restored_seq offset 0
      ) a on true
      left join lateral (
        select x.chain from tallystick.entries x where x.ledger_id = k.ledger_id and x.seq = c.restored_seq - 1 offset 0
      ) b on true`,
    values: [
      encodeColumn(uuid, known, ({ ledgerId }) => ledgerId),
      known.map(({ size }) => size),
      encodeColumn(bytea, known, ({ chain }) => chain),
    ],
  })
  return rows.map((row) => ({
    index: row.ix - 1,
    current: row.size === null ? null : { size: row.size, closed: row.closed },
    restored:
      row.restoredSeq === null || row.kind === null || row.chainBefore === null
        ? null
        : { seq: row.restoredSeq, entry: toSignedLine(row), chainBefore: row.chainBefore },
  }))
}

/**
 * A state that the ledger is known to have had. `refusedSeq` is the seq of an entry that is stored as acknowledgement
 * of the lost state, but does not acknowledge it. null if there is no such entry.
 */
type KnownHead = Head & { readonly ledgerId: Uuid; readonly refusedSeq: number | null }

/**
 * Closes the ledgers to appends. Returns the ids of the ledgers that this call has closed. Only the worker calls it.
 *
 * Skips a ledger that contains the known state or is closed already. Skips also a ledger whose contradiction was
 * acknowledged meanwhile.
 */
export async function closeRestoredLedgers(db: Db, known: readonly KnownHead[]): Promise<Uuid[]> {
  const { rows } = await db.query<{ closed: Uuid[] }>(
    'select tallystick.close_restored_ledgers($1, $2, $3, $4)::text[] as closed',
    [
      encodeColumn(uuid, known, ({ ledgerId }) => ledgerId),
      known.map(({ size }) => size),
      encodeColumn(bytea, known, ({ chain }) => chain),
      known.map(({ refusedSeq }) => refusedSeq),
    ],
  )
  return rows[0]!.closed
}

/**
 * The state that was known when a ledger was closed, and the state that was found instead. The found state is the
 * present state, or the state before the entry that reopened the ledger.
 */
export type Closure = {
  readonly known: Head
  readonly found: Head
  readonly closedAt: Date
  /** The entry that reopened the ledger. null while the ledger is closed. */
  readonly entry: { readonly seq: number; readonly leaf: Uint8Array; readonly chain: Uint8Array } | null
}

/**
 * Returns the ledger's open closure. If none is open, returns its last closure, or null if the ledger was never closed.
 */
export async function findClosure(db: Db, ledgerId: Uuid): Promise<Closure | null> {
  const { rows } = await db.query<{
    knownSize: number
    knownChain: Buffer
    foundSize: number
    foundChain: Buffer
    closedAt: Date
    restoredSeq: number | null
    leaf: Buffer
    chain: Buffer
  }>(
    `select c.known_size, c.known_chain, f.seq + 1 as found_size, f.chain as found_chain, c.closed_at, c.restored_seq,
       a.leaf, a.chain
     from tallystick.ledger_closures c
     join tallystick.chain_heads h on h.ledger_id = c.ledger_id
     join tallystick.entries f on f.ledger_id = c.ledger_id and f.seq = coalesce(c.restored_seq, h.size) - 1
     left join tallystick.entries a on a.ledger_id = c.ledger_id and a.seq = c.restored_seq
     where c.ledger_id = $1
     order by c.restored_seq desc nulls first limit 1`,
    [ledgerId],
  )
  const row = rows[0]
  if (!row) return null
  return {
    known: { size: row.knownSize, chain: row.knownChain },
    found: { size: row.foundSize, chain: row.foundChain },
    closedAt: row.closedAt,
    entry: row.restoredSeq === null ? null : { seq: row.restoredSeq, leaf: row.leaf, chain: row.chain },
  }
}
