import type pg from 'pg'
import { lockArchiveKeys, replaceArchiveKeys } from '../../db/chain/archives.ts'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import type { PendingErasure } from '../../db/records/pending-erasures.ts'
import { indexOfRecordId, isOfBatch } from '../../proof/statement/batch-ids.ts'
import { archiveKeyContext } from '../../signing/archive-keys.ts'
import { DocumentKeys, documentPlace, PIECE_ENTRIES_MAX } from '../../signing/document-keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'

/**
 * Destroys the key of an erased document in each piece of the archive that may hold it: one, and others that a killed worker has begun.
 * To be done before the document is taken away, and harmless if done twice.
 */
export async function destroyDocumentKey(
  pool: pg.Pool,
  masterKey: MasterKey,
  { ledgerId, document, documentSeq, subjectId }: PendingErasure,
): Promise<void> {
  const item = document === 'payload' && isOfBatch(subjectId) ? indexOfRecordId(subjectId) : 0
  await withPooledTransaction(pool, async (client) => {
    for (const { fromSeq, sealed } of await lockArchiveKeys(
      client,
      ledgerId,
      documentSeq,
      PIECE_ENTRIES_MAX,
    )) {
      const context = archiveKeyContext(ledgerId, fromSeq)
      const keys = DocumentKeys.unpack(masterKey.open(sealed, context))
      if (!keys.destroy(documentPlace(documentSeq - fromSeq, item))) continue
      await replaceArchiveKeys(client, ledgerId, {
        fromSeq,
        sealed: masterKey.seal(keys.pack(), context) as Buffer,
      })
    }
  })
}
