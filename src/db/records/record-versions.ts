import type { Uuid } from '../../proof/ids.ts'
import type { RecordKey } from '../chain/signed-entries.ts'
import type { Db } from '../connect/client.ts'

/** A record of this ledger. If `peerId` is not null, it is the record of another ledger that this peer has sent. */
export type RecordOrigin = RecordKey & { readonly peerId: Uuid | null }

/** Returns the versions of the records, in order. The result has null for records without steps. */
export async function listVersions(db: Db, records: readonly RecordOrigin[]): Promise<(number | null)[]> {
  const { rows } = await db.query<{ version: number | null }>({
    name: 'list_versions',
    text: `select coalesce(g.version, r.version) as version
      from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality k (ledger_id, record_id, peer_id, ix)
      left join lateral (
        select n.version from tallystick.gated_records n
        where k.peer_id is null and n.ledger_id = k.ledger_id and n.record_id = k.record_id offset 0
      ) g on true
      left join lateral (
        select n.version from tallystick.remote_records n
        where n.ledger_id = k.ledger_id and n.record_id = k.record_id and n.peer_id = k.peer_id offset 0
      ) r on true
      order by k.ix`,
    values: [
      records.map(({ ledgerId }) => ledgerId),
      records.map(({ recordId }) => recordId),
      records.map(({ peerId }) => peerId),
    ],
  })
  return rows.map(({ version }) => version)
}
