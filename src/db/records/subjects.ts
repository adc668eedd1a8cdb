import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { recordIdAt } from '../../proof/statement/batch-ids.ts'
import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import { chunkKey } from '../chunks/chunk-keys.ts'

/** A record about a data subject. `index` is the record's index in its batch, or 0 for a record with its own entry. */
export type SubjectRecord = { readonly recordId: Uuid; readonly seq: number; readonly index: number }

type SubjectPosition = Pick<SubjectRecord, 'seq' | 'index'>

/**
 * Lists the records with this label that come after position `after`, in chain order. An erased record is listed until
 * the worker has removed its label.
 */
export async function listSubjectRecords(
  pool: pg.Pool,
  ledgerId: Uuid,
  hash: Uint8Array,
  { after, limit }: { readonly after: SubjectPosition; readonly limit: number },
): Promise<SubjectRecord[]> {
  const { rows } = await pool.query<{
    seq: number
    recordId: Uuid | null
    firstRecordId: Uuid | null
    chunk: number
    place: number
  }>({
    name: 'list_subject_records',
    text: `(
        select r.first_seq as seq, r.record_id, null::uuid as first_record_id, 0 as chunk, 0 as place
        from tallystick.records r
        where r.ledger_id = $1 and r.subject = $2 and r.first_seq > $5
        order by r.first_seq limit $7
      ) union all (
        select k.seq, null, c.first_record_id, k.chunk, get_byte(k.key, 17)
        from tallystick.batch_keys k
        join tallystick.batch_chunks c on c.ledger_id = k.ledger_id and c.seq = k.seq and c.chunk = k.chunk
        where k.ledger_id = $1 and k.key between $3 and $4 and length(k.key) = 18
          and (k.seq, 64 * k.chunk + get_byte(k.key, 17)) > ($5::int8, $6::int4)
        order by k.seq, k.chunk, get_byte(k.key, 17) limit $7
      )
      order by seq, chunk, place limit $7`,
    values: [
      ledgerId,
      hash,
      chunkKey.subject(hash, 0),
      chunkKey.subject(hash, CHUNK_RECORDS - 1),
      after.seq,
      after.index,
      limit,
    ],
  })
  return rows.map(({ seq, recordId, firstRecordId, chunk, place }) => {
    const index = chunk * CHUNK_RECORDS + place
    return recordId
      ? { recordId, seq, index: 0 }
      : { recordId: recordIdAt(firstRecordId!, index), seq, index }
  })
}
