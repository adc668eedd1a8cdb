import type { EntryStep } from './entry-step.ts'

/** Erasure as the signed entry at `seq` says it. */
export type Erasure = {
  readonly seq: number
  /** Name of what was erased: a record's payload is called after the record. */
  readonly subject: string
  /** The entry that digests it. */
  readonly digestedBy: number
  readonly code: string
  /** An agent, or `system`. */
  readonly by: string
  readonly key: string | null
  readonly recordedAt: string
}

/** null: the entry erases nothing. */
export function erasureOf({ seq, statement }: EntryStep): Erasure | null {
  if (statement?.kind !== 'payload-erased') return null
  const { subjects, predicate, actor, key, recordedAt } = statement
  const { seq: digestedBy, code } = predicate as { seq: number; code: string }
  return { seq, subject: subjects[0].name, digestedBy, code, by: actor, key, recordedAt }
}
