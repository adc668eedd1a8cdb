import type { Selector } from '../../db/chain/entry-details.ts'
import type { Uuid } from '../../proof/ids.ts'
import { MS_PER_DAY } from '../limits.ts'

/*
 * Finds the retention rule and the legal holds that apply to a record. This code only selects candidates and previews
 * rules. SQL makes the decision, under the lock of the ledger's head (migrations/functions/retention.sql).
 */

/**
 * Facts by which rules and holds select records. `agents`: the record's author, the agent for which it was made, and
 * its performer.
 */
export type RecordFacts = {
  readonly recordId: Uuid
  readonly type: string
  readonly agents: readonly Uuid[]
  readonly madeSeq: number
}

/** A retention rule. `replacedSeq`: seq of the next rule with the same selector; null if no rule replaces this rule. */
type Rule = Selector & {
  readonly seq: number
  readonly days: number | null
  readonly replacedSeq: number | null
}

type Hold = Selector & { readonly seq: number; readonly recordIds: readonly Uuid[] | null }

/** Retention time of a record, and seq of the entry that set the rule. `days`: null means forever. */
export type Retention = { readonly days: number | null; readonly ruleSeq: number }

/**
 * Returns the longest retention of all rules that apply; null if no rule applies.
 *
 * A rule applies to all records that are older than the rule. It also applies to newer records, until another rule with
 * the same selector replaces it. So a promised time may be extended but not shortened.
 */
export function retentionOf(rules: readonly Rule[], facts: RecordFacts): Retention | null {
  let longest: Rule | null = null
  for (const rule of applicable(rules, facts)) {
    if (rule.replacedSeq !== null && rule.replacedSeq <= facts.madeSeq) continue
    if (longest === null || isLonger(rule, longest)) longest = rule
  }
  return longest && { days: longest.days, ruleSeq: longest.seq }
}

/** Returns whether `rule` is longer than `than`, or equally long and newer. */
function isLonger(rule: Rule, than: Rule): boolean {
  const [days, thanDays] = [rule.days ?? Number.POSITIVE_INFINITY, than.days ?? Number.POSITIVE_INFINITY]
  return days > thanDays || (days === thanDays && rule.seq > than.seq)
}

/**
 * Returns whether the retention time is over. `since`: time at which the record ended; null if the record has not
 * ended. `days`: null means forever.
 */
export function isOver(since: Date | null, days: number | null, nowMs: number): boolean {
  return days !== null && since !== null && since.getTime() + days * MS_PER_DAY <= nowMs
}

export function isHeld(holds: readonly Hold[], facts: RecordFacts): boolean {
  if (!applicable(holds, facts).next().done) return true
  return (indexOf(holds).named.get(facts.recordId) ?? []).some((hold) => applies(hold, facts))
}

type WithRecords<T> = T & { readonly recordIds?: readonly Uuid[] | null }
/** Index of rules or holds: `bySelector` by agent and type, `named` by the records that a hold names. */
type Index = {
  readonly bySelector: ReadonlyMap<string, readonly Selector[]>
  readonly named: ReadonlyMap<Uuid, readonly Selector[]>
}

const indexes = new WeakMap<readonly Selector[], Index>()

/**
 * Yields the rules or holds whose selector matches the record. Holds that name records are left out. Because of the
 * index, a record is not compared with each of a thousand rules.
 */
function* applicable<T extends Selector>(all: readonly T[], { type, agents }: RecordFacts): Generator<T> {
  const { bySelector } = indexOf(all)
  for (const agentId of new Set([null, ...agents]))
    for (const ofType of [null, type])
      yield* (bySelector.get(keyOf({ type: ofType, agentId })) ?? []) as readonly T[]
}

function indexOf(all: readonly WithRecords<Selector>[]): Index {
  const known = indexes.get(all)
  if (known) return known
  const bySelector = new Map<string, Selector[]>()
  const named = new Map<Uuid, Selector[]>()
  for (const one of all) {
    if (!one.recordIds) addTo(bySelector, keyOf(one), one)
    else for (const recordId of one.recordIds) addTo(named, recordId, one)
  }
  const index = { bySelector, named }
  indexes.set(all, index)
  return index
}

function addTo<K>(map: Map<K, Selector[]>, key: K, one: Selector): void {
  const list = map.get(key)
  if (list) list.push(one)
  else map.set(key, [one])
}

/** Returns the key of a selector. The space separates both parts safely, because names of types contain no spaces. */
const keyOf = ({ type, agentId }: Selector) => `${agentId ?? ''} ${type ?? ''}`

export function applies({ type, agentId }: Selector, facts: Pick<RecordFacts, 'type' | 'agents'>): boolean {
  return (type === null || type === facts.type) && (agentId === null || facts.agents.includes(agentId))
}
