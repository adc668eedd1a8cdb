import type { PendingErasure } from '../../db/records/pending-erasures.ts'
import { toHex } from '../../proof/bytes.ts'
import { type FindKey, verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { nativeProviders } from '../../signing/native.ts'

/**
 * Throws ProofError if no envelope key of the deployment signed the entry, or if the entry orders another erasure. The
 * ledger, the subject and the digest must be those of `pending`. Somebody with the server's database login can forge
 * the row and the entry, but not the signature. Without this check, such a row would make the worker erase a document
 * for ever.
 */
export function verifyErasure(pending: PendingErasure, findKey: FindKey): void {
  const { statement } = verifySignedEntry(pending.entry, findKey, nativeProviders)
  if (statement.kind !== 'payload-erased')
    throw new ProofError(
      'erasure_unexplained',
      `the entry named as the erasure is ${statement.kind}, not payload-erased`,
    )
  const ledger = formatId('led', pending.ledgerId)
  if (statement.ledger !== ledger)
    throw new ProofError(
      'ledger_foreign',
      `the erasure belongs to ${statement.ledger}, but the document to ${ledger}`,
    )
  const { document, subjectId, documentSeq, digest } = pending
  const name = formatDocumentSubject(document, subjectId)
  if (!digest)
    throw new ProofError(
      'erasure_of_nothing',
      `entry ${documentSeq} has no document ${name} that could be erased`,
    )
  const [subject] = statement.subjects
  const signed = `${subject.name} ${subject.sha256} of seq ${statement.predicate['seq']}`
  const found = `${name} ${toHex(digest)} of seq ${documentSeq}`
  if (signed !== found)
    throw new ProofError(
      'erasure_unexplained',
      `the signed erasure is of ${signed}, but the database names ${found}`,
    )
}
