/*
 * Words for codes of the API. A code without words is shown unchanged, so that the reader can see the codes of a newer
 * server.
 */

const WORDS: Readonly<Record<string, string>> = {
  // Steps that may come next
  'record-activated': 'Accept the work',
  'completion-submitted': 'Deliver',
  'completion-verified': 'Compare with the rules',
  'verdict-rendered': 'Give a verdict',
  'verdict-overturned': 'Overturn the rejection',
  'revision-requested': 'Request a revision',
  'record-cancelled': 'Cancel',
  'record-expired': 'End at the deadline',
  // Why two ledgers do not agree
  summary_incomplete: 'the peer has more records than are compared',
  records_differ: 'records differ',
  dead_letters: 'the peer refused entries for good',
  forks: 'the peer signed two entries for one position',
  leaf: 'two different entries for one version',
  unknown: 'the peer has entries that our chain does not have',
  theirs_behind: 'the peer has fewer entries so far',
  ours_behind: 'we have fewer entries so far',
  whole: 'with documents',
  digests: 'only digests',
  // Audits
  queued: 'waiting',
  running: 'running',
  failed: 'did not finish',
}

export function wordsOf(code: string): string {
  return Object.hasOwn(WORDS, code) ? WORDS[code]! : code
}
