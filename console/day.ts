import type { LedgerRecord } from '../sdk/generated/api.ts'
import { endingOf, isAction, isDecision, isOutcome, isRun, NO_OUTCOME } from './deeds.ts'

/*
 * The deeds of one day: each is an action with its outcome and the decisions about it, counted once. Tables and headings of the page use these.
 */

/** `unclear`: the outcome is unknown, or erased. `open`: no outcome on this day. */
export type Ending = 'ok' | 'error' | 'denied' | 'unclear' | 'open'

export type DayDeed = {
  /** The action. If it was recorded on another day, the first record about it on this day. */
  readonly record: LedgerRecord
  readonly outcomes: readonly LedgerRecord[]
  /** Oldest first. */
  readonly decisions: readonly LedgerRecord[]
  /** null: there is a decision about the action, but the action is of another day. */
  readonly ending: Ending | null
  /** True for a run of an agent, or its call of another agent: counted separately, because it fails if a call in it fails. */
  readonly isRun: boolean
}

type Parts = { record: LedgerRecord; outcomes: LedgerRecord[]; decisions: LedgerRecord[] }

/** Returns the deeds of a day's records, newest first. Records that have no end and are not about an action are left out. */
export function deedsOfDay(records: readonly LedgerRecord[]): DayDeed[] {
  const deeds = new Map<string, Parts>()
  /** Outcome or decision → action. A parent is recorded before its children. */
  const actionOf = new Map<string, string>()
  for (const record of records.toSorted(bySeqAndId)) {
    const isPart = isOutcome(record) || isDecision(record)
    const action =
      isPart && record.parent !== null ? (actionOf.get(record.parent) ?? record.parent) : record.id
    const deed = deeds.get(action) ?? { record, outcomes: [], decisions: [] }
    deeds.set(action, deed)
    if (!isPart) deed.record = record
    else actionOf.set(record.id, action)
    if (isOutcome(record)) deed.outcomes.push(record)
    if (isDecision(record)) deed.decisions.push(record)
  }
  return [...deeds.values()]
    .map((parts) => ({ ...parts, ending: endingOfDay(parts), isRun: isRun(parts.record) }))
    .filter(({ ending, decisions }) => ending !== null || decisions.length > 0)
    .reverse()
}

/** Order by seq, then by id: the records of a batch share an entry, and their ids are in order. */
function bySeqAndId(one: LedgerRecord, other: LedgerRecord): number {
  return one.entry.seq - other.entry.seq || (one.id < other.id ? -1 : 1)
}

function endingOfDay({ record, outcomes, decisions }: Parts): Ending | null {
  const outcome = outcomes.find(({ payload }) => payload?.['status'] !== 'unknown') ?? outcomes[0]
  const word = endingOf(isAction(record) ? record : (outcome ?? record), outcomes, decisions, true)
  if (word === 'ok' || word === 'error' || word === 'denied') return word
  if (word === NO_OUTCOME) return 'open'
  if (word !== null) return 'unclear'
  // The action is of another day: a refusal ends it, an approval does not.
  return decisions.at(-1)?.payload?.['decision'] === 'deny' ? 'denied' : null
}
