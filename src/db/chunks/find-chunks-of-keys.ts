import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { CHUNKS_OF_KEYS_MAX } from '../limits.ts'

type Since = { readonly key: Buffer; readonly since: number }

/** Place of a chunk that has the key, by the key's place in the request. */
type KeyPlace = { readonly index: number; readonly seq: number; readonly chunk: number }

type Found = {
  /** How large the ledger was. */
  readonly size: number
  /** In the order of the ledger: those whose batches the agent notarized. */
  readonly places: KeyPlace[]
  /** Everything before this seq was looked at: the ledger's size, or less, and then there is more. */
  readonly upTo: number
}

/**
 * Chunks of an agent's batches that have one of these keys, and whose entries are at `since` or after it. It looks at CHUNKS_OF_KEYS_MAX
 * places, others' too. The next look goes on at `upTo`, which is beyond the first place: no entry has more.
 */
export async function findChunksOfKeys(
  pool: pg.Pool,
  { ledgerId, agentId }: { readonly ledgerId: Uuid; readonly agentId: Uuid },
  keys: readonly Since[],
): Promise<Found> {
  type Row = { size: number; index: number | null; seq: number; chunk: number; own: boolean }
  const { rows } = await pool.query<Row>({
    name: 'find_chunks_of_keys',
    text: `select h.size, k.index, k.seq, k.chunk, e.own from tallystick.chain_heads h
      left join lateral (
        select q.index::int4 - 1 as index, b.seq, b.chunk
        from unnest($2::bytea[], $3::int8[]) with ordinality q (key, since, index)
        cross join lateral (
          select x.seq, x.chunk from tallystick.batch_keys x
          where x.ledger_id = $1 and x.key = q.key and x.seq >= q.since
          order by x.seq, x.chunk limit $4 + 1
        ) b
        order by b.seq, b.chunk limit $4 + 1
      ) k on true
      left join lateral (
        select n.actor_id = $5 as own from tallystick.entries n where n.ledger_id = $1 and n.seq = k.seq offset 0
      ) e on true
      where h.ledger_id = $1
      order by k.seq, k.chunk`,
    values: [
      ledgerId,
      keys.map(({ key }) => key),
      keys.map(({ since }) => since),
      CHUNKS_OF_KEYS_MAX,
      agentId,
    ],
  })
  const { size } = rows[0]!
  const upTo = rows.length > CHUNKS_OF_KEYS_MAX ? rows.at(-1)!.seq : size
  const places = rows.filter(({ index, seq, own }) => index !== null && own && seq < upTo) as KeyPlace[]
  return { size, places, upTo }
}
