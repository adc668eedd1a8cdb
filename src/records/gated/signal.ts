import type { JsonObject } from '../../proof/json/json-value.ts'

/*
 * The settlement signal: the meaning of a verdict outside of the ledger (docs/guides/gated-records.md). The signal is
 * part of the signed verdict. So a payer needs only the envelope of the verdict and the public key.
 */

export type Signal = {
  readonly decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  readonly code: SignalCode
  readonly failingRules: readonly string[]
  /** Time until which a payer may act on the signal. null if there is no limit. */
  readonly validUntil: string | null
}

/** Machine-readable reasons of signals. The list is complete: no reason will be added. */
export const SIGNAL_CODES = [
  'accepted', // the rules passed, and the principal accepted
  'accepted_anyway', // the principal accepted although rules failed
  'rejected', // the principal rejected
  'rules_passed', // the gate is `auto`, and the rules passed
  'rules_failed', // the gate is `auto`, and rules failed
  'overturned', // a rejection was overturned
] as const
type SignalCode = (typeof SIGNAL_CODES)[number]

/** Returns the signal of an acceptance. `verified`: predicate of the `completion-verified` entry that is judged. */
export function acceptSignal(verified: JsonObject, validUntil: string | null): Signal {
  const code = verified['outcome'] === 'pass' ? 'accepted' : 'accepted_anyway'
  return { decision: 'SETTLE', code, failingRules: failingRules(verified), validUntil }
}

export function rejectSignal(verified: JsonObject, validUntil: string | null): Signal {
  return { decision: 'HOLD', code: 'rejected', failingRules: failingRules(verified), validUntil }
}

/** Returns the signal of an `auto` gate, whose verdict is the outcome of the rules. */
export function autoSignal(verified: JsonObject): Signal {
  const passed = verified['outcome'] === 'pass'
  return {
    decision: passed ? 'SETTLE' : 'HOLD',
    code: passed ? 'rules_passed' : 'rules_failed',
    failingRules: failingRules(verified),
    validUntil: null,
  }
}

/**
 * Returns the signal of an overturned rejection. `overturned`: predicate of the rejection. Its failing rules are
 * repeated in the signal.
 */
export function overturnSignal(overturned: JsonObject, validUntil: string | null): Signal {
  const { failingRules } = overturned['signal'] as unknown as Signal
  return { decision: 'RELEASE', code: 'overturned', failingRules, validUntil }
}

function failingRules(verified: JsonObject): string[] {
  const rules = verified['rules'] as readonly { readonly id: string; readonly outcome: string }[]
  return rules.filter(({ outcome }) => outcome === 'fail').map(({ id }) => id)
}
