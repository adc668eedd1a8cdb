import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { DocumentKind } from '../../proof/statement/document-subjects.ts'
import type { Db } from '../connect/client.ts'
import { IS_HERE } from './verified-size.ts'

export type DueArchive = {
  readonly ledgerId: Uuid
  readonly from: number
  /** SHA-256 of the newest seal. null if `from` is 0, because nothing was archived yet. */
  readonly sealDigest: Buffer | null
}

type DuePolicy = {
  /** Number of unarchived entries. A ledger with at least this number is due for archiving. */
  readonly entries: number
  /** Age in seconds. A ledger is due for archiving when its oldest unarchived entry has this age. */
  readonly seconds: number
  readonly limit: number
}

/** SQL that selects the ledgers with a checkpoint beyond their archive, joined with their first unarchived entry. */
const BEHIND = `tallystick.chain_heads h
  cross join lateral (
    select size from tallystick.checkpoints c where c.ledger_id = h.ledger_id order by size desc limit 1
  ) newest
  left join tallystick.archives a on a.ledger_id = h.ledger_id
  join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = coalesce(a.size, 0)
  where newest.size > coalesce(a.size, 0)`

/**
 * Lists ledgers that are due for archiving.
 *
 * Leaves out ledgers that are closed as restored or that have a fault, because it is undecided with which entries they
 * continue. Leaves out ledgers that are being moved, because it is undecided in which database they continue.
 */
export async function listDueArchives(db: Db, { entries, seconds, limit }: DuePolicy): Promise<DueArchive[]> {
  const { rows } = await db.query<DueArchive>(
    `select h.ledger_id, coalesce(a.size, 0) as "from", a.seal_digest from ${BEHIND}
       and (newest.size - coalesce(a.size, 0) >= $1 or e.recorded_at <= now() - $2 * interval '1 second')
       and (a.claimed_until is null or a.claimed_until < now())
       and (h.closed is null or h.closed = 'frozen')
       and not exists (select from tallystick.ledger_faults f where f.ledger_id = h.ledger_id and f.cleared_at is null)
     -- in random order, so that faulty ledgers never block others
     order by random() limit $3`,
    [entries, seconds, limit],
  )
  return rows
}

export type ArchiveFigures = {
  readonly lagSeconds: number
  readonly entries: number
  readonly behind: number
}

/**
 * Returns figures over all ledgers: the age of the oldest unarchived entry under a checkpoint, and the numbers of
 * archived and of unarchived entries under a checkpoint.
 */
export async function readArchiveFigures(db: Db): Promise<ArchiveFigures> {
  const { rows } = await db.query<ArchiveFigures>(
    `select coalesce(max(extract(epoch from now() - e.recorded_at)), 0)::float8 as lag_seconds,
       coalesce(sum(newest.size - coalesce(a.size, 0)), 0)::float8 as behind,
       (select coalesce(sum(size), 0) from tallystick.archives)::float8 as entries
     from ${BEHIND} and ${IS_HERE}`,
  )
  return rows[0]!
}

type Claim = { readonly by: Uuid; readonly ms: number }

/**
 * Claims the ledger's next prefix for `claim.ms`, or extends the claim. Returns false if another worker has the claim
 * or the archive has advanced.
 */
export async function claimArchive(db: Db, { ledgerId, from }: DueArchive, claim: Claim): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into tallystick.archives as a (ledger_id, claimed_by, claimed_until)
     values ($1, $2, now() + $3 * interval '1 millisecond')
     on conflict (ledger_id) do update set claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
       where a.size = $4 and (a.claimed_by = $2 or a.claimed_until is null or a.claimed_until < now())`,
    [ledgerId, claim.by, claim.ms, from],
  )
  return rowCount === 1
}

export async function releaseArchive(db: Db, ledgerId: Uuid, by: Uuid): Promise<void> {
  await db.query(
    'update tallystick.archives set claimed_by = null, claimed_until = null where ledger_id = $1 and claimed_by = $2',
    [ledgerId, by],
  )
}

export type PieceObject = { readonly digest: Uint8Array; readonly bytes: number }

/**
 * A piece with the entries from `from` to before `end`, and its objects in the archive. `documents` is null if no entry
 * has a document.
 */
export type PieceObjects = {
  readonly from: number
  readonly end: number
  readonly lines: PieceObject
  readonly documents: PieceObject | null
}

export type ArchivePosition = {
  readonly size: number
  readonly sealDigest: Uint8Array
  readonly pieces: readonly PieceObjects[]
}

/**
 * Advances the ledger's archive from `from` to `size` and stores its new pieces. Returns false if the archive does not
 * end at `from`.
 */
export async function advanceArchive(
  db: Db,
  ledgerId: Uuid,
  from: number,
  { size, sealDigest, pieces }: ArchivePosition,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with moved as (
       update tallystick.archives set size = $3, seal_digest = $4, sealed_at = now() where ledger_id = $1 and size = $2
       returning ledger_id
     )
     insert into tallystick.archive_pieces
       (ledger_id, from_seq, end_seq, lines_digest, lines_bytes, documents_digest, documents_bytes)
     select m.ledger_id, p.* from moved m, unnest($5::int8[], $6::int8[], $7::bytea[], $8::int4[], $9::bytea[], $10::int4[]) p`,
    [
      ...[ledgerId, from, size, sealDigest],
      pieces.map((piece) => piece.from),
      pieces.map(({ end }) => end),
      pieces.map(({ lines }) => lines.digest),
      pieces.map(({ lines }) => lines.bytes),
      pieces.map(({ documents }) => documents?.digest ?? null),
      pieces.map(({ documents }) => documents?.bytes ?? null),
    ],
  )
  return rowCount === pieces.length
}

/**
 * Stores `sealed` as the sealed secrets of the piece that begins at `from`, unless the piece has secrets already.
 * Returns the stored secrets.
 */
export async function getOrStoreArchiveKeys(
  db: Db,
  ledgerId: Uuid,
  from: number,
  sealed: Uint8Array,
): Promise<Buffer> {
  await db.query(
    'insert into tallystick.archive_keys (ledger_id, from_seq, sealed) values ($1, $2, $3) on conflict do nothing',
    [ledgerId, from, sealed],
  )
  const { rows } = await db.query<{ sealed: Buffer }>(
    'select sealed from tallystick.archive_keys where ledger_id = $1 and from_seq = $2',
    [ledgerId, from],
  )
  return rows[0]!.sealed
}

export type ArchiveKeyRow = { readonly fromSeq: number; readonly sealed: Buffer }

/**
 * Returns the sealed secrets of all pieces that may contain one of the entries `seqs`. Locks them until the end of the
 * transaction. `entriesMax` is the maximum number of entries in a piece.
 */
export async function lockArchiveKeys(
  client: pg.ClientBase,
  ledgerId: Uuid,
  seqs: readonly number[],
  entriesMax: number,
): Promise<ArchiveKeyRow[]> {
  const { rows } = await client.query<ArchiveKeyRow>(
    `select from_seq, sealed from tallystick.archive_keys
     where ledger_id = $1 and from_seq in (
       select one.from_seq from unnest($2::bigint[]) seq, tallystick.archive_keys one
       where one.ledger_id = $1 and one.from_seq > seq - $3::bigint and one.from_seq <= seq
     )
     order by from_seq for update`,
    [ledgerId, seqs, entriesMax],
  )
  return rows
}

/**
 * Replaces the sealed secrets of a piece. Throws if the row did not change. This happens if the ledger is being moved,
 * because the trigger refuse_while_moving then prevents the change.
 */
export async function replaceArchiveKeys(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { fromSeq, sealed }: ArchiveKeyRow,
): Promise<void> {
  const { rowCount } = await client.query(
    'update tallystick.archive_keys set sealed = $3 where ledger_id = $1 and from_seq = $2',
    [ledgerId, fromSeq, sealed],
  )
  if (rowCount !== 1) throw new Error(`keys of the archive from ${fromSeq} on were not replaced`)
}

export type ArchiveKeyPosition = { readonly ledgerId: Uuid; readonly fromSeq: number }

/**
 * Lists the sealed secrets of one ledger, or of all ledgers if `ledgerId` is null. Returns at most `limit` rows in
 * order, beginning after the row `after`.
 */
export async function listArchiveKeys(
  db: Db,
  ledgerId: Uuid | null,
  after: ArchiveKeyPosition | null,
  limit: number,
): Promise<(ArchiveKeyRow & ArchiveKeyPosition)[]> {
  const { rows } = await db.query<ArchiveKeyRow & ArchiveKeyPosition>(
    `select ledger_id, from_seq, sealed from tallystick.archive_keys
     where ($1::uuid is null or ledger_id = $1) and ($2::uuid is null or (ledger_id, from_seq) > ($2, $3::bigint))
     order by ledger_id, from_seq limit $4`,
    [ledgerId, after?.ledgerId, after?.fromSeq, limit],
  )
  return rows
}

/**
 * Maximum number of entries and of records that one seal adds. If even the next checkpoint exceeds a limit, the seal
 * ends at that checkpoint.
 */
export type SealBounds = { readonly entries: number; readonly records: number }

/**
 * Returns the size of the checkpoint at which the next seal ends. Returns null if there is no checkpoint beyond `from`.
 */
export async function findSealSize(
  db: Db,
  ledgerId: Uuid,
  from: number,
  { entries, records }: SealBounds,
): Promise<number | null> {
  const { rows } = await db.query<{ size: number | null }>(
    `with counted as (
       select seq, sum(coalesce(item_count, 1)) over (order by seq) as records from tallystick.entries
       where ledger_id = $1 and seq >= $2 and seq < $2::bigint + $3
     )
     select coalesce(
       (select max(size) from tallystick.checkpoints where ledger_id = $1 and size > $2
          and size <= (select max(seq) + 1 from counted where records <= $4)),
       (select min(size) from tallystick.checkpoints where ledger_id = $1 and size > $2)) as size`,
    [ledgerId, from, entries, records],
  )
  return rows[0]!.size
}

export type SignedErasureRow = {
  readonly subjectId: Uuid
  readonly document: DocumentKind
  readonly documentSeq: number
  readonly seq: number
}

/** Lists the erasures that were requested by the entries from `from` to before `end`. */
export async function listErasuresOf(
  db: Db,
  ledgerId: Uuid,
  from: number,
  end: number,
): Promise<SignedErasureRow[]> {
  const { rows } = await db.query<SignedErasureRow>(
    `select subject_id, document, document_seq, seq from tallystick.erasures
     where ledger_id = $1 and seq >= $2 and seq < $3 order by seq`,
    [ledgerId, from, end],
  )
  return rows
}

/**
 * Lists erasures of archived documents whose erasing entries are not in the archive yet, in the order of these entries.
 */
export async function listUnarchivedErasures(
  db: Db,
  ledgerId: Uuid,
): Promise<Omit<SignedErasureRow, 'seq'>[]> {
  const { rows } = await db.query<Omit<SignedErasureRow, 'seq'>>(
    `select d.subject_id, d.document, d.document_seq from tallystick.erasures d
     join tallystick.archives a on a.ledger_id = d.ledger_id
     where d.ledger_id = $1 and d.seq >= a.size and d.document_seq < a.size order by d.seq`,
    [ledgerId],
  )
  return rows
}
