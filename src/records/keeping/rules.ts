import type { Selector } from '../../db/chain/entry-details.ts'
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
  for (const rule of about(rules, facts)) {
    if (rule.replacedSeq !== null && rule.replacedSeq <= facts.madeSeq) continue
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
  if (!about(holds, facts).next().done) return true
  return (indexOf(holds).named.get(facts.recordId) ?? []).some((hold) => isAbout(hold, facts))
}

type Named<T> = T & { readonly recordIds?: readonly Uuid[] | null }
/** Rules or holds by their type and agent, and holds by the records that they name. */
type Index = {
  readonly bySelector: ReadonlyMap<string, readonly Selector[]>
  readonly named: ReadonlyMap<Uuid, readonly Selector[]>
}

const indexes = new WeakMap<readonly Selector[], Index>()

/** Those about the record, but for holds that name records. A thousand of them are not compared with each record of a ledger. */
function* about<T extends Selector>(all: readonly T[], { type, agents }: KeptFacts): Generator<T> {
  const { bySelector } = indexOf(all)
  for (const agentId of new Set([null, ...agents]))
    for (const ofType of [null, type])
      yield* (bySelector.get(keyOf({ type: ofType, agentId })) ?? []) as readonly T[]
}

function indexOf(all: readonly Named<Selector>[]): Index {
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

/** No type has a space in its name. */
const keyOf = ({ type, agentId }: Selector) => `${agentId ?? ''} ${type ?? ''}`

export function isAbout({ type, agentId }: Selector, facts: Pick<KeptFacts, 'type' | 'agents'>): boolean {
  return (type === null || type === facts.type) && (agentId === null || facts.agents.includes(agentId))
}
