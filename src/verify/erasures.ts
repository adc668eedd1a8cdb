import type { Erasure } from '../proof/entry/erasures.ts'

/** One line for people and scripts: names and values hold no spaces. */
export function formatErasure({ seq, subject, digestedBy, code, by, key, recordedAt }: Erasure): string {
  const who = key === null ? `by=${by}` : `by=${by} key=${key}`
  return `erased seq=${seq} subject=${subject} of=${digestedBy} code=${code} ${who} at=${recordedAt}`
}
