import type { Uuid } from '../../proof/ids.ts'
import { indexOfRecordId } from '../../proof/statement/batch-ids.ts'
import type { OfferedStep } from '../../proof/statement/kinds.ts'
import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import { chunkIdOf } from '../chunks/read-chunks.ts'
import type { Db } from '../connect/client.ts'
import type { PeerState } from './peers.ts'

/*
 * Reads records of other ledgers, as received (docs/formats/federation.md).
 *
 * Every seq in this file is a seq of this ledger's chain. The seq of a remote entry is the seq of the entry that
 * received it.
 */

/** A record of another ledger in the version that one peer has sent. */
export type RemoteRecordRow = {
  recordId: Uuid
  peerId: Uuid
  peerState: PeerState
  homeId: Uuid
  type: string
  documents: 'whole' | 'digests'
  state: string
  version: number
  /** Leaf of the newest entry of the home ledger about the record. */
  leaf: Buffer
  /** State of the record as JSON of GatedRecord (src/proof/ledger/gated-record.ts). */
  standing: string
  /** Envelope of the home ledger's first entry about the record. */
  created: Buffer
  /** Salt of the payload. null if only digests are shared, or if the home ledger has erased the payload. */
  salt: Buffer | null
  payload: Buffer | null
  /** Canonical JSON of a list of texts. */
  referenceList: Buffer | null
  erasedSeq: number | null
  /** Envelope of the home ledger's entry that erased the payload. */
  erasure: Buffer | null
  /** Seq of the entry of this ledger that received the home ledger's newest entry. */
  seq: number
  kind: string
  receivedLeaf: Buffer
  chain: Buffer
  /** True if the agent `agentId` of the request (RemoteClaimKey) has offered a step. */
  hasOffered: boolean
} & (OfferColumns | { [Name in keyof OfferColumns]: null })

export type OfferColumns = {
  offerSeq: number
  offerState: 'pending' | 'taken' | 'refused'
  offerStep: OfferedStep
  offerVersion: number
  offerAgentId: Uuid
  offerCode: string | null
  offerDecidedSeq: number | null
  offerRecordedAt: Date
  offerCompletionId: Uuid | null
}

/** SQL join that adds the newest offer `o` for a remote record `r`. */
export const NEWEST_OFFER = `left join lateral (
    select n.seq as offer_seq, n.state as offer_state, n.step as offer_step, n.version as offer_version,
      n.agent_id as offer_agent_id, n.code as offer_code, n.decided_seq as offer_decided_seq, e.recorded_at as offer_recorded_at,
      d.subject_id as offer_completion_id
    from (
      select f.* from tallystick.offers f
      where f.ledger_id = r.ledger_id and f.record_id = r.record_id and f.peer_id = r.peer_id
      order by f.seq desc limit 1
    ) n
    cross join lateral (
      select e.recorded_at from tallystick.entries e where e.ledger_id = n.ledger_id and e.seq = n.seq offset 0
    ) e
    left join lateral (
      select d.subject_id from tallystick.documents d where d.ledger_id = n.ledger_id and d.seq = n.seq offset 0
    ) d on true
  ) o on true`

/**
 * Names a record to find. `agentId` is the agent for which `hasOffered` is computed. If `peerId` is null, the record of
 * any peer is found.
 */
export type RemoteClaimKey = Record<'ledgerId' | 'recordId' | 'agentId', Uuid> & {
  readonly peerId: Uuid | null
}

/**
 * Returns the records that `peerId` has sent, in the order of `keys`. The result has null for a record that does not
 * exist. It also has null if `peerId` is null and the ledger has its own record with that id.
 *
 * If `peerId` is null, several home ledgers may have sent a record with this id. The record of the home ledger that
 * sent it first is returned, so that no peer can take over an id later. Home ledgers with a revoked peering come last.
 * A home ledger that makes a new peering is still the same home ledger.
 */
export async function findRemoteClaims(
  db: Db,
  keys: readonly RemoteClaimKey[],
): Promise<(RemoteRecordRow | null)[]> {
  const { rows } = await db.query<RemoteRecordRow & { ix: number }>({
    name: 'find_remote_claims',
    text: `select k.ix, r.record_id, r.peer_id, r.peer_state, r.home_id, r.type, r.documents, r.state,
        r.version, r.leaf, r.standing, f.envelope as created, d.salt, d.content as payload, d.reference_list, d.erased_seq,
        x.envelope as erasure, e.seq, e.kind, e.leaf as received_leaf, e.chain, o.*,
        w.seq is not null as has_offered
      from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::int4[])
        with ordinality k (ledger_id, record_id, agent_id, peer_id, chunk_id, place, ix)
      cross join lateral (
        select n.*, p.state as peer_state, p.remote_ledger_id as home_id
        from tallystick.remote_records n
        cross join lateral (
          select p.state, p.remote_ledger_id from tallystick.peers p
          where p.ledger_id = n.ledger_id and p.peer_id = n.peer_id offset 0
        ) p
        where n.ledger_id = k.ledger_id and n.record_id = k.record_id and case when k.peer_id is null
          then not exists (select from tallystick.records o where o.ledger_id = k.ledger_id and o.record_id = k.record_id)
            and not exists (
              select from tallystick.batch_chunks o
              where o.ledger_id = k.ledger_id and o.first_record_id = k.chunk_id and o.count > k.place)
          else n.peer_id = k.peer_id end
        order by p.state = 'revoked', min(n.first_seq) over (partition by p.remote_ledger_id), n.first_seq desc limit 1
      ) r
      cross join lateral (
        select * from tallystick.entries n where n.ledger_id = r.ledger_id and n.seq = r.last_seq offset 0
      ) e
      cross join lateral (
        select n.envelope from tallystick.received_entries n
        where n.ledger_id = r.ledger_id and n.seq = r.first_seq offset 0
      ) f
      left join lateral (
        select * from tallystick.received_documents n where n.ledger_id = r.ledger_id and n.seq = r.first_seq offset 0
      ) d on true
      left join lateral (
        select n.envelope from tallystick.received_entries n
        where n.ledger_id = r.ledger_id and n.seq = d.erased_seq offset 0
      ) x on true
      left join lateral (
        select n.seq from tallystick.offers n
        where n.ledger_id = r.ledger_id and n.record_id = r.record_id and n.peer_id = r.peer_id and n.agent_id = k.agent_id limit 1
      ) w on true
      ${NEWEST_OFFER}`,
    values: [
      keys.map(({ ledgerId }) => ledgerId),
      keys.map(({ recordId }) => recordId),
      keys.map(({ agentId }) => agentId),
      keys.map(({ peerId }) => peerId),
      keys.map(({ recordId }) => chunkIdOf(recordId)),
      keys.map(({ recordId }) => indexOfRecordId(recordId) % CHUNK_RECORDS),
    ],
  })
  const found: (RemoteRecordRow | null)[] = keys.map(() => null)
  for (const { ix, ...row } of rows) found[ix - 1] = row
  return found
}

/** A step in the home ledger, and this ledger's copy of its document. */
export type RemoteStepRow = {
  seq: number
  kind: string
  version: number
  /** Envelope of the home ledger's entry. */
  envelope: Buffer
  salt: Buffer | null
  content: Buffer | null
  erasedSeq: number | null
}

type RecordOfPeer = Pick<RemoteRecordRow, 'recordId' | 'peerId'>

/**
 * SQL join that adds the document of received entry `s` of record $3 of peer $2.
 *
 * Evidence that an agent of this ledger offered is stored with the offer, and is read from there. A home ledger that
 * shares only digests does not send the evidence back.
 */
const DOCUMENT = `left join lateral (
    select n.salt, n.content, n.erased_seq from (
      select d.salt, d.content, d.erased_seq, 0 as place from tallystick.received_documents d
      where d.ledger_id = $1 and d.seq = s.seq
      union all
      select case when x.seq is null then n.salt end, case when x.seq is null then n.content end, x.seq, 1
      from tallystick.offers o
      cross join lateral (
        select * from tallystick.documents d where d.ledger_id = $1 and d.seq = o.seq offset 0
      ) n
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = $1 and x.subject_id = n.subject_id and x.document = n.document and x.document_seq = n.seq offset 0
      ) x on true
      where s.kind = 'completion-submitted' and o.state = 'taken' and o.version = s.version
        and o.ledger_id = $1 and o.peer_id = $2 and o.record_id = $3
    ) n order by n.place limit 1
  ) d on true`

/** Returns the record's newest step of each kind, in the order of the chain. */
export async function listNewestRemoteSteps(
  db: Db,
  ledgerId: Uuid,
  { recordId, peerId }: RecordOfPeer,
): Promise<RemoteStepRow[]> {
  const { rows } = await db.query<RemoteStepRow>({
    name: 'list_newest_remote_steps',
    text: `select s.seq, s.kind, s.version, s.envelope, d.salt, d.content, d.erased_seq
      from (
        select distinct on (n.kind) n.* from tallystick.received_entries n
        where n.ledger_id = $1 and n.peer_id = $2 and n.record_id = $3 and n.version > 1
        order by n.kind, n.version desc offset 0
      ) s
      ${DOCUMENT}
      order by s.version`,
    values: [ledgerId, peerId, recordId],
  })
  return rows
}

/** An entry of the home ledger about its record, with the entry of this ledger that received it. */
export type RemoteEntryRow = RemoteStepRow & {
  entryKind: string
  recordedAt: Date
  leaf: Buffer
  chain: Buffer
  entryEnvelope: Buffer
}

/**
 * Lists at most `limit` entries of the home ledger about the record, oldest first. Begins after `afterVersion`.
 * Envelopes and documents take at most `bytesMax` bytes, but at least one entry is returned.
 */
export async function listRemoteEntries(
  db: Db,
  ledgerId: Uuid,
  { recordId, peerId }: RecordOfPeer,
  page: { readonly afterVersion: number; readonly limit: number; readonly bytesMax: number },
): Promise<RemoteEntryRow[]> {
  const { rows } = await db.query<RemoteEntryRow>({
    name: 'list_remote_entries',
    text: `select * from (
        select s.seq, s.kind, s.version, s.envelope, d.salt, d.content, d.erased_seq, e.kind as entry_kind, e.recorded_at, e.leaf,
          e.chain, e.envelope as entry_envelope, row_number() over w as nth,
          sum(length(e.envelope) + length(s.envelope) + coalesce(length(d.content), 0)) over w as bytes
        from (
          select * from tallystick.received_entries n
          where n.ledger_id = $1 and n.peer_id = $2 and n.record_id = $3 and n.version > $4
          order by n.version limit $5
        ) s
        cross join lateral (
          select * from tallystick.entries n where n.ledger_id = $1 and n.seq = s.seq offset 0
        ) e
        ${DOCUMENT}
        window w as (order by s.version)
      ) z
      where z.bytes <= $6 or z.nth = 1
      order by z.version`,
    values: [ledgerId, peerId, recordId, page.afterVersion, page.limit, page.bytesMax],
  })
  return rows
}

/**
 * Returns the definition (canonical JSON) of a type that came with a record. Returns null if the type is built in, or
 * has not come.
 */
export async function findReceivedType(
  db: Db,
  ledgerId: Uuid,
  peerId: Uuid,
  digest: string,
): Promise<string | null> {
  const { rows } = await db.query<{ definition: Buffer }>({
    name: 'find_received_type',
    text: `select t.definition from tallystick.received_types t
      where t.ledger_id = $1 and t.peer_id = $2 and t.digest = decode($3, 'hex')`,
    values: [ledgerId, peerId, digest],
  })
  return rows[0]?.definition.toString('utf8') ?? null
}
