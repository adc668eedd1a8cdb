import type { Db } from '../connect/client.ts'
import type { PeerState } from './peers.ts'

/* Reads figures about peerings and about sending to peers, over all ledgers, for metrics. */

type PeerFigures = {
  readonly states: Readonly<Record<PeerState, number>>
  /** Number of peers whose last request failed. `failingSeconds` is the age of the oldest of these failures. */
  readonly failing: number
  readonly failingSeconds: number
  /** Number of active peers that have not received all entries of their ledger yet. */
  readonly behind: number
  /**
   * Number of active peers that are behind and to which requests may be sent now. `waitingSeconds` is the age of the
   * oldest entry that one of them has not received.
   */
  readonly waiting: number
  readonly waitingSeconds: number
  /**
   * Figures of entries beyond the cursors, by the peering's state. `entries` is the total number, `most` is the number
   * of the peer that is furthest behind, and `seconds` is the age of the oldest entry.
   */
  readonly lag: Readonly<Record<'active' | 'suspended', PeerLag>>
}

type PeerLag = { readonly entries: number; readonly most: number; readonly seconds: number }

type FigureColumns = {
  state: PeerState
  peers: number
  failing: number
  failingSeconds: number
  behind: number
  waiting: number
  waitingSeconds: number
  lagEntries: number
  lagMost: number
  lagSeconds: number
}

/**
 * Returns the figures.
 *
 * Expired invitations are not counted. A peer that has suspended us is not counted as failing, because it has answered
 * that we must wait. The cursor of an active peering also moves past entries that are never sent, so these entries do
 * not keep a peer behind.
 */
export async function readPeerFigures(db: Db): Promise<PeerFigures> {
  const { rows } = await db.query<FigureColumns>(
    `select p.state, count(*) as peers, count(*) filter (where f.failing) as failing,
       coalesce(greatest(max(extract(epoch from now() - c.failing_since)) filter (where f.failing), 0), 0) as failing_seconds,
       count(*) filter (where c.next_seq < h.size) as behind, count(*) filter (where t.waits) as waiting,
       coalesce(greatest(max(extract(epoch from now() - e.recorded_at)) filter (where t.waits), 0), 0) as waiting_seconds,
       coalesce(sum(h.size - c.next_seq) filter (where c.next_seq < h.size), 0) as lag_entries,
       coalesce(max(h.size - c.next_seq) filter (where c.next_seq < h.size), 0) as lag_most,
       coalesce(greatest(max(extract(epoch from now() - e.recorded_at)), 0), 0) as lag_seconds
     from tallystick.peers p
     join tallystick.chain_heads h on h.ledger_id = p.ledger_id
     left join tallystick.peer_cursors c on c.ledger_id = p.ledger_id and c.peer_id = p.peer_id
     cross join lateral (
       select p.state in ('pending', 'active') and c.failures > 0 and c.last_error not like 'peer_suspended:%' as failing
     ) f
     cross join lateral (select c.next_seq < h.size and (c.resume_at is null or c.resume_at <= now()) as waits) t
     left join lateral (
       select n.recorded_at from tallystick.entries n where n.ledger_id = c.ledger_id and n.seq = c.next_seq offset 0
     ) e on p.state in ('active', 'suspended') and c.next_seq < h.size
     where p.expires_at > now() or p.added_seq is not null
     group by p.state`,
  )
  const of = (state: PeerState) => rows.find((row) => row.state === state)
  const lagOf = (state: PeerState): PeerLag => ({
    entries: of(state)?.lagEntries ?? 0,
    most: of(state)?.lagMost ?? 0,
    seconds: of(state)?.lagSeconds ?? 0,
  })
  const count = (state: PeerState) => of(state)?.peers ?? 0
  return {
    states: {
      invited: count('invited'),
      pending: count('pending'),
      active: count('active'),
      suspended: count('suspended'),
      revoked: count('revoked'),
    },
    failing: rows.reduce((sum, { failing }) => sum + failing, 0),
    failingSeconds: Math.max(0, ...rows.map(({ failingSeconds }) => failingSeconds)),
    behind: of('active')?.behind ?? 0,
    waiting: of('active')?.waiting ?? 0,
    waitingSeconds: of('active')?.waitingSeconds ?? 0,
    lag: { active: lagOf('active'), suspended: lagOf('suspended') },
  }
}

/**
 * Counts over all peerings that are not revoked. `deadLetters` is the number of entries that peers refused for good.
 * `offersPending` is the number of offers that are not decided yet.
 */
type PeerOpenCounts = {
  readonly deadLetters: number
  readonly offersPending: number
}

export async function countPeerOpenWork(db: Db, most: number): Promise<PeerOpenCounts> {
  const counted = (table: string, condition: string) => `(select count(*) from (
    select from tallystick.${table} n
    join tallystick.peers p on p.ledger_id = n.ledger_id and p.peer_id = n.peer_id and p.state <> 'revoked'
    where ${condition} limit $1
  ) d)`
  const { rows } = await db.query<Record<keyof PeerOpenCounts, string>>(
    `select ${counted('peer_dead_letters', 'true')} as "deadLetters",
       ${counted('offers', "n.state = 'pending'")} as "offersPending"`,
    [most],
  )
  const { deadLetters, offersPending } = rows[0]!
  return { deadLetters: Number(deadLetters), offersPending: Number(offersPending) }
}
