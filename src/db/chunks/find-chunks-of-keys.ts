import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { bytea, type Codec, encodeColumn, int8 } from '../connect/binary-array.ts'
import { CHUNKS_OF_KEYS_MAX } from '../limits.ts'

/** A key to find, as the hex of a key of batch_keys, and the seq at which the search begins. */
type KeyRequest = { readonly key: string; readonly since: number }

const hexBytea: Codec<string> = {
  ...bytea,
  bytesOf: (hex) => hex.length / 2,
  write: (buffer, at, hex) => buffer.write(hex, at, 'hex'),
}

/** Position of a chunk that has a requested key. `index` is the key's index in the request. */
type ChunkOfKey = { readonly index: number; readonly seq: number; readonly chunk: number }

type FoundChunks = {
  readonly size: number
  /** Chunks of batches that the agent notarized, in ledger order. */
  readonly chunks: ChunkOfKey[]
  /**
   * All positions before this seq were searched. If this is less than the ledger's size, the search is not complete.
   */
  readonly upTo: number
}

/**
 * Finds chunks with one of these keys, in batches of the agent. For each key, the search begins at the seq `since`.
 *
 * Reads at most CHUNKS_OF_KEYS_MAX positions, including positions of other agents' chunks. The next call continues at
 * `upTo`. Each call makes progress, because no entry has more positions than the limit.
 */
export async function findChunksOfKeys(
  pool: pg.Pool,
  { ledgerId, agentId }: { readonly ledgerId: Uuid; readonly agentId: Uuid },
  keys: readonly KeyRequest[],
): Promise<FoundChunks> {
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
      encodeColumn(hexBytea, keys, ({ key }) => key),
      encodeColumn(int8, keys, ({ since }) => since),
      CHUNKS_OF_KEYS_MAX,
      agentId,
    ],
  })
  const { size } = rows[0]!
  const upTo = rows.length > CHUNKS_OF_KEYS_MAX ? rows.at(-1)!.seq : size
  const chunks = rows.filter(({ index, seq, own }) => index !== null && own && seq < upTo) as ChunkOfKey[]
  return { size, chunks, upTo }
}

/**
 * Returns one map for each chunk. It maps a record's index in the chunk to the keyed hash of the record's data subject.
 * Erased records are not in the map.
 */
export async function readSubjectsOfChunks(
  pool: pg.Pool,
  chunks: readonly { readonly ledgerId: Uuid; readonly seq: number; readonly chunk: number }[],
): Promise<Map<number, Uint8Array>[]> {
  const { rows } = await pool.query<{ index: number; key: Buffer }>({
    name: 'read_subjects_of_chunks',
    text: `select q.index::int4 - 1 as index, x.key from unnest($1::uuid[], $2::int8[], $3::int4[]) with ordinality q (ledger_id, seq, chunk, index)
      cross join lateral (
        select k.key from tallystick.batch_keys k
        where k.ledger_id = q.ledger_id and k.seq = q.seq and k.chunk = q.chunk and k.key >= 'S' and k.key < 'T' offset 0
      ) x`,
    values: [
      chunks.map(({ ledgerId }) => ledgerId),
      chunks.map(({ seq }) => seq),
      chunks.map(({ chunk }) => chunk),
    ],
  })
  const subjects = chunks.map(() => new Map<number, Uint8Array>())
  for (const { index, key } of rows) subjects[index]!.set(key.at(-1)!, key.subarray(1, -1))
  return subjects
}
