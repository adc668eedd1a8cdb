import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { ARCHIVE_UNTOLD, archiveUnavailable } from '../chunks/released-chunks.ts'
import type { Db } from '../connect/client.ts'
import type { EnvelopesInArchive } from '../connect/released-content.ts'

/* Entries whose envelopes have left Postgres for the archive (docs/archive.md#content-that-leaves-postgres). */

/** Columns of an entry as it was read. `envelope` is null of one that has left, until fillEnvelopes has been there. */
type EntryColumns = { readonly seq: number; readonly leaf: Buffer; envelope: Buffer }

/** An entry, and the size of the prefix that its piece came with. */
type SealedEntry = { readonly seq: number; readonly leaf: Buffer; readonly sealSize: number }

/**
 * Puts the envelope into each row that lacks it because it has left, reading each bundle once. MUST be called before anybody looks into the
 * envelopes. Throws ApiError `archive_unavailable`, ProofError.
 */
export async function fillEnvelopes(
  db: Db,
  ledgerId: Uuid,
  rows: readonly (EntryColumns | null)[],
): Promise<void> {
  const left = rows.filter((row) => row !== null).filter(({ envelope }) => envelope === null)
  if (left.length === 0) return
  if (!db.released) throw archiveUnavailable(ARCHIVE_UNTOLD)
  const sizes = await findSealSizes(
    db,
    ledgerId,
    left.map(({ seq }) => seq),
  )
  const bySeq = new Map(left.map((row) => [row.seq, row]))
  const sealed = [...bySeq.values()].map(({ seq, leaf }) => ({ seq, leaf, sealSize: sizes.get(seq) ?? 0 }))
  const found = new Map<number, Buffer>()
  for (const wanted of bundlesOf(ledgerId, sealed)) {
    const envelopes = await db.released.readEnvelopes(wanted)
    for (const [i, { seq }] of wanted.entries.entries()) found.set(seq, Buffer.from(envelopes[i]!))
  }
  for (const row of left) row.envelope = found.get(row.seq)!
}

/** The bundles that hold the envelopes. Throws ProofError where there is none: the entry lies in no piece. */
export function bundlesOf(ledgerId: Uuid, entries: readonly SealedEntry[]): EnvelopesInArchive[] {
  const bundles = new Map<
    string,
    EnvelopesInArchive & { readonly entries: Pick<SealedEntry, 'seq' | 'leaf'>[] }
  >()
  for (const { seq, leaf, sealSize } of entries) {
    if (sealSize <= seq) throw new ProofError('archive_object', `the envelope of seq ${seq} is nowhere`)
    const tile = Math.floor(seq / TILE_HASHES)
    const width = Math.min(TILE_HASHES, sealSize - tile * TILE_HASHES)
    const name = `${tile} ${width}`
    const bundle = bundles.get(name) ?? { ledgerId, tile, width, entries: [] }
    bundles.set(name, bundle)
    bundle.entries.push({ seq, leaf })
  }
  return [...bundles.values()]
}

async function findSealSizes(db: Db, ledgerId: Uuid, seqs: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query<{ seq: number; sealSize: number }>({
    name: 'find_seal_sizes',
    text: `select n.seq, p.seal_size from unnest($2::int8[]) n (seq)
      cross join lateral (
        select * from tallystick.archive_pieces c
        where c.ledger_id = $1 and c.from_seq <= n.seq order by c.from_seq desc limit 1
      ) p`,
    values: [ledgerId, seqs],
  })
  return new Map(rows.map(({ seq, sealSize }) => [seq, sealSize]))
}
