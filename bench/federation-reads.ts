import { withClient } from '../src/db/connect/client.ts'
import { parseId } from '../src/proof/ids.ts'
import type { Side } from './pair.ts'

/** A ledger, with the owner's URL of its database. */
export type LedgerIn = Pick<Side, 'name' | 'ownerUrl' | 'ledger'>

/* Reads both chains from their databases, so that no server spends CPU on this. */

/**
 * A received entry. `remoteSeq`: the entry's seq in the sender's chain. `lagMs`: the receiver's `recordedAt` minus
 * the sender's `recordedAt`.
 */
export type Received = { readonly remoteSeq: number; readonly leaf: string; readonly lagMs: number }

/**
 * Lists the entries that the receiver has received. `from`: the receiver's seq at which the list begins. Throws if a
 * received entry is not in the sender's chain.
 */
export async function listReceived(sender: LedgerIn, receiver: LedgerIn, from = 0): Promise<Received[]> {
  const received = await query<{ remoteSeq: number; leaf: string; ms: number }>(
    receiver,
    `select r.remote_seq::float8, encode(r.leaf, 'hex') as leaf, extract(epoch from e.recorded_at)::float8 * 1000 as ms
     from tallystick.received_entries r join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.seq
     where r.ledger_id = $1 and r.seq >= $2 order by r.seq`,
    [from],
  )
  const sent = await query<{ seq: number; leaf: string; ms: number }>(
    sender,
    `select seq::float8, encode(leaf, 'hex') as leaf, extract(epoch from recorded_at)::float8 * 1000 as ms
     from tallystick.entries where ledger_id = $1 and seq >= $2`,
    [received.reduce((least, { remoteSeq }) => Math.min(least, remoteSeq), Number.MAX_SAFE_INTEGER)],
  )
  const bySeq = new Map(sent.map((entry) => [entry.seq, entry]))
  return received.map(({ remoteSeq, leaf, ms }) => {
    const original = bySeq.get(remoteSeq)
    if (original?.leaf !== leaf)
      throw new Error(`the ${sender.name}'s chain has no entry ${remoteSeq} with ${leaf}`)
    return { remoteSeq, leaf, lagMs: ms - original.ms }
  })
}

/** Counts the home's entries that are steps of shared records. Entries about the guest's offers are not counted. */
export async function countShared(home: LedgerIn): Promise<number> {
  const [row] = await query<{ entries: number }>(
    home,
    `select count(*)::float8 as entries from tallystick.entries e
     join tallystick.shared_records s on s.ledger_id = e.ledger_id and s.record_id = e.subject_id
     where e.ledger_id = $1 and e.version is not null`,
  )
  return row!.entries
}

export async function countOffers(
  guest: LedgerIn,
): Promise<{ readonly offers: number; readonly open: number }> {
  const [row] = await query<{ offers: number; open: number }>(
    guest,
    `select count(*)::float8 as offers, count(*) filter (where state = 'pending')::float8 as open
     from tallystick.offers where ledger_id = $1`,
  )
  return row!
}

/** Counts rows that exist only after a fault: dead letters and forks. */
export async function countFaults(
  side: LedgerIn,
): Promise<{ readonly deadLetters: number; readonly forks: number }> {
  const [row] = await query<{ deadLetters: number; forks: number }>(
    side,
    `select (select count(*)::float8 from tallystick.peer_dead_letters where ledger_id = $1) as "deadLetters",
       (select count(*)::float8 from tallystick.peer_forks where ledger_id = $1) as forks`,
  )
  return row!
}

async function query<Row extends object>(
  { ownerUrl, ledger }: LedgerIn,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const id = parseId('led', ledger)
  return withClient(ownerUrl, async (client) => (await client.query<Row>(text, [id, ...values])).rows)
}
