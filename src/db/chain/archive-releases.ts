import { type ChunkInPostgres, listChunksInPostgres } from '../chunks/read-chunks.ts'
import type { PieceInArchive } from '../connect/archive.ts'
import type { Db } from '../connect/client.ts'
import { hasOpenFault } from './verified-size.ts'

export type DueRelease = PieceInArchive & {
  readonly end: number
  /** Number of entries in the whole archive of the ledger. */
  readonly size: number
}

type DuePolicy = {
  /** Minimum age in days of the piece's last entry. */
  readonly days: number
  readonly piecesOfLedger: number
  readonly limit: number
}

/**
 * Lists pieces whose content may leave Postgres. They are old enough, and the server will not need their content soon:
 *
 * - Every entry of the piece was verified.
 * - Endpoints and peers have received all its events.
 * - No erasure of its documents is waiting.
 * - The ledger has no fault, is not closed as restored, and is in this database.
 */
export async function listDueReleases(db: Db, policy: DuePolicy): Promise<DueRelease[]> {
  const { rows } = await db.query<DueRelease>(
    `select p.ledger_id, p.from_seq as "from", p.end_seq as "end", a.size, encode(p.lines_digest, 'hex') as lines,
       p.lines_bytes, encode(p.documents_digest, 'hex') as documents, p.documents_bytes, encode(k.sealed, 'base64') as keys
     from tallystick.archives a
     join tallystick.chain_heads h on h.ledger_id = a.ledger_id and (h.closed is null or h.closed = 'frozen')
     cross join lateral (
       select * from tallystick.archive_pieces n
       where n.ledger_id = a.ledger_id and n.state <> 'left' and n.end_seq <= a.size order by n.from_seq limit $2
     ) p
     left join tallystick.archive_keys k on k.ledger_id = p.ledger_id and k.from_seq = p.from_seq
     join tallystick.entries e on e.ledger_id = p.ledger_id and e.seq = p.end_seq - 1
     join tallystick.audit_cursors c on c.ledger_id = p.ledger_id and c.next_seq >= p.end_seq
     where e.recorded_at <= now() - $1 * interval '1 day' and not ${hasOpenFault('a.ledger_id')}
       and not exists (
         select from tallystick.webhook_cursors w
         where w.ledger_id = p.ledger_id and (w.next_seq < p.end_seq or w.recover_seq < p.end_seq))
       and not exists (
         select from tallystick.webhook_deliveries d
         where d.ledger_id = p.ledger_id and d.state in ('pending', 'held') and d.seq >= p.from_seq and d.seq < p.end_seq)
       and not exists (
         select from tallystick.peer_cursors q where q.ledger_id = p.ledger_id and q.next_seq < p.end_seq)
       and not exists (
         select from tallystick.erasures x
         where x.ledger_id = p.ledger_id and x.erased_at is null and x.document_seq >= p.from_seq and x.document_seq < p.end_seq)
     -- in random order, so that ledgers with a faulty archive never block others
     order by random() limit $3`,
    [policy.days, policy.piecesOfLedger, policy.limit],
  )
  return rows
}

export type LeavingChunk = {
  readonly seq: number
  readonly chunk: number
  /** SHA-256 of the content that was compared with the archive. */
  readonly before: Uint8Array
  /** Metadata of the chunk's records, which stays in Postgres (src/db/chunks/chunk-metadata.ts). */
  readonly metadata: Uint8Array | null
}

/** An entry whose envelope may leave Postgres. The envelope was checked against `leaf`. */
export type LeavingEntry = { readonly seq: number; readonly leaf: Buffer; readonly envelope: Buffer }

export type Released = { readonly chunks: number; readonly envelopes: number }

/**
 * Removes contents and envelopes from Postgres. Returns how many were removed. Does not remove a content that has
 * changed since it was compared.
 */
export async function takeContentOut(
  db: Db,
  { ledgerId, from }: Pick<DueRelease, 'ledgerId' | 'from'>,
  {
    chunks = [],
    entries = [],
    isLast = false,
  }: {
    readonly chunks?: readonly LeavingChunk[]
    readonly entries?: readonly Pick<LeavingEntry, 'seq' | 'leaf'>[]
    /** True if this call removes the last content of the piece. */
    readonly isLast?: boolean
  },
): Promise<Released> {
  const { rows } = await db.query<Released>({
    name: 'release_content',
    text: 'select * from tallystick.release_content($1, $2, $3::int8[], $4::int4[], $5::bytea[], $6::bytea[], $7::int8[], $8::bytea[], $9)',
    values: [
      ...[ledgerId, from],
      chunks.map(({ seq }) => seq),
      chunks.map(({ chunk }) => chunk),
      chunks.map(({ before }) => before),
      chunks.map(({ metadata }) => metadata),
      entries.map(({ seq }) => seq),
      entries.map(({ leaf }) => leaf),
      isLast,
    ],
  })
  return rows[0]!
}

/**
 * Lists the piece's chunks whose content is still in Postgres, in order. Begins after the chunk `after`, or with the
 * piece's first chunk if `after` is null.
 */
export function listChunksOfPiece(
  db: Db,
  { ledgerId, from, end }: DueRelease,
  after: Pick<ChunkInPostgres, 'seq' | 'chunk'> | null,
  limit: number,
): Promise<ChunkInPostgres[]> {
  return listChunksInPostgres(db, ledgerId, { ...(after ?? { seq: from, chunk: -1 }), end, limit })
}

/**
 * Lists the piece's entries whose envelope is in Postgres and may leave Postgres, in order. Begins after the seq
 * `after`.
 */
export async function listEnvelopesOfPiece(
  db: Db,
  { ledgerId, end }: DueRelease,
  after: number,
  limit: number,
): Promise<LeavingEntry[]> {
  const { rows } = await db.query<LeavingEntry>({
    name: 'list_envelopes_of_piece',
    text: `select seq, leaf, envelope from tallystick.entries
      where ledger_id = $1 and seq > $2 and seq < $3 and envelope is not null and tallystick.leaves_for_archive(kind)
      order by seq limit $4`,
    values: [ledgerId, after, end, limit],
  })
  return rows
}

/** Counts the entries of all completely released pieces, over all ledgers. */
export async function readReleaseFigures(db: Db): Promise<{ readonly entries: number }> {
  const { rows } = await db.query<{ entries: number }>(
    `select coalesce(sum(end_seq - from_seq), 0)::float8 as entries from tallystick.archive_pieces where state = 'left'`,
  )
  return rows[0]!
}

/** Returns whether any ledger has content that is only in the archive. */
export async function hasReleased(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(
    `select exists (select from tallystick.archive_pieces where state <> 'kept') as has`,
  )
  return rows[0]!.has
}
