import { HASH_BYTES } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { ReadSlice, TileSlice } from '../../proof/tree/tree-ranges.ts'
import type { Db } from '../connect/client.ts'

/**
 * Reads slices of stored tiles by primary key, in one query. Leaves out a tile that is not stored. If a tile has fewer
 * hashes than requested, its slice is shorter.
 *
 * Postgres stores a tile in four or five pages outside its row, and substr reads only the pages that it needs. A slice
 * of up to 62 hashes takes 1 or 2 pages. `offset 0` prevents a join. A join that is planned while the table is empty
 * would scan the whole table later.
 */
export async function readTileSlices(
  db: Db,
  ledgerId: Uuid,
  slices: readonly TileSlice[],
): Promise<ReadSlice[]> {
  if (slices.length === 0) return []
  const { rows } = await db.query<{ place: number; hashes: Buffer }>({
    name: 'read_tile_slices',
    text: `select s.place, t.hashes
      from unnest($2::int2[], $3::bigint[], $4::int4[], $5::int4[]) with ordinality
        s (level, tile_index, first_byte, bytes, place)
      cross join lateral (
        select substr(t.hashes, s.first_byte, s.bytes) as hashes from tallystick.tree_tiles t
        where t.ledger_id = $1 and t.level = s.level and t.tile_index = s.tile_index
        offset 0
      ) t`,
    values: [
      ledgerId,
      slices.map(({ level }) => level),
      slices.map(({ tile }) => tile),
      slices.map(({ offset }) => offset * HASH_BYTES + 1),
      slices.map(({ count }) => count * HASH_BYTES),
    ],
  })
  return rows.map(({ place, hashes }) => ({ ...slices[place - 1]!, hashes }))
}
