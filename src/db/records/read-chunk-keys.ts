import type { Uuid } from '../../proof/ids.ts'
import { CHUNK_BYTES } from '../chunks/read-chunks.ts'
import type { Db } from '../connect/client.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'
import { BATCH_COLUMNS, BATCH_TABLES, type BatchRow } from './read-records.ts'

export type ChunkKey = { readonly ledgerId: Uuid; readonly seq: number; readonly chunk: number }

/**
 * Reads the first chunks of the list, up to `bytesMax` bytes of content, but at least one chunk. The result has null
 * for a chunk that does not exist, for example because somebody has changed the tables.
 */
export async function readChunks(
  pool: Db,
  chunks: readonly ChunkKey[],
  bytesMax: number,
): Promise<(BatchRow | null)[]> {
  const { rows } = await pool.query<BatchRow & { ix: number }>({
    name: 'read_chunks',
    text: `with sized as (
        select k.*, sum(n.bytes) over (order by k.ix) as bytes
        from unnest($1::uuid[], $2::int8[], $3::int4[]) with ordinality k (ledger_id, seq, chunk, ix)
        cross join lateral (
          select coalesce(max(${CHUNK_BYTES}), 0) as bytes from tallystick.batch_chunks n
          where n.ledger_id = k.ledger_id and n.seq = k.seq and n.chunk = k.chunk
        ) n
      )
      select k.ix, w.* from sized k left join lateral (
        select ${BATCH_COLUMNS} from ${BATCH_TABLES}
        where c.ledger_id = k.ledger_id and c.seq = k.seq and c.chunk = k.chunk offset 0
      ) w on true
      where k.bytes <= $4 or k.ix = 1
      order by k.ix`,
    values: [
      chunks.map(({ ledgerId }) => ledgerId),
      chunks.map(({ seq }) => seq),
      chunks.map(({ chunk }) => chunk),
      bytesMax,
    ],
    types: PACKED_TYPES,
  })
  return rows.map((row) => (row.firstRecordId === null ? null : row))
}
