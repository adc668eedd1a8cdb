import { formatId, isId, parseId, type Uuid } from '../ids.ts'

/**
 * Names of documents beside the chain in statements (docs/formats/statements.md): a record's payload after the record, a
 * completion's evidence after the completion, and a document without an id after what it belongs to.
 */
const SUBJECTS = {
  payload: { prefix: 'rec', suffix: '' },
  reason: { prefix: 'rec', suffix: '/reason' },
  evidence: { prefix: 'cmp', suffix: '' },
  values: { prefix: 'cmp', suffix: '/values' },
} as const

export type DocumentKind = keyof typeof SUBJECTS

/** `id`: that of the record or completion. */
export function formatDocumentSubject(document: DocumentKind, id: Uuid): string {
  const { prefix, suffix } = SUBJECTS[document]
  return formatId(prefix, id) + suffix
}

/** The inverse; null for a name that is no document's. */
export function parseDocumentSubject(
  name: string,
): { readonly document: DocumentKind; readonly id: Uuid } | null {
  for (const document of Object.keys(SUBJECTS) as DocumentKind[]) {
    const { prefix, suffix } = SUBJECTS[document]
    const end = name.length - suffix.length
    const id = name.slice(0, end)
    if (name.slice(end) === suffix && isId(prefix, id)) return { document, id: parseId(prefix, id) }
  }
  return null
}
