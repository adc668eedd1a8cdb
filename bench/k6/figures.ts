import type { Goal, ReportedRound } from './types.ts'

export function formatValue(value: number): string {
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

export function describeAudit({ audit }: Pick<ReportedRound, 'audit'>): string {
  const { acknowledged, unanswered, found, entries, ledgers, verified, ended, deadLetters, deliveries } =
    audit
  const bytes = Math.round(audit.bytesPerRecord)
  const unknown = unanswered === 0 ? '' : ` (${unanswered} more were never answered)`
  const came = deliveries === null ? '' : `, ${deliveries.received} of ${deliveries.due} deliveries`
  return `${acknowledged} records acknowledged${unknown}, ${found} found in ${entries} entries of ${ledgers} ledgers, ${verified} verified; ${ended} processes ended, ${deadLetters} dead letters${came}; ${bytes} bytes a record.`
}

/** null: there is no goal, or nothing was measured. A goal that is not met is said; it makes no run fail. */
export function isMet(goal: Goal | undefined, value: number | null | undefined): boolean | null {
  if (goal === undefined || value === null || value === undefined) return null
  return (
    (goal.atLeast === undefined || value >= goal.atLeast) &&
    (goal.atMost === undefined || value <= goal.atMost)
  )
}
