import type pg from 'pg'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { archiveOf, type EnvelopesInArchive } from '../connect/archive.ts'
import type { Db } from '../connect/client.ts'

/*
 * Reads envelopes of entries from Postgres, or from the archive if they have left Postgres
 * (docs/operate/backup-and-archive.md#content-that-leaves-postgres).
 *
 * All readers of envelopes use this file.
 */

type EntryColumns = { readonly seq: number; readonly leaf: Buffer; envelope: Buffer | null }

/** A row as read from Postgres. `envelope` is null if the envelope has left Postgres. */
export type Unfilled<T extends { envelope: Buffer }> = Omit<T, 'envelope'> & { envelope: Buffer | null }

/**
 * Returns the same rows, with missing envelopes added from the archive. Reads each bundle once. Throws ApiError
 * `archive_unavailable` and ProofError.
 */
export async function fillEnvelopes<T extends EntryColumns>(
  db: Db,
  ledgerId: Uuid,
  rows: readonly T[],
): Promise<(T & { envelope: Buffer })[]> {
  const filled = rows as (T & { envelope: Buffer })[]
  const left: EntryColumns[] = rows.filter(({ envelope }) => envelope === null)
  if (left.length === 0) return filled
  const archive = archiveOf(db)
  const size = await findArchivedSize(db, ledgerId)
  for (const { rows: ofBundle, wanted } of bundlesOf(ledgerId, size, left)) {
    const envelopes = await archive.readEnvelopes(wanted)
    for (const [i, row] of ofBundle.entries()) row.envelope = Buffer.from(envelopes[i]!)
  }
  return filled
}

/**
 * Runs a query for entries of the ledger, and returns its rows with their envelopes. Throws the errors of
 * fillEnvelopes.
 */
export async function queryEntries<
  T extends { readonly seq: number; readonly leaf: Buffer; envelope: Buffer },
>(db: Db, ledgerId: Uuid, query: pg.QueryConfig): Promise<T[]> {
  const { rows } = await db.query<Unfilled<T> & pg.QueryResultRow>(query)
  return fillEnvelopes(db, ledgerId, rows as unknown as EntryColumns[]) as Promise<T[]>
}

/**
 * Yields the same rows with their envelopes, in order. Reads the envelopes of `atATime` rows together. Throws the
 * errors of fillEnvelopes.
 */
export async function* streamEnvelopes<
  T extends { readonly seq: number; readonly leaf: Buffer; envelope: Buffer },
>(db: Db, ledgerId: Uuid, rows: AsyncIterable<Unfilled<T>>, atATime: number): AsyncGenerator<T> {
  let unfilled: EntryColumns[] = []
  for await (const row of rows) {
    unfilled.push(row as unknown as EntryColumns)
    if (unfilled.length < atATime) continue
    yield* (await fillEnvelopes(db, ledgerId, unfilled)) as unknown as T[]
    unfilled = []
  }
  yield* (await fillEnvelopes(db, ledgerId, unfilled)) as unknown as T[]
}

/**
 * Returns a function that the caller calls with one row after another. It returns true while all rows so far need at
 * most `max` bundles of the archive for their envelopes.
 */
export function limitBundles(max: number): (row: Pick<EntryColumns, 'seq' | 'envelope'>) => boolean {
  const bundles = new Set<number>()
  return ({ seq, envelope }) => {
    if (envelope === null) bundles.add(Math.floor(seq / TILE_HASHES))
    return bundles.size <= max
  }
}

type OfBundle<T> = { readonly rows: readonly T[]; readonly wanted: EnvelopesInArchive }

/**
 * Groups rows by the bundle that contains their envelopes. The archive has `size` entries, so its newest bundle may be
 * partial. Throws ProofError if a row lies beyond the archive.
 */
export function bundlesOf<T extends Pick<EntryColumns, 'seq' | 'leaf'>>(
  ledgerId: Uuid,
  size: number,
  rows: readonly T[],
): OfBundle<T>[] {
  const byTile = new Map<number, T[]>()
  for (const row of rows) {
    if (row.seq >= size)
      throw new ProofError(
        'archive_object',
        `the envelope of seq ${row.seq} is neither in Postgres nor in the archive`,
      )
    const tile = Math.floor(row.seq / TILE_HASHES)
    const ofTile = byTile.get(tile) ?? []
    byTile.set(tile, ofTile)
    ofTile.push(row)
  }
  return [...byTile].map(([tile, ofTile]) => ({
    rows: ofTile,
    wanted: {
      ...{ ledgerId, tile, width: Math.min(TILE_HASHES, size - tile * TILE_HASHES) },
      entries: ofTile.map(({ seq, leaf }) => ({ seq, leaf })),
    },
  }))
}

/** Returns the number of archived entries. Reads the table of pieces, because the API's login may read that table. */
async function findArchivedSize(db: Db, ledgerId: Uuid): Promise<number> {
  const { rows } = await db.query<{ size: number }>({
    name: 'find_archived_size',
    text: `select end_seq as size from tallystick.archive_pieces where ledger_id = $1 order by from_seq desc limit 1`,
    values: [ledgerId],
  })
  return rows[0]?.size ?? 0
}
