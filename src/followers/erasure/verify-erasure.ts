import type { PendingErasure } from '../../db/records/pending-erasures.ts'
import { toHex } from '../../proof/bytes.ts'
import { type FindKey, verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { nativeProviders } from '../../signing/native.ts'

/**
 * Throws ProofError unless an envelope key of the deployment signed the entry, and the entry orders exactly this
 * erasure: its ledger, subject and digest. A holder of the API's login can make the row and the entry, but not the
 * signature. Without this check a document could be erased by mistake, and it could not be restored.
 */
export function verifyErasure(pending: PendingErasure, findKey: FindKey): void {
  const { statement } = verifySignedEntry(pending.entry, findKey, nativeProviders)
  if (statement.kind !== 'payload-erased')
    throw new ProofError('erasure_unexplained', `the entry is ${statement.kind}, not an erasure`)
  const ledger = formatId('led', pending.ledgerId)
  if (statement.ledger !== ledger)
    throw new ProofError('ledger_foreign', `an entry of ${statement.ledger} in ${ledger}`)
  const { document, subjectId, documentSeq, digest } = pending
  const name = formatDocumentSubject(document, subjectId)
  if (!digest) throw new ProofError('erasure_of_nothing', `seq ${documentSeq} has no ${name}`)
  const [subject] = statement.subjects
  const signed = `${subject.name} ${subject.sha256} of seq ${statement.predicate['seq']}`
  const found = `${name} ${toHex(digest)} of seq ${documentSeq}`
  if (signed !== found) throw new ProofError('erasure_unexplained', `signed is ${signed}, not ${found}`)
}
