import type { Uuid } from '../../proof/ids.ts'
import { MS_PER_DAY } from '../limits.ts'

/*
 * By which rule a record is kept, and which holds are on it. SQL decides, under the lock of the ledger's head
 * (migrations/functions/retention.sql); this finds what is worth asking for, and tells what a rule would do.
 */

/** Facts by which rules and holds find a record. `agents`: who made it, for whom, and who performs it. */
export type KeptFacts = {
  readonly recordId: Uuid
  readonly type: string
  readonly agents: readonly Uuid[]
  /** Seq of the entry that made it. */
  readonly madeSeq: number
}

/** Records that a rule or a hold is about; null: not narrowed by it. */
export type Selector = { readonly type: string | null; readonly agentId: Uuid | null }

/** `replacedSeq`: of the next rule about the same records; null: there is none. */
type Rule = Selector & {
  readonly seq: number
  readonly days: number | null
  readonly replacedSeq: number | null
}

type Hold = Selector & { readonly seq: number; readonly recordIds: readonly Uuid[] | null }

/** Time that a record is kept, and the entry that set it. `days`: null: for ever. */
export type Retention = { readonly days: number | null; readonly ruleSeq: number }

/**
 * The longest of the rules about the record; null: there is none. A rule counts for the records that come after it until another
 * one replaces it, and, because a promise may be lengthened and not shortened, for all that were there before.
 */
export function retentionOf(rules: readonly Rule[], facts: KeptFacts): Retention | null {
  let longest: Rule | null = null
  for (const rule of rules) {
    if (!isAbout(rule, facts) || (rule.replacedSeq !== null && rule.replacedSeq <= facts.madeSeq)) continue
    if (longest === null || isLonger(rule, longest)) longest = rule
  }
  return longest && { days: longest.days, ruleSeq: longest.seq }
}

/** Ends later; if both end at the same time, was set later. */
function isLonger(rule: Rule, than: Rule): boolean {
  const [days, thanDays] = [rule.days ?? Number.POSITIVE_INFINITY, than.days ?? Number.POSITIVE_INFINITY]
  return days > thanDays || (days === thanDays && rule.seq > than.seq)
}

/** `since`: when the record ended; null: it has not. `days`: null: for ever. */
export function isOver(since: Date | null, days: number | null, nowMs: number): boolean {
  return days !== null && since !== null && since.getTime() + days * MS_PER_DAY <= nowMs
}

export function isHeld(holds: readonly Hold[], facts: KeptFacts): boolean {
  const isNamed = namedBy(holds).has(facts.recordId)
  return holds.some(
    (hold) =>
      (hold.recordIds === null || (isNamed && hold.recordIds.includes(facts.recordId))) &&
      isAbout(hold, facts),
  )
}

/** Records that the holds name. Half a million may be: comparing each record with all of them would take seconds. */
function namedBy(holds: readonly Hold[]): ReadonlySet<Uuid> {
  const known = named.get(holds)
  if (known) return known
  const ids = new Set(holds.flatMap(({ recordIds }) => recordIds ?? []))
  named.set(holds, ids)
  return ids
}

const named = new WeakMap<readonly Hold[], ReadonlySet<Uuid>>()

export function isAbout({ type, agentId }: Selector, facts: Pick<KeptFacts, 'type' | 'agents'>): boolean {
  return (type === null || type === facts.type) && (agentId === null || facts.agents.includes(agentId))
}
