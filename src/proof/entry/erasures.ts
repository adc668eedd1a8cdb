import type { EntryStep } from './entry-step.ts'

/** An erasure, as the signed entry at `seq` states it. */
export type Erasure = {
  readonly seq: number
  /** Name of the erased document. A payload has the name of its record. */
  readonly subject: string
  /** Seq of the entry that digests the document. */
  readonly digestedBy: number
  readonly code: string
  /** Who erased: an agent, or `system`. */
  readonly by: string
  readonly key: string | null
  readonly recordedAt: string
}

/** Returns the erasure that an entry states, or null if the entry erases nothing. */
export function erasureOf({ seq, statement }: EntryStep): Erasure | null {
  if (statement?.kind !== 'payload-erased') return null
  const { subjects, predicate, actor, key, recordedAt } = statement
  const { seq: digestedBy, code } = predicate as { seq: number; code: string }
  return { seq, subject: subjects[0].name, digestedBy, code, by: actor, key, recordedAt }
}
