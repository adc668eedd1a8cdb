import type pg from 'pg'
import { HASH_BYTES } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'
import { IS_HERE } from './verified-size.ts'

/**
 * Maximum number of cosignature lines that are added to a note. The note itself may have 4,096 characters, and each
 * line 512 characters.
 */
const LINES_MAX = 16

/**
 * SQL for the note of `checkpoints c`, followed by the cosignatures that were added later.
 *
 * Cosignatures of witnesses that the operator has named come first, so that many peers cannot displace them.
 */
export const COSIGNED_NOTE = `c.note || coalesce((
       select string_agg(l.line, '') from (
         select s.line from tallystick.cosignatures s where s.ledger_id = c.ledger_id and s.size = c.size
         order by s.peer_id is not null, s.cosigned_at, s.witness_kid limit ${LINES_MAX}) l), '')`

/** Returns the signed note of the newest checkpoint with at most `sizeMax` entries, or null. */
export async function findCheckpoint(db: Db, ledgerId: Uuid, sizeMax: number): Promise<string | null> {
  const { rows } = await db.query<{ note: string }>({
    name: 'find_checkpoint',
    text: `select ${COSIGNED_NOTE} as note from tallystick.checkpoints c
     where ledger_id = $1 and size <= $2 order by size desc limit 1`,
    values: [ledgerId, sizeMax],
  })
  return rows[0]?.note ?? null
}

export type CheckpointRow = { readonly size: number; readonly note: string }

/** Returns the smallest checkpoint with at least `sizeMin` entries, or null. */
export async function findCheckpointCovering(
  db: Db,
  ledgerId: Uuid,
  sizeMin: number,
): Promise<CheckpointRow | null> {
  const { rows } = await db.query<{ size: number; note: string }>({
    name: 'find_checkpoint_covering',
    text: `select size, ${COSIGNED_NOTE} as note from tallystick.checkpoints c
     where ledger_id = $1 and size >= $2 order by size limit 1`,
    values: [ledgerId, sizeMin],
  })
  const row = rows[0]
  return row ? { size: row.size, note: row.note } : null
}

/** Returns the signed note of the checkpoint of exactly that size, or null. */
export async function findCheckpointOfSize(db: Db, ledgerId: Uuid, size: number): Promise<string | null> {
  const row = await findCheckpointCovering(db, ledgerId, size)
  return row?.size === size ? row.note : null
}

/** Lists checkpoints with fewer than `sizeEnd` entries, newest first, at most `limit`. */
export async function listCheckpoints(
  db: Db,
  ledgerId: Uuid,
  sizeEnd: number,
  limit: number,
): Promise<{ size: number; publishedAt: Date }[]> {
  const { rows } = await db.query<{ size: number; publishedAt: Date }>({
    name: 'list_checkpoints',
    text: `select size, published_at from tallystick.checkpoints where ledger_id = $1 and size < $2
      order by size desc limit $3`,
    values: [ledgerId, sizeEnd, limit],
  })
  return rows.map((row) => ({ size: row.size, publishedAt: row.publishedAt }))
}

/** Returns the root of the checkpoint of exactly that size, or null. */
export async function findRoot(db: Db, ledgerId: Uuid, size: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ root: Buffer }>(
    'select root from tallystick.checkpoints where ledger_id = $1 and size = $2',
    [ledgerId, size],
  )
  return rows[0]?.root ?? null
}

/**
 * Lists at most `limit` ledgers whose chain is longer than their stored tree and whose newest checkpoint is at least
 * `ageMs` old.
 *
 * Leaves out ledgers that are closed as restored, because it is undecided with which entries they continue. Leaves out
 * faulty ledgers, ledgers that were moved or are being moved, and the ledgers in `except`.
 */
export async function listLedgersAhead(
  db: Db,
  {
    ageMs,
    except,
    limit,
  }: { readonly ageMs: number; readonly except: readonly Uuid[]; readonly limit: number },
): Promise<Uuid[]> {
  const { rows } = await db.query<{ id: Uuid }>(
    `select h.ledger_id as id from tallystick.chain_heads h
     left join tallystick.tree_frontiers t on t.ledger_id = h.ledger_id
     left join lateral (
       select published_at from tallystick.checkpoints c where c.ledger_id = h.ledger_id order by size desc limit 1
     ) newest on true
     where h.size > coalesce(t.size, 0) and coalesce(h.closed, 'frozen') = 'frozen' and h.ledger_id <> all ($3)
       and (newest.published_at is null or newest.published_at <= now() - $1 * interval '1 millisecond')
       -- A cleared fault counts until the entry was verified again, because nothing may have been repaired.
       and not exists (
         select from tallystick.ledger_faults f left join tallystick.audit_cursors v on v.ledger_id = f.ledger_id
         where f.ledger_id = h.ledger_id and (f.cleared_at is null or f.seq >= coalesce(v.next_seq, 0)))
     -- in random order, so that faulty ledgers never block others
     order by random() limit $2`,
    [ageMs, limit, except],
  )
  return rows.map((row) => row.id)
}

/**
 * Returns the age in seconds of the oldest entry of any ledger that no checkpoint covers. Returns 0 if checkpoints
 * cover all entries.
 */
export async function readCheckpointLagSeconds(db: Db): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    `select coalesce(max(extract(epoch from now() - e.recorded_at)), 0)::float8 as seconds
     from tallystick.chain_heads h
     left join lateral (
       select size from tallystick.checkpoints c where c.ledger_id = h.ledger_id order by size desc limit 1
     ) newest on true
     join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = coalesce(newest.size, 0)
     where h.size > coalesce(newest.size, 0) and ${IS_HERE}`,
  )
  return rows[0]!.seconds
}

/** Locks the ledger's tree until the end of the transaction. Returns false if another worker has the lock. */
export async function tryLockTree(client: pg.ClientBase, ledgerId: Uuid): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    "select pg_try_advisory_xact_lock(hashtextextended('tree ' || $1, 0)) as locked",
    [ledgerId],
  )
  return rows[0]!.locked
}

type Tree = {
  headSize: number
  size: number
  hashes: Buffer
  issuer: string
  origin: string
  noteKid: Buffer
}

export async function readTree(client: pg.ClientBase, ledgerId: Uuid): Promise<Tree> {
  const { rows } = await client.query<Tree>(
    `select h.size as head_size, coalesce(t.size, 0) as size, coalesce(t.hashes, '') as hashes, l.issuer, l.origin, l.note_kid
     from tallystick.chain_heads h join tallystick.ledgers l on l.ledger_id = h.ledger_id
     left join tallystick.tree_frontiers t on t.ledger_id = h.ledger_id
     where h.ledger_id = $1`,
    [ledgerId],
  )
  return rows[0]!
}

/** Returns the concatenated leaves from seq `from` to before `end`. Throws if a leaf is missing. */
export async function readLeaves(db: Db, ledgerId: Uuid, from: number, end: number): Promise<Buffer> {
  const { rows } = await db.query<{ leaves: Buffer | null }>({
    text: `select ${asBase64("string_agg(leaf, '' order by seq)")} as leaves from tallystick.entries
     where ledger_id = $1 and seq >= $2 and seq < $3`,
    values: [ledgerId, from, end],
    types: PACKED_TYPES,
  })
  const leaves = rows[0]!.leaves ?? Buffer.alloc(0)
  if (leaves.length !== (end - from) * HASH_BYTES)
    throw new Error(`entries between ${from} and ${end} are missing`)
  return leaves
}

/** Returns the chain hash after the entry at `seq`, or null if the entry does not exist. */
export async function findChain(db: Db, ledgerId: Uuid, seq: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ chain: Buffer }>(
    'select chain from tallystick.entries where ledger_id = $1 and seq = $2',
    [ledgerId, seq],
  )
  return rows[0]?.chain ?? null
}

export type TileGrowth = { readonly level: number; readonly index: number; readonly hashes: Buffer }

/** Stores the frontier of the tree, and appends the hashes of `growths` to their tiles. */
export async function storeTree(
  client: pg.ClientBase,
  ledgerId: Uuid,
  frontier: { size: number; hashes: Buffer },
  growths: TileGrowth[],
): Promise<void> {
  await client.query(
    `insert into tallystick.tree_tiles (ledger_id, level, tile_index, hashes)
     select $1, n.level, n.tile_index, n.hashes
     from unnest($2::int2[], $3::bigint[], $4::bytea[]) n (level, tile_index, hashes)
     on conflict (ledger_id, level, tile_index) do update set hashes = tree_tiles.hashes || excluded.hashes`,
    [ledgerId, growths.map((g) => g.level), growths.map((g) => g.index), growths.map((g) => g.hashes)],
  )
  await client.query(
    `insert into tallystick.tree_frontiers (ledger_id, size, hashes) values ($1, $2, $3)
     on conflict (ledger_id) do update set size = excluded.size, hashes = excluded.hashes`,
    [ledgerId, frontier.size, frontier.hashes],
  )
}

export async function insertCheckpoint(
  client: pg.ClientBase,
  ledgerId: Uuid,
  checkpoint: { size: number; root: Uint8Array; chain: Uint8Array; note: string },
): Promise<void> {
  await client.query(
    'insert into tallystick.checkpoints (ledger_id, size, root, chain, note) values ($1, $2, $3, $4, $5)',
    [ledgerId, checkpoint.size, checkpoint.root, checkpoint.chain, checkpoint.note],
  )
}
