import { formatId, isId, parseId, type Uuid } from '../ids.ts'

/**
 * Names of documents in statements (docs/formats/statements.md). A payload has the id of its record as its name, and
 * evidence has the id of its completion. All other documents add a suffix to one of these ids.
 */
const SUBJECTS = {
  payload: { prefix: 'rec', suffix: '' },
  reason: { prefix: 'rec', suffix: '/reason' },
  evidence: { prefix: 'cmp', suffix: '' },
  values: { prefix: 'cmp', suffix: '/values' },
} as const

export type DocumentKind = keyof typeof SUBJECTS

/** Returns the name of a document. `id`: id of the record or completion. */
export function formatDocumentSubject(document: DocumentKind, id: Uuid): string {
  const { prefix, suffix } = SUBJECTS[document]
  return formatId(prefix, id) + suffix
}

/** Returns the kind and id for a name that formatDocumentSubject made. Returns null for any other name. */
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
