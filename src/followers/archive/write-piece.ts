import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type pg from 'pg'
import { getOrStoreArchiveKeys } from '../../db/chain/archives.ts'
import { readEntries } from '../../db/chain/read-entries.ts'
import { findDefinition } from '../../db/ledgers/types.ts'
import { Slice } from '../../load/slice.ts'
import type { Uuid } from '../../proof/ids.ts'
import { ARCHIVE_PIECE_ENTRIES_MAX } from '../../proof/limits.ts'
import { archiveEntry } from '../../records/read/archive-lines.ts'
import { archiveKeyContext, makeArchiveKeys } from '../../signing/archive-keys.ts'
import { DocumentKeys, documentPosition } from '../../signing/document-keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { NO_DOCUMENT, sealDocument } from '../../verify/archive/document-cipher.ts'
import { ARCHIVE_PIECE_BYTES } from '../../verify/archive/limits.ts'

const compress = promisify(gzip)

export type Piece = {
  readonly from: number
  /** Seq after the last entry (exclusive). */
  readonly end: number
  /** Compressed lines, one for each entry. */
  readonly lines: Buffer
  /** null if all documents of the piece are erased, or if its entries have no documents. */
  readonly documents: Buffer | null
}

type PieceDeps = { readonly pool: pg.Pool; readonly masterKey: MasterKey }

/** Reads the entries from `from` up to, but not including, `size`, in pieces of a bounded size. */
export async function* readPieces(
  deps: PieceDeps,
  ledgerId: Uuid,
  from: number,
  size: number,
): AsyncGenerator<Piece> {
  for (let at = from; at < size; ) {
    const piece = await readPiece(deps, ledgerId, at, Math.min(size, at + ARCHIVE_PIECE_ENTRIES_MAX))
    yield piece
    at = piece.end
  }
}

/**
 * Reads one piece. The piece's keys are stored before any document is read. So an erasure that commits later finds the
 * key and destroys it. If an erasure committed earlier, the document is not read any more.
 */
async function readPiece(deps: PieceDeps, ledgerId: Uuid, from: number, endMax: number): Promise<Piece> {
  const keys = await getKeys(deps, ledgerId, from)
  const slice = new Slice()
  const lines: string[] = []
  const documents: Buffer[] = []
  let bytes = 0
  let hasDocument = false
  for await (const read of readEntries(deps.pool, ledgerId, from, endMax)) {
    const { seq, kind } = read.entry
    const definition = kind === 'type-registered' ? await findDefinition(deps.pool, ledgerId, seq) : null
    const entry = await archiveEntry(read, definition)
    lines.push(entry.line)
    bytes += entry.line.length
    for (const { item, text } of entry.documents) {
      if (slice.isOver) await slice.next()
      const key = keys.find(documentPosition(seq - from, item))
      // An erasure may have destroyed the key after the entry was read. The line then still says that the document is
      // not erased, but a reader finds the erasing entry later in the chain.
      const sealed = text === null || key === null ? NO_DOCUMENT : sealDocument(text, key)
      if (sealed !== NO_DOCUMENT) hasDocument = true
      documents.push(sealed)
      bytes += sealed.length
    }
    if (bytes >= ARCHIVE_PIECE_BYTES) break
  }
  return {
    from,
    end: from + lines.length,
    lines: await compress(lines.join('')),
    documents: hasDocument ? Buffer.concat(documents) : null,
  }
}

async function getKeys({ pool, masterKey }: PieceDeps, ledgerId: Uuid, from: number): Promise<DocumentKeys> {
  const context = archiveKeyContext(ledgerId, from)
  const sealed = await getOrStoreArchiveKeys(pool, ledgerId, from, masterKey.seal(makeArchiveKeys(), context))
  return DocumentKeys.unpack(masterKey.open(sealed, context))
}
