import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { NEWEST_OFFER, type OfferColumns } from './remote-records.ts'

/**
 * A record that is shared with a peer. `role` is `home` for a record of this ledger, and `guest` for a record of the
 * peer.
 */
export type SharedRecordRow = {
  role: 'home' | 'guest'
  recordId: Uuid
  documents: 'whole' | 'digests'
  type: string
  state: string
  version: number
  /**
   * For a record of the peer: envelope of the entry of the home ledger that created the record. null for other records.
   */
  created: Buffer | null
} & (OfferColumns | { [Name in keyof OfferColumns]: null })

/** Position of the last row of a page. It includes the role, because both sides may have a record with the same id. */
type SharedPosition = { readonly recordId: Uuid; readonly role: SharedRecordRow['role'] }

const NO_ID = '00000000-0000-0000-0000-000000000000'

const NO_OFFER = `null::int8 as offer_seq, null::text as offer_state, null::text as offer_step, null::int4 as offer_version,
  null::uuid as offer_agent_id, null::text as offer_code, null::int8 as offer_decided_seq, null::timestamptz as offer_recorded_at,
  null::uuid as offer_completion_id`

/**
 * Returns SQL for the records that are shared over peering $2 of ledger $1 and that `where` selects. The records of
 * each side are read by index, at most one page of each side.
 */
const sharedRecords = (where: (id: string, role: string) => string) => `
  (select 'home' as role, s.record_id, s.documents, w.type, g.state, g.version, null::bytea as created, ${NO_OFFER}
   from tallystick.shared_records s
   cross join lateral (
     select n.type from tallystick.records n where n.ledger_id = s.ledger_id and n.record_id = s.record_id offset 0
   ) w
   cross join lateral (
     select n.state, n.version from tallystick.gated_records n
     where n.ledger_id = s.ledger_id and n.record_id = s.record_id offset 0
   ) g
   where s.ledger_id = $1 and s.peer_id = $2 and ${where('s.record_id', "'home'")}
   order by s.record_id limit $3)
  union all
  (select 'guest', r.record_id, r.documents, r.type, r.state, r.version, f.envelope, o.*
   from (
     select * from tallystick.remote_records r
     where r.ledger_id = $1 and r.peer_id = $2 and ${where('r.record_id', "'guest'")}
     order by r.record_id limit $3
   ) r
   cross join lateral (
     select n.envelope from tallystick.received_entries n where n.ledger_id = r.ledger_id and n.seq = r.first_seq offset 0
   ) f
   ${NEWEST_OFFER})`

/** Lists records shared with the peer, of both sides, in the order of their ids. */
export async function listSharedRecords(
  db: Db,
  ledgerId: Uuid,
  peerId: Uuid,
  { after, limit }: { readonly after: SharedPosition | null; readonly limit: number },
): Promise<SharedRecordRow[]> {
  const { rows } = await db.query<SharedRecordRow>({
    name: 'list_shared_records',
    text: `select * from (
        ${sharedRecords((id, role) => `${id} >= $4::uuid and (${id}, ${role}) > ($4::uuid, $5::text)`)}
      ) w order by w.record_id, w.role limit $3`,
    values: [ledgerId, peerId, limit, after ? after.recordId : NO_ID, after ? after.role : ''],
  })
  return rows
}

/** Finds a shared record by its id. Returns two rows if each side has a record with this id. */
export async function findSharedRecords(
  db: Db,
  ledgerId: Uuid,
  peerId: Uuid,
  recordId: Uuid,
): Promise<SharedRecordRow[]> {
  const { rows } = await db.query<SharedRecordRow>({
    name: 'find_shared_records',
    text: `select * from (
        ${sharedRecords((id) => `${id} = $4::uuid`)}
      ) w order by w.role desc`,
    values: [ledgerId, peerId, 1, recordId],
  })
  return rows
}
