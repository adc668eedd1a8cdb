import type { EntryStep } from './entry-step.ts'

/** An erasure, as the signed entry at `seq` states it. */
export type Erasure = {
  readonly seq: number
  /** Name of the erased document. A payload has the name of its record. */
  readonly subject: string
  /** Seq of the entry that digests the document. */
  readonly digestedBy: number
  readonly code: string
  /** The agent that erased the document, or `system`. */
  readonly by: string
  readonly key: string | null
  readonly recordedAt: string
}

export function erasureOf({ seq, statement }: EntryStep): Erasure | null {
  if (statement?.kind !== 'payload-erased') return null
  const { subjects, predicate, actor, key, recordedAt } = statement
  const { seq: digestedBy, code } = predicate as { seq: number; code: string }
  return { seq, subject: subjects[0].name, digestedBy, code, by: actor, key, recordedAt }
}
