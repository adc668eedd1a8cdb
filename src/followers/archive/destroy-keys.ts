import type pg from 'pg'
import { lockArchiveKeys, replaceArchiveKeys } from '../../db/chain/archives.ts'
import { isOfItem, type PendingErasure } from '../../db/records/pending-erasures.ts'
import type { Uuid } from '../../proof/ids.ts'
import { ARCHIVE_PIECE_ENTRIES_MAX } from '../../proof/limits.ts'
import { indexOfRecordId } from '../../proof/statement/batch-ids.ts'
import { archiveKeyContext } from '../../signing/archive-keys.ts'
import { DocumentKeys, documentPosition } from '../../signing/document-keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'

/**
 * Destroys the keys with which the archive encrypted the erased documents. All erasures must be of one ledger. Usually
 * only one piece has a key for a document. If a worker was killed while it wrote a piece, that unfinished piece may
 * have a second key for the document.
 *
 * Call this in the transaction that removes the documents, before they are removed. Calling it twice is harmless.
 */
export async function destroyDocumentKeys(
  client: pg.ClientBase,
  masterKey: MasterKey,
  ledgerId: Uuid,
  erasures: readonly PendingErasure[],
): Promise<void> {
  const seqs = erasures.map(({ documentSeq }) => documentSeq)
  for (const { fromSeq, sealed } of await lockArchiveKeys(
    client,
    ledgerId,
    seqs,
    ARCHIVE_PIECE_ENTRIES_MAX,
  )) {
    const context = archiveKeyContext(ledgerId, fromSeq)
    const keys = DocumentKeys.unpack(masterKey.open(sealed, context))
    const destroyed = erasures.filter((erasure) => destroyIn(keys, fromSeq, erasure))
    if (destroyed.length > 0)
      await replaceArchiveKeys(client, ledgerId, {
        fromSeq,
        sealed: masterKey.seal(keys.pack(), context) as Buffer,
      })
  }
}

export type ErasedDocument = Pick<PendingErasure, 'subjectId' | 'document' | 'documentSeq'>

/** Destroys the document's key in the piece that begins at `fromSeq`. Returns false if the piece has no such key. */
export function destroyIn(keys: DocumentKeys, fromSeq: number, erasure: ErasedDocument): boolean {
  const offset = erasure.documentSeq - fromSeq
  if (offset < 0 || offset >= ARCHIVE_PIECE_ENTRIES_MAX) return false
  const item = isOfItem(erasure) ? indexOfRecordId(erasure.subjectId) : 0
  return keys.destroy(documentPosition(offset, item))
}
