import type { LedgerRecord } from '../sdk/generated/api.ts'
import { endingOf, isAction, isDecision, isOutcome, isRun, NO_OUTCOME } from './activities.ts'

/*
 * Groups the records of one day by action. An action counts once, together with its outcome and its decisions. Tables
 * and headings of the page use the same counts.
 */

/**
 * How an action ended.
 *
 * - `unclear`: the outcome is unknown or erased.
 * - `open`: the action has no outcome on this day.
 */
export type Ending = 'ok' | 'error' | 'denied' | 'unclear' | 'open'

export type DayActivity = {
  /** The action. If the action was recorded on another day, the first record about it on this day. */
  readonly record: LedgerRecord
  readonly outcomes: readonly LedgerRecord[]
  /** Decisions about the action, oldest first. */
  readonly decisions: readonly LedgerRecord[]
  /**
   * How the action ended. null if the action was recorded on another day, and this day has only a decision about it.
   */
  readonly ending: Ending | null
  /**
   * True for a run of an agent, or an agent's call of another agent. Runs are counted separately, because a run fails
   * if a call in it fails.
   */
  readonly isRun: boolean
}

type Parts = { record: LedgerRecord; outcomes: LedgerRecord[]; decisions: LedgerRecord[] }

/** Returns the actions of a day, newest first. Records that are neither an action nor about an action are left out. */
export function activitiesOfDay(records: readonly LedgerRecord[]): DayActivity[] {
  const activities = new Map<string, Parts>()
  /** Maps an outcome or a decision to its action. A parent is recorded before its children, so one pass is enough. */
  const actionOf = new Map<string, string>()
  for (const record of records.toSorted(bySeqAndId)) {
    const isPart = isOutcome(record) || isDecision(record)
    const action =
      isPart && record.parent !== null ? (actionOf.get(record.parent) ?? record.parent) : record.id
    const activity = activities.get(action) ?? { record, outcomes: [], decisions: [] }
    activities.set(action, activity)
    if (!isPart) activity.record = record
    else actionOf.set(record.id, action)
    if (isOutcome(record)) activity.outcomes.push(record)
    if (isDecision(record)) activity.decisions.push(record)
  }
  return [...activities.values()]
    .map((parts) => ({ ...parts, ending: endingOfDay(parts), isRun: isRun(parts.record) }))
    .filter(({ ending, decisions }) => ending !== null || decisions.length > 0)
    .reverse()
}

/** Orders by seq, then by id, because the records of a batch share an entry and their ids are in order. */
function bySeqAndId(one: LedgerRecord, other: LedgerRecord): number {
  return one.entry.seq - other.entry.seq || (one.id < other.id ? -1 : 1)
}

function endingOfDay({ record, outcomes, decisions }: Parts): Ending | null {
  const outcome = outcomes.find(({ payload }) => payload?.['status'] !== 'unknown') ?? outcomes[0]
  const word = endingOf(isAction(record) ? record : (outcome ?? record), outcomes, decisions, true)
  if (word === 'ok' || word === 'error' || word === 'denied') return word
  if (word === NO_OUTCOME) return 'open'
  if (word !== null) return 'unclear'
  // This line is reached if the action was recorded on another day. A denial ends the action; an approval does not.
  return decisions.at(-1)?.payload?.['decision'] === 'deny' ? 'denied' : null
}
