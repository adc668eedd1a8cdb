import type { JsonObject } from '../../proof/json/json-value.ts'

/*
 * The settlement signal: the meaning of a verdict for the outside (DESIGN §6, docs/gated-records.md). It stands inside
 * the signed verdict, so a payer needs nothing but that envelope and the public key.
 */

export type Signal = {
  readonly decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  readonly code: SignalCode
  /** Ids of the rules that did not hold. */
  readonly failingRules: readonly string[]
  /** Until when the signal may be acted upon; null: without end. */
  readonly validUntil: string | null
}

/** Why: closed, for programs. */
export const SIGNAL_CODES = [
  'accepted', // the principal accepted what the rules passed
  'accepted_anyway', // the principal accepted in spite of the rules
  'rejected', // the principal rejected
  'rules_passed', // the gate is auto, and the rules passed
  'rules_failed', // the gate is auto, and they did not
  'overturned', // a rejection was overturned
] as const
type SignalCode = (typeof SIGNAL_CODES)[number]

/** `verified`: the predicate of the completion-verified that is judged. */
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

/** `overturned`: the predicate of the verdict; the rules failed as they did. */
export function overturnSignal(overturned: JsonObject, validUntil: string | null): Signal {
  const { failingRules } = overturned['signal'] as unknown as Signal
  return { decision: 'RELEASE', code: 'overturned', failingRules, validUntil }
}

function failingRules(verified: JsonObject): string[] {
  const rules = verified['rules'] as readonly { readonly id: string; readonly outcome: string }[]
  return rules.filter(({ outcome }) => outcome === 'fail').map(({ id }) => id)
}
