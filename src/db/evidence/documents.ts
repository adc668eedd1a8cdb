import { equalBytes } from '../../proof/bytes.ts'
import type { Uuid } from '../../proof/ids.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import { asBase64 } from '../connect/packed-bytes.ts'
import { columnContradiction } from './compare.ts'
import type { Evidence } from './table.ts'

export type AuditedDocument = {
  seq: number
  document: string
  subjectId: Uuid
  digest: Buffer
  salt: Buffer | null
  content: Buffer | null
  erasedSeq: number | null
}

/**
 * Evidence of the table `documents`. Compares only the names and the exact bytes of documents. Another check compares
 * their number, subjects and digests with the entry's line.
 *
 * `isCanonical` is true if the digest covers the stored bytes. It is false if the bytes are only equivalent JSON.
 */
export const DOCUMENTS: Evidence<
  AuditedDocument,
  { readonly document: string; readonly isCanonical: boolean }
> = {
  table: 'documents',
  sql: `select seq, document, subject_id, ${asBase64('digest')} as digest, ${asBase64('salt')} as salt,
      ${asBase64('content')} as content, erased_seq
    from tallystick.documents where ledger_id = $1 order by seq`,
  columns({ document, salt, content, digest }, { sha256 }) {
    const isGone = salt === null || content === null
    return { document, isCanonical: isGone || equalBytes(documentDigest(sha256, salt, content), digest) }
  },
  verify(_, rows) {
    for (const { isCanonical } of rows) {
      if (!isCanonical)
        throw columnContradiction('documents', 'content', 'not the bytes that were hashed', 'canonical JSON')
    }
  },
}
