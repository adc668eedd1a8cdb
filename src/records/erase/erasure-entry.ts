import type { ErasableRow } from '../../db/records/erasures.ts'
import { toHex } from '../../proof/bytes.ts'
import type { Uuid } from '../../proof/ids.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'

/**
 * Makes the entry that erases a document of a record. `rule`: seq of the retention rule that requires the erasure, or
 * null if an agent erases.
 */
export function erasureEntry(
  recordId: Uuid,
  { document, subjectId, digest, seq, type, agents }: ErasableRow,
  {
    code,
    reason,
    rule,
  }: { readonly code: string; readonly reason: string | null; readonly rule: number | null },
) {
  return {
    kind: 'payload-erased',
    subject: { id: subjectId, name: formatDocumentSubject(document, subjectId), digest: toHex(digest) },
    predicate: { seq, code, ...(rule !== null && { rule }) },
    detail: { document, documentSeq: seq, reason, recordId, type, agents, rule },
  } as const
}
