import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { RecordKey } from '../chain/signed-entries.ts'
import type { Db } from '../connect/client.ts'

/** A record with the entry that its current state comes from. */
export type RecordRowRead = RecordColumns & (GatedColumns | { [Name in keyof GatedColumns]: null })

export type GatedRecordRow = RecordColumns & GatedColumns

type RecordColumns = {
  recordId: Uuid
  type: string
  state: string
  version: number
  itemIndex: number | null
  actorId: Uuid
  onBehalfOf: Uuid | null
  parentId: Uuid | null
  occurredAt: Date | null
  digest: Buffer
  /** Null once the entry at `erasure_seq` says that it is erased. */
  salt: Buffer | null
  payload: Buffer | null
  metadata: Buffer | null
  /** Canonical JSON: a list of texts. */
  referenceList: Buffer | null
  erasureSeq: number | null
  erasureActorId: Uuid | null
  erasureRecordedAt: Date | null
  erasureEnvelope: Buffer | null
  keyId: Uuid
  subjectId: Uuid
  recordedAt: Date
  seq: number
  kind: string
  leaf: Buffer
  chain: Buffer
}

/** Where a gated record stands, and on which terms. */
export type GatedColumns = {
  gate: 'principal' | 'auto'
  principalId: Uuid
  performerId: Uuid | null
  deadline: Date | null
  maxRevisions: number
  revisions: number
  /** Canonical JSON. */
  tolerances: Buffer | null
  /** `led_…/agt_…` of a performer of another ledger, for whom `performer_id` stands (src/proof/statement/remote-agents.ts). */
  performerRemote: string | null
  /** Sorted by peer; null: with nobody. `seq`: of the entry that says so. */
  share: readonly ShareColumn[] | null
}

export type ShareColumn = {
  readonly peerId: Uuid
  readonly documents: 'whole' | 'digests'
  readonly seq: number
}

/**
 * SQL over RECORD_TABLES: a record `r`, its standing `g` if it is gated, its newest entry `e`, its first entry `f`, its
 * erasure `d`, and the entry of the erasure, `x`.
 */
export const RECORD_COLUMNS = `r.record_id, r.type, coalesce(g.state, 'RECORDED') as state, coalesce(g.version, 1) as version,
  g.gate, g.principal_id, g.performer_id, g.deadline, g.max_revisions, g.revisions, g.tolerances,
  g.performer_remote, case when g.gate is not null then (
    select json_agg(json_build_object('peerId', s.peer_id, 'documents', s.documents, 'seq', s.shared_seq) order by s.peer_id)
    from tallystick.shared_records s where s.ledger_id = r.ledger_id and s.record_id = r.record_id
  ) end as share,
  r.item_index, r.actor_id, r.on_behalf_of, r.parent_id,
  r.occurred_at, r.digest, f.key_id, e.subject_id, f.recorded_at, e.seq, e.kind, e.leaf, e.chain,
  case when d.seq is null then r.salt end as salt, case when d.seq is null then r.payload end as payload,
  case when d.seq is null then r.metadata end as metadata,
  case when d.seq is null then r.reference_list end as reference_list,
  x.seq as erasure_seq, x.actor_id as erasure_actor_id, x.recorded_at as erasure_recorded_at,
  x.envelope as erasure_envelope`

const ERASURE = `left join lateral (
    select d.seq from tallystick.erasures d
    where d.ledger_id = r.ledger_id and d.subject_id = r.record_id and d.document = 'payload'
      and d.document_seq = r.first_seq offset 0
  ) d on true
  left join lateral (
    select * from tallystick.entries n where n.ledger_id = r.ledger_id and n.seq = d.seq offset 0
  ) x on true`

const GATED = `left join lateral (
    select * from tallystick.gated_records n where n.ledger_id = r.ledger_id and n.record_id = r.record_id offset 0
  ) g on true`

/** Laterals, because a plain join that is planned on empty tables, and kept, reads all entries of the ledger. */
export const RECORD_TABLES = `tallystick.records r
  ${GATED}
  cross join lateral (
    select * from tallystick.entries n
    where n.ledger_id = r.ledger_id and n.seq = coalesce(g.last_seq, r.first_seq) offset 0
  ) e
  cross join lateral (
    select * from tallystick.entries n where n.ledger_id = r.ledger_id and n.seq = r.first_seq offset 0
  ) f
  ${ERASURE}`

/** In the order of the keys; null where the ledger has no such record. */
export async function findRecords(db: Db, keys: readonly RecordKey[]): Promise<(RecordRowRead | null)[]> {
  const { rows } = await db.query<RecordRowRead & { ix: number }>({
    name: 'find_records',
    text: `select k.ix, w.* from unnest($1::uuid[], $2::uuid[]) with ordinality k (ledger_id, record_id, ix)
      cross join lateral (
        select ${RECORD_COLUMNS} from ${RECORD_TABLES}
        where r.ledger_id = k.ledger_id and r.record_id = k.record_id offset 0
      ) w`,
    values: [keys.map(({ ledgerId }) => ledgerId), keys.map(({ recordId }) => recordId)],
  })
  const found: (RecordRowRead | null)[] = keys.map(() => null)
  for (const row of rows) found[row.ix - 1] = row
  return found
}

/** The records that the entry at `seq` notarized, in their order in the batch. */
export async function listRecordsOfEntry(
  pool: pg.Pool,
  ledgerId: Uuid,
  seq: number,
): Promise<RecordRowRead[]> {
  const { rows } = await pool.query<RecordRowRead>({
    name: 'list_records_of_entry',
    text: `select ${RECORD_COLUMNS} from tallystick.records r
      join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
      join tallystick.entries f on f.ledger_id = r.ledger_id and f.seq = r.first_seq
      ${GATED}
      ${ERASURE}
      where r.ledger_id = $1 and r.first_seq = $2
      order by r.item_index`,
    values: [ledgerId, seq],
  })
  return rows
}
