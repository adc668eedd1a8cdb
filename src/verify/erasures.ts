import type { Erasure } from '../proof/entry/erasures.ts'

/** Formats an erasure as one line for people and scripts. Names and values contain no spaces. */
export function formatErasure({ seq, subject, digestedBy, code, by, key, recordedAt }: Erasure): string {
  const who = key === null ? `by=${by}` : `by=${by} key=${key}`
  return `erased seq=${seq} subject=${subject} of=${digestedBy} code=${code} ${who} at=${recordedAt}`
}
