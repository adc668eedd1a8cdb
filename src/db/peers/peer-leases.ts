import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { bytea, encodeColumn, int4, int8, text, uuid } from '../connect/binary-array.ts'
import type { Db } from '../connect/client.ts'
import { endText, type Lease, type LeaseTable, renewText } from '../jobs/leases.ts'
import { PEER_DRAINS_OF_LEDGER_MAX, PEER_SUMMARY_EVERY_MS } from '../limits.ts'
import {
  PEER_KEYS,
  type PeeringKey,
  type PeerKeyColumns,
  type PeerKeyRow,
  type PeerState,
  toPeerKeys,
} from './peers.ts'

/*
 * Queries about leases of peerings, and about the positions up to which entries were sent.
 * src/db/peers/shared-entries.ts reads the entries.
 */

export type PeerLease = Lease & PeeringKey

/**
 * SQL condition over peers `p` and cursors `c` that is true if a summary must be requested from the peer. It is due if
 * somebody has requested it, or once a day. Only a summary shows that a peer was restored from a backup.
 */
const SUMMARY_DUE = `(c.summary_wanted
    or coalesce(c.summary_at, p.created_at) < now() - ${PEER_SUMMARY_EVERY_MS} * interval '1 millisecond')`

/**
 * Table of the leases of peerings. Rules for when a peering has work:
 *
 * - A ledger that is closed as restored sends nothing until an operator has checked it.
 * - The invited side sends first.
 * - The end of a peering is sent too, as the last entry.
 */
export const PEER_LEASES: LeaseTable = {
  name: 'peer',
  cursors: 'peer_cursors',
  id: 'peer_id',
  joins: `join tallystick.peers p on p.ledger_id = c.ledger_id and p.peer_id = c.peer_id
    join tallystick.chain_heads h on h.ledger_id = c.ledger_id`,
  hasWork: `coalesce(h.closed, 'frozen') = 'frozen' and (c.resume_at is null or c.resume_at <= now()) and (
    c.job_id is not null
    or p.state = 'pending' and p.role = 'invited' and p.expires_at > now()
    or p.state = 'active' and (c.next_seq < h.size or c.known_kid <> h.envelope_kid or ${SUMMARY_DUE}
      or exists (select from tallystick.peer_backlog b where b.ledger_id = c.ledger_id and b.peer_id = c.peer_id))
    or p.state = 'revoked' and p.added_seq is not null and c.next_seq <= p.revoked_seq)`,
  ofLedgerMax: PEER_DRAINS_OF_LEDGER_MAX,
}

/** State of a peering, which is read before each request to the peer. */
export type DrainedPeer = PeeringKey & {
  readonly role: 'inviter' | 'invited'
  readonly state: PeerState
  readonly inviter: string
  readonly invited: string | null
  readonly sealedToken: Buffer | null
  readonly remoteLedgerId: Uuid
  readonly remoteUrl: string
  readonly revokedSeq: number | null
  readonly issuer: string
  /**
   * Kid of the key for the ledger's next entry, in lower-case hex. `knownKid` is our newest kid that the peer knows.
   */
  readonly envelopeKid: string
  readonly knownKid: string
  readonly nextSeq: number
  readonly size: number
  readonly failures: number
  /**
   * Maximum number of bytes of entries in a request. It is set when the peer refuses a request because of its size.
   * null if the peer has refused no request for this reason.
   */
  readonly requestBytes: number | null
  /** Time in ms since the peer last refused a request because of its size. */
  readonly refusedAgoMs: number
  /** The next record of the backlog, and the seq from which its entries are sent. null if the backlog is empty. */
  readonly backlog: { readonly recordId: Uuid; readonly fromSeq: number } | null
  readonly summaryDue: boolean
  readonly keys: readonly PeerKeyRow[]
}

/**
 * Reads the peering and renews its lease. Returns null if another job has the lease, or if the other ledger is unknown.
 */
export async function readPeer(db: Db, lease: PeerLease, leaseMs: number): Promise<DrainedPeer | null> {
  const { rows } = await db.query<{
    role: 'inviter' | 'invited'
    state: PeerState
    inviter: string
    invited: string | null
    sealedToken: Buffer | null
    remoteLedgerId: Uuid
    remoteUrl: string
    revokedSeq: number | null
    issuer: string
    envelopeKid: Buffer
    knownKid: Buffer
    nextSeq: number
    size: number
    failures: number
    requestBytes: number | null
    refusedAgoMs: number | null
    backlogId: Uuid | null
    backlogSeq: number
    summaryDue: boolean
    keys: PeerKeyColumns
  }>({
    name: 'read_peer',
    text: `with c as (${renewText(PEER_LEASES)})
      select set_config('synchronous_commit', 'off', true), p.role, p.state, p.inviter, p.invited, p.sealed_token,
        p.remote_ledger_id, p.remote_url, p.revoked_seq, l.issuer, h.envelope_kid, c.known_kid, c.next_seq, h.size, c.failures,
        c.request_bytes, (extract(epoch from now() - c.request_refused_at) * 1000)::float8 as refused_ago_ms,
        ${SUMMARY_DUE} as summary_due, b.record_id as backlog_id, b.from_seq as backlog_seq, ${PEER_KEYS} as keys
      from c join tallystick.peers p on p.ledger_id = c.ledger_id and p.peer_id = c.peer_id
      join tallystick.ledgers l on l.ledger_id = c.ledger_id
      join tallystick.chain_heads h on h.ledger_id = c.ledger_id
      left join lateral (
        select n.record_id, n.from_seq from tallystick.peer_backlog n
        where n.ledger_id = c.ledger_id and n.peer_id = c.peer_id order by n.record_id limit 1
      ) b on true
      where p.remote_ledger_id is not null`,
    values: [lease.ledgerId, lease.peerId, lease.jobId, leaseMs],
  })
  const [row] = rows
  if (!row) return null
  return {
    ledgerId: lease.ledgerId,
    peerId: lease.peerId,
    role: row.role,
    state: row.state,
    inviter: row.inviter,
    invited: row.invited,
    sealedToken: row.sealedToken,
    remoteLedgerId: row.remoteLedgerId,
    remoteUrl: row.remoteUrl,
    revokedSeq: row.revokedSeq,
    issuer: row.issuer,
    envelopeKid: row.envelopeKid.toString('hex'),
    knownKid: row.knownKid.toString('hex'),
    nextSeq: row.nextSeq,
    size: row.size,
    failures: row.failures,
    requestBytes: row.requestBytes,
    refusedAgoMs: row.refusedAgoMs ?? Number.POSITIVE_INFINITY,
    backlog: row.backlogId === null ? null : { recordId: row.backlogId, fromSeq: row.backlogSeq },
    summaryDue: row.summaryDue,
    keys: toPeerKeys(row.keys),
  }
}

/**
 * Change of a record in the backlog. All entries of the record from seq `fromSeq` on must be sent (again). If `fromSeq`
 * is null, all were sent, and the record leaves the backlog.
 *
 * `readSeq` is the record's seq when the backlog was read, or null if the record was not in the backlog. If another
 * process has added the record or moved its seq back since then, that change stays.
 */
export type BacklogChange = {
  readonly recordId: Uuid
  readonly fromSeq: number | null
  readonly readSeq: number | null
}

export type SentResults = {
  /** Receipts from the peer. `envelope` is the peer's receipt for our entry at `seq`. */
  readonly receipts: readonly { readonly seq: number; readonly envelope: Uint8Array }[]
  readonly dead: readonly {
    readonly seq: number
    readonly recordId: Uuid | null
    readonly kind: string
    readonly code: string
    readonly detail: string
  }[]
  readonly backlog: readonly BacklogChange[]
  readonly nextSeq: number
  /** Our newest kid (hex) that the peer knows now. */
  readonly knownKid: string
  /** True if the peer answered, even if it refused. */
  readonly answered: boolean
}

/**
 * Stores the results of sending in one transaction, without waiting for the disk. Returns false without a write if
 * another job has the lease.
 *
 * If a crash loses the results, the entries are sent again and get the same answers.
 */
export async function settleSent(
  client: pg.ClientBase,
  lease: PeerLease,
  sent: SentResults,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'settle_peer_sent',
    text: `update tallystick.peer_cursors c set next_seq = $4, known_kid = $5,
        leased_until = now() + $6 * interval '1 millisecond',
        failures = case when $7 then 0 else failures end, failing_since = case when $7 then null else failing_since end,
        last_error = case when $7 then null else last_error end, resume_at = case when $7 then null else resume_at end,
        last_success_at = case when $7 then now() else last_success_at end
      where c.ledger_id = $1 and c.peer_id = $2 and c.job_id = $3
      returning set_config('synchronous_commit', 'off', true)`,
    values: [
      lease.ledgerId,
      lease.peerId,
      lease.jobId,
      sent.nextSeq,
      Buffer.from(sent.knownKid, 'hex'),
      leaseMs,
      sent.answered,
    ],
  })
  if (rowCount === 0) return false
  if (sent.receipts.length > 0) await storeReceipts(client, lease, sent.receipts)
  if (sent.dead.length > 0) await storeDeadLetters(client, lease, sent.dead)
  for (const change of sent.backlog) await changeBacklog(client, lease, change)
  return true
}

async function storeReceipts(
  client: pg.ClientBase,
  { ledgerId, peerId }: PeerLease,
  receipts: SentResults['receipts'],
): Promise<void> {
  await client.query({
    name: 'store_peer_receipts',
    text: `insert into tallystick.peer_receipts (ledger_id, seq, peer_id, envelope)
      select $1::uuid, n.seq, $2::uuid, n.envelope from unnest($3::int8[], $4::bytea[]) n (seq, envelope)
      on conflict do nothing`,
    values: [
      ledgerId,
      peerId,
      encodeColumn(int8, receipts, ({ seq }) => seq),
      encodeColumn(bytea, receipts, ({ envelope }) => envelope),
    ],
  })
}

async function storeDeadLetters(
  client: pg.ClientBase,
  { ledgerId, peerId }: PeerLease,
  dead: SentResults['dead'],
): Promise<void> {
  await client.query({
    name: 'store_peer_dead_letters',
    text: `insert into tallystick.peer_dead_letters (ledger_id, peer_id, seq, record_id, kind, code, detail)
      select $1::uuid, $2::uuid, n.seq, n.record_id, n.kind, n.code, n.detail
      from unnest($3::int8[], $4::uuid[], $5::text[], $6::text[], $7::text[]) n (seq, record_id, kind, code, detail)
      on conflict do nothing`,
    values: [
      ledgerId,
      peerId,
      encodeColumn(int8, dead, ({ seq }) => seq),
      encodeColumn(uuid, dead, ({ recordId }) => recordId),
      encodeColumn(text, dead, ({ kind }) => kind),
      encodeColumn(text, dead, ({ code }) => code),
      encodeColumn(text, dead, ({ detail }) => detail),
    ],
  })
}

async function changeBacklog(
  client: pg.ClientBase,
  { ledgerId, peerId }: PeerLease,
  { recordId, fromSeq, readSeq }: BacklogChange,
): Promise<void> {
  const values = [ledgerId, peerId, recordId, readSeq]
  if (fromSeq === null) {
    await client.query({
      name: 'end_peer_backlog',
      text: `delete from tallystick.peer_backlog
        where ledger_id = $1 and peer_id = $2 and record_id = $3 and from_seq = $4`,
      values,
    })
    return
  }
  await client.query({
    name: 'store_peer_backlog',
    text: `insert into tallystick.peer_backlog as b (ledger_id, peer_id, record_id, from_seq) values ($1, $2, $3, $5)
      on conflict on constraint peer_backlog_pkey do update
      set from_seq = case when b.from_seq = $4 then excluded.from_seq else least(b.from_seq, excluded.from_seq) end`,
    values: [...values, fromSeq],
  })
}

/** Returns the seq of the record's event with this version, or null if the event does not exist. */
export async function findSeqOfVersion(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
  version: number,
): Promise<number | null> {
  const { rows } = await db.query<{ seq: number }>({
    name: 'find_seq_of_version',
    text: `select first_seq as seq from tallystick.records where ledger_id = $1 and record_id = $2 and $3::int4 = 1
      union all
      select seq from tallystick.entries where ledger_id = $1 and subject_id = $2 and version = $3 and version > 1`,
    values: [ledgerId, recordId, version],
  })
  return rows[0] ? rows[0].seq : null
}

/** Summary from a peer. `text` is the summary's JSON, in the form that is stored. */
export type ReceivedSummary = {
  readonly text: string
  /** False if the peer has more records than were requested. */
  readonly whole: boolean
  readonly records: readonly { readonly recordId: Uuid; readonly version: number }[]
}

/**
 * Stores the summary. If the peer lacks records that were sent, adds these records to the backlog. This happens after
 * the peer was restored from a backup.
 *
 * The peer lacks one of our records if it has no version or an older version of the record. It also lacks our offers
 * that it has not answered.
 */
export async function storeSummary(
  client: pg.ClientBase,
  lease: PeerLease,
  summary: ReceivedSummary,
): Promise<void> {
  const of = [lease.ledgerId, lease.peerId]
  const { rows } = await client.query<{ nextSeq: number }>({
    name: 'store_peer_summary',
    text: `update tallystick.peer_cursors set summary = $4, summary_at = now(), summary_wanted = false
      where ledger_id = $1 and peer_id = $2 and job_id = $3 returning next_seq`,
    values: [...of, lease.jobId, summary.text],
  })
  if (!rows[0] || !summary.whole) return
  await client.query({
    name: 'resend_to_peer',
    text: `insert into tallystick.peer_backlog (ledger_id, peer_id, record_id, from_seq)
      select $1::uuid, $2::uuid, w.record_id, 0
      from (
        select s.record_id from tallystick.shared_records s
        cross join lateral (
          select g.version, g.last_seq from tallystick.gated_records g
          where g.ledger_id = s.ledger_id and g.record_id = s.record_id offset 0
        ) g
        left join unnest($3::uuid[], $4::int4[]) k (record_id, version) on k.record_id = s.record_id
        where s.ledger_id = $1 and s.peer_id = $2 and g.last_seq < $5 and g.version > coalesce(k.version, 0)
        union
        select o.record_id from tallystick.offers o
        where o.ledger_id = $1 and o.peer_id = $2 and o.state = 'pending' and o.seq < $5
      ) w
      where not exists (
        select from tallystick.peer_dead_letters l
        where l.ledger_id = $1 and l.peer_id = $2 and l.record_id = w.record_id)
      on conflict do nothing`,
    values: [
      ...of,
      encodeColumn(uuid, summary.records, ({ recordId }) => recordId),
      encodeColumn(int4, summary.records, ({ version }) => version),
      rows[0].nextSeq,
    ],
  })
}

const END_DRAIN = endText(
  PEER_LEASES,
  `failures = c.failures + ($4::text is not null)::int4,
        failing_since = case when $4::text is not null then coalesce(c.failing_since, now()) else c.failing_since end,
        last_error = coalesce($4::text, c.last_error),
        resume_at = case when $4::text is not null then now() + $5 * interval '1 millisecond' else c.resume_at end`,
)

/**
 * Ends the lease. `failed` contains the error and the pause in ms before the next attempt. null if there was no error.
 */
export async function endDrain(
  db: Db,
  lease: PeerLease,
  failed: { readonly error: string; readonly afterMs: number } | null,
): Promise<void> {
  await db.query({
    name: 'end_peer_drain',
    text: END_DRAIN,
    values: [
      lease.ledgerId,
      lease.peerId,
      lease.jobId,
      failed?.error.slice(0, 1_000) ?? null,
      failed?.afterMs ?? 0,
    ],
  })
}
