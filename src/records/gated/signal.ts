import type { JsonObject } from '../../proof/json/json-value.ts'

/*
 * The settlement signal: what a verdict means for the outside (docs/guides/gated-records.md). It is part of the signed
 * verdict, so a payer needs only that envelope and the public key.
 */

export type Signal = {
  readonly decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  readonly code: SignalCode
  /** Ids of the failed rules. */
  readonly failingRules: readonly string[]
  /** Until when the signal may be acted upon; null: without limit. */
  readonly validUntil: string | null
}

/** Reasons for programs. The list is closed. */
export const SIGNAL_CODES = [
  'accepted', // the rules passed, and the principal accepted
  'accepted_anyway', // the principal accepted although rules failed
  'rejected', // the principal rejected
  'rules_passed', // `auto` gate, and the rules passed
  'rules_failed', // `auto` gate, and rules failed
  'overturned', // a rejection was overturned
] as const
type SignalCode = (typeof SIGNAL_CODES)[number]

/** Signal of an acceptance. `verified`: predicate of the completion-verified that is judged. */
export function acceptSignal(verified: JsonObject, validUntil: string | null): Signal {
  const code = verified['outcome'] === 'pass' ? 'accepted' : 'accepted_anyway'
  return { decision: 'SETTLE', code, failingRules: failingRules(verified), validUntil }
}

export function rejectSignal(verified: JsonObject, validUntil: string | null): Signal {
  return { decision: 'HOLD', code: 'rejected', failingRules: failingRules(verified), validUntil }
}

/** Signal of an `auto` gate: the verdict is the outcome of the rules. */
export function autoSignal(verified: JsonObject): Signal {
  const passed = verified['outcome'] === 'pass'
  return {
    decision: passed ? 'SETTLE' : 'HOLD',
    code: passed ? 'rules_passed' : 'rules_failed',
    failingRules: failingRules(verified),
    validUntil: null,
  }
}

/** Signal of an overturned rejection. `overturned`: predicate of the verdict, whose failing rules are repeated. */
export function overturnSignal(overturned: JsonObject, validUntil: string | null): Signal {
  const { failingRules } = overturned['signal'] as unknown as Signal
  return { decision: 'RELEASE', code: 'overturned', failingRules, validUntil }
}

function failingRules(verified: JsonObject): string[] {
  const rules = verified['rules'] as readonly { readonly id: string; readonly outcome: string }[]
  return rules.filter(({ outcome }) => outcome === 'fail').map(({ id }) => id)
}
