import { parseDocumentSubject } from '../../proof/statement/document-subjects.ts'
import type { EntryDetail } from '../chain/entry-details.ts'
import { signedTable } from './table.ts'

export const ERASURES = signedTable(
  'erasures',
  'select seq, subject_id, document, document_seq from tallystick.erasures where ledger_id = $1 order by seq',
  ({ kind, subjects, predicate }) => {
    if (kind !== 'payload-erased') return []
    const { document, id } = parseDocumentSubject(subjects[0].name)!
    return [{ subjectId: id, document, documentSeq: predicate['seq'] as number }]
  },
  ({ document, documentSeq }) => ({ document, documentSeq, reason: null }) as EntryDetail,
)
