import { readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type pg from 'pg'
import { makeDirectory } from '../../sdk/node/make-directory.ts'
import { type ArchiveKeyPosition, listArchiveKeys, listUnarchivedErasures } from '../db/chain/archives.ts'
import { withOwner } from '../db/connect/client.ts'
import { isOfItem } from '../db/records/pending-erasures.ts'
import { formatId, isId, parseId, type Uuid } from '../proof/ids.ts'
import { ARCHIVE_PIECE_ENTRIES_MAX } from '../proof/limits.ts'
import { indexOfRecordId } from '../proof/statement/batch-ids.ts'
import { archiveKeyContext } from '../signing/archive-keys.ts'
import { DocumentKeys, documentPosition } from '../signing/document-keys.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { type ArchiveKeys, formatArchiveKeys, parseArchiveKeys } from '../verify/archive/key-file.ts'
import { readConfig } from './config.ts'
import { ARCHIVE_KEYS_PER_QUERY } from './limits.ts'
import { getMasterKey } from './master-key.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runsToEnd, UsageError } from './run-to-end.ts'

const HELP = `  --out DIR    writes a file for each archived ledger, readable only by its owner; replaces an older file
  --ledger ID  only this ledger (led_…)

Exit code 3: files were written, but some erasures of documents are not archived yet. Run it again when they are`

/** Exit code that says: the files were written, but must be written again after the next prefix is archived. */
const EXIT_UNARCHIVED = 3

/**
 * Command `archive-keys`: uses the owner's login and writes the keys of archived documents into files, for `tallystick
 * verify --archive --archive-key`.
 *
 * A file opens all documents that were not erased when the file was written. So destroy older files as you destroy
 * older backups.
 *
 * A new file also opens an erased document if its erasure is not archived yet: the key is copied from the replaced
 * file. Without the erasing entry and without the document's key, the archive would neither verify nor restore.
 */
export const main = runsToEnd(
  {
    name: 'archive-keys',
    argumentsUsage: '--out DIR [--ledger ID]',
    help: HELP,
    options: { out: { type: 'string' }, ledger: { type: 'string' } },
  },
  async (values) => {
    if (values.out === undefined) throw new UsageError('name a directory with --out')
    const { ledger } = values
    if (ledger !== undefined && !isId('led', ledger))
      throw new UsageError('--ledger needs the id of a ledger (led_…)')
    const config = readConfig()
    const masterKey = getMasterKey(config, 'this key opens the keys of documents')
    let code = 0
    const directory = resolve(values.out)
    makeDirectory(directory)
    await withOwner(getOwnerDatabase(config), async (client) => {
      const ledgerId = ledger === undefined ? null : parseId('led', ledger)
      for await (const { id, pieces } of readLedgers(client, masterKey, ledgerId)) {
        const name = formatId('led', id)
        const path = join(directory, `${name}.json`)
        const erasures = await listUnarchivedErasures(client, id)
        const kept = withUnarchivedKeys(pieces, erasures, await readKeysBefore(path, name))
        await writeSecret(path, formatArchiveKeys(name, kept.pieces))
        console.log(`${name} pieces=${pieces.length}`)
        if (erasures.length === 0) continue
        code = EXIT_UNARCHIVED
        reportUnarchived(name, erasures.length, kept.lost)
      }
    })
    return code
  },
)

type PieceKeys = { readonly from: number; readonly packed: Buffer }

/** Yields each ledger with the keys of all its pieces. */
async function* readLedgers(client: pg.Client, masterKey: MasterKey, ledgerId: Uuid | null) {
  let after: ArchiveKeyPosition | null = null
  let ledger = null as { id: Uuid; pieces: PieceKeys[] } | null
  for (;;) {
    const rows = await listArchiveKeys(client, ledgerId, after, ARCHIVE_KEYS_PER_QUERY)
    for (const { ledgerId: id, fromSeq, sealed } of rows) {
      if (ledger?.id !== id) {
        if (ledger !== null) yield ledger
        ledger = { id, pieces: [] }
      }
      ledger.pieces.push({ from: fromSeq, packed: masterKey.open(sealed, archiveKeyContext(id, fromSeq)) })
    }
    after = rows.at(-1) ?? null
    if (after === null) break
  }
  if (ledger !== null) yield ledger
}

/** Reads the file that will be replaced. Returns null if there is no such file. */
async function readKeysBefore(path: string, ledger: string): Promise<ArchiveKeys | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  const before = parseArchiveKeys(text, path)
  if (before.ledger !== ledger)
    throw new Error(`${path} is the key file of another ledger, ${before.ledger}: move that file away`)
  return before
}

/**
 * Adds the keys of documents whose erasures are not archived yet. `lost`: number of documents whose key is neither in
 * the database nor in the old file. The caller MUST read the erasures after the pieces.
 */
function withUnarchivedKeys(
  pieces: readonly PieceKeys[],
  erasures: Awaited<ReturnType<typeof listUnarchivedErasures>>,
  before: ArchiveKeys | null,
): { readonly pieces: readonly PieceKeys[]; readonly lost: number } {
  const changed = new Map<number, DocumentKeys>()
  const keysOf = ({ from, packed }: PieceKeys) => {
    const keys = changed.get(from) ?? DocumentKeys.unpack(packed)
    changed.set(from, keys)
    return keys
  }
  let lost = 0
  for (const erasure of erasures) {
    const { documentSeq } = erasure
    const item = isOfItem(erasure) ? indexOfRecordId(erasure.subjectId) : 0
    const found = pieces
      .filter(({ from }) => from <= documentSeq && documentSeq < from + ARCHIVE_PIECE_ENTRIES_MAX)
      .map((piece) =>
        keysOf(piece).adopt(documentPosition(documentSeq - piece.from, item), before?.pieces.get(piece.from)),
      )
    if (!found.includes(true)) lost++
  }
  return {
    pieces: pieces.map((piece) => ({ ...piece, packed: changed.get(piece.from)?.pack() ?? piece.packed })),
    lost,
  }
}

function reportUnarchived(ledger: string, count: number, lost: number): void {
  console.error(
    `${ledger}: ${count} erasures are not archived yet: run this again after the next prefix is archived. ` +
      (lost === 0
        ? 'Until then the file can open these documents'
        : `Until then the new file lacks the keys of ${lost} of these documents and cannot restore the ledger: keep the previous file`),
  )
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
}
