import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import type { PeeringKey } from './peers.ts'

/* Counts this server's entries, to compare them with the entries that a peer reports as stored. */

export type ExchangeCounts = {
  /**
   * Number of shared records of this ledger. `sentEntries` counts entries about these records, about offers and about
   * the peering, except entries that name keys.
   */
  readonly sentRecords: number
  readonly sentEntries: number
  readonly acknowledged: number
  readonly deadLetters: number
  readonly receivedRecords: number
  readonly receivedEntries: number
  readonly forks: number
  /** Number of offers by agents of this ledger that are not decided yet. */
  readonly offersPending: number
  readonly offersTaken: number
  readonly offersRefused: number
  /** Number of offers by agents of the peer that this ledger has accepted. */
  readonly answersTaken: number
  readonly answersRefused: number
}

/**
 * Counts everything that was exchanged, in one snapshot. Leaves out entries after the peering's end, because they are
 * not sent. Reads every counted entry, so many entries take a long time.
 */
export async function countExchange(db: Db, peering: PeeringKey): Promise<ExchangeCounts> {
  const { rows } = await db.query<Record<keyof ExchangeCounts, string>>({
    name: 'count_peer_exchange',
    text: `with peering as (
        select p.ledger_id, p.peer_id, p.role, p.added_seq, coalesce(p.revoked_seq, 9223372036854775807) as end_seq
        from tallystick.peers p where p.ledger_id = $1 and p.peer_id = $2
      ), shared as materialized (
        select s.record_id, s.shared_seq, r.first_seq from peering p
        join tallystick.shared_records s on s.ledger_id = p.ledger_id and s.peer_id = p.peer_id
        join tallystick.records r on r.ledger_id = s.ledger_id and r.record_id = s.record_id
      ), sent as (
        select s.first_seq as seq from shared s
        union all select s.shared_seq from shared s where s.shared_seq <> s.first_seq
        union all
        select e.seq from shared s join tallystick.entries e
          on e.ledger_id = $1 and e.subject_id = s.record_id and e.version > 1
        union all
        select x.seq from tallystick.erasures x
        join tallystick.entries d on d.ledger_id = x.ledger_id and d.seq = x.document_seq
        join shared s on s.record_id = d.subject_id
        where x.ledger_id = $1
        union all select o.seq from tallystick.offers o where o.ledger_id = $1 and o.peer_id = $2
        union all
        select r.seq from tallystick.received_entries r
        join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.seq and e.kind = 'offer-refused'
        where r.ledger_id = $1 and r.peer_id = $2 and r.kind = 'step-offered'
        union all select p.added_seq from peering p where p.role = 'invited' and p.added_seq is not null
        union all
        select e.seq from peering p join tallystick.entries e
          on e.ledger_id = p.ledger_id and e.seq = p.end_seq and e.kind = 'peer-revoked'
      ), counted as (
        select count(*) as entries, count(x.seq) as acknowledged
        from sent n cross join peering p
        left join tallystick.peer_receipts x on x.ledger_id = p.ledger_id and x.seq = n.seq and x.peer_id = p.peer_id
        where n.seq <= p.end_seq
      ), offered as (
        select count(*) filter (where o.state = 'pending') as pending, count(*) filter (where o.state = 'taken') as taken,
          count(*) filter (where o.state = 'refused') as refused
        from tallystick.offers o where o.ledger_id = $1 and o.peer_id = $2
      ), answered as (
        select count(*) filter (where e.kind = 'offer-refused') as refused,
          count(*) filter (where e.kind <> 'offer-refused') as taken
        from tallystick.received_entries r
        join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.seq
        where r.ledger_id = $1 and r.peer_id = $2 and r.kind = 'step-offered'
      )
      select (select count(*) from shared) as "sentRecords", c.entries as "sentEntries", c.acknowledged,
        (select count(*) from tallystick.peer_dead_letters d where d.ledger_id = $1 and d.peer_id = $2) as "deadLetters",
        (select count(*) from tallystick.remote_records m where m.ledger_id = $1 and m.peer_id = $2) as "receivedRecords",
        (select count(*) from tallystick.received_entries r where r.ledger_id = $1 and r.peer_id = $2) as "receivedEntries",
        o.pending as "offersPending", o.taken as "offersTaken", o.refused as "offersRefused",
        a.taken as "answersTaken", a.refused as "answersRefused"
      from counted c, offered o, answered a`,
    values: [peering.ledgerId, peering.peerId],
  })
  return Object.fromEntries(
    Object.entries(rows[0]!).map(([name, count]) => [name, Number(count)]),
  ) as ExchangeCounts
}

/**
 * The peer's last summary, as JSON of src/outside/federation/summary.ts. `isAsked` is true if a new summary was
 * requested and has not arrived yet.
 */
type PeerSummaryRow = {
  readonly summary: string | null
  readonly summaryAt: Date | null
  readonly isAsked: boolean
}

/**
 * Returns the last summary of the peer. Returns null if the peering has no cursor, because nothing is sent to the peer.
 */
export async function findPeerSummary(db: Db, peering: PeeringKey): Promise<PeerSummaryRow | null> {
  const { rows } = await db.query<{
    summary: string | null
    summaryAt: Date | null
    summaryWanted: boolean
  }>({
    name: 'find_peer_summary',
    text: `select summary, summary_at, summary_wanted from tallystick.peer_cursors where ledger_id = $1 and peer_id = $2`,
    values: [peering.ledgerId, peering.peerId],
  })
  const row = rows[0]
  return row ? { summary: row.summary, summaryAt: row.summaryAt, isAsked: row.summaryWanted } : null
}

export async function wantPeerSummary(db: Db, peering: PeeringKey): Promise<void> {
  await db.query({
    name: 'want_peer_summary',
    text: 'select tallystick.want_peer_summary($1, $2)',
    values: [peering.ledgerId, peering.peerId],
  })
}

/** State of a shared record in this ledger. `isOwn` is true if this ledger is the record's home. */
export type SharedRecordState = {
  readonly recordId: Uuid
  readonly isOwn: boolean
  readonly version: number
  readonly leaf: Buffer
}

/** Lists shared records in the order of their ids. Begins after the record `after`. */
export async function listSharedRecordStates(
  db: Db,
  peering: PeeringKey,
  page: { readonly after: Uuid | null; readonly limit: number },
): Promise<SharedRecordState[]> {
  const { rows } = await db.query<{ recordId: Uuid; own: boolean; version: number; leaf: Buffer }>({
    name: 'list_shared_record_states',
    text: `select * from (
        (select s.record_id, true as own, g.version, e.leaf
        from tallystick.shared_records s
        join tallystick.gated_records g on g.ledger_id = s.ledger_id and g.record_id = s.record_id
        join tallystick.entries e on e.ledger_id = g.ledger_id and e.seq = g.last_seq
        where s.ledger_id = $1 and s.peer_id = $2 and ($3::uuid is null or s.record_id > $3)
        order by s.record_id limit $4)
        union all
        (select m.record_id, false, m.version, m.leaf from tallystick.remote_records m
        where m.ledger_id = $1 and m.peer_id = $2 and ($3::uuid is null or m.record_id > $3)
        order by m.record_id limit $4)
      ) w order by record_id limit $4`,
    values: [peering.ledgerId, peering.peerId, page.after, page.limit],
  })
  return rows.map((row) => ({
    recordId: row.recordId,
    isOwn: row.own,
    version: row.version,
    leaf: row.leaf,
  }))
}

/**
 * Returns the leaves (hex) of shared records' events, in the order of `events`. The result has null for an event that
 * does not exist.
 */
export async function findLeavesOfVersions(
  db: Db,
  peering: PeeringKey,
  events: readonly { readonly recordId: Uuid; readonly isOwn: boolean; readonly version: number }[],
): Promise<(string | null)[]> {
  const { rows } = await db.query<{ leaf: Buffer | null }>({
    name: 'find_peer_leaves_of_versions',
    text: `select coalesce(f.leaf, e.leaf, r.leaf) as leaf
      from unnest($3::uuid[], $4::int4[], $5::bool[]) with ordinality k (record_id, version, own, place)
      left join lateral (
        select n.leaf from tallystick.records c
        join tallystick.entries n on n.ledger_id = c.ledger_id and n.seq = c.first_seq
        where k.own and k.version = 1 and c.ledger_id = $1 and c.record_id = k.record_id offset 0
      ) f on true
      left join lateral (
        select n.leaf from tallystick.entries n
        where k.own and n.version > 1 and n.ledger_id = $1 and n.subject_id = k.record_id and n.version = k.version offset 0
      ) e on true
      left join lateral (
        select n.leaf from tallystick.received_entries n
        where not k.own and n.ledger_id = $1 and n.peer_id = $2 and n.record_id = k.record_id and n.version = k.version
          and n.version is not null offset 0
      ) r on true
      order by k.place`,
    values: [
      peering.ledgerId,
      peering.peerId,
      events.map(({ recordId }) => recordId),
      events.map(({ version }) => version),
      events.map(({ isOwn }) => isOwn),
    ],
  })
  return rows.map(({ leaf }) => leaf?.toString('hex') ?? null)
}
