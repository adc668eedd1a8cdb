import type { JsonValue } from '../../../proof/json/json-value.ts'
import { COMPARISONS, type RuleCode } from './comparisons.ts'
import { CanonicalTexts, ComparedValue, DocumentValues } from './document-values.ts'
import type { Rule, Tolerance } from './rule.ts'
import { type Found, valuesOf } from './rule-values.ts'
import type { Tolerances } from './tolerances.ts'

export { RULE_CODES } from './comparisons.ts'

type Outcome = 'pass' | 'fail'

type RuleOutcome = { readonly id: string; readonly outcome: Outcome; readonly code?: RuleCode }

export type Judgement = {
  /** `pass` if every rule passes. Also `pass` if there are no rules. */
  readonly outcome: Outcome
  /** Outcomes of the rules, in the order of the rules in the type. Each failure has a reason. */
  readonly rules: readonly RuleOutcome[]
  /** The values that the rules compared. They become the document of the verification's entry. */
  readonly values: JsonValue
}

/** Documents and tolerances to judge by. `payload` or `evidence` is null if the document was erased. */
type Documents = {
  readonly payload: JsonValue | null
  readonly evidence: JsonValue | null
  /** Tolerances that the record sets. null if the record sets none, so that the tolerances of the type apply. */
  readonly tolerances: Tolerances | null
}

/**
 * Judges a completion by the rules of a type. No document can make this function throw, and nothing from a document is
 * executed.
 *
 * The type and the documents may be hostile. With 256 rules that each compare two whole documents of 64 KiB, this takes
 * at most 13 ms of CPU (test/ledgers/types/judge-hostile.test.ts). Four usual rules take 15 µs.
 */
export function judge(rules: readonly Rule[], { payload, evidence, tolerances }: Documents): Judgement {
  const texts = new CanonicalTexts()
  const payloadParts = payload === null ? null : new DocumentValues(payload, texts)
  const evidenceParts = evidence === null ? null : new DocumentValues(evidence, texts)
  const compared = rules.map((rule) => {
    const expected =
      'constant' in rule.expected
        ? new ComparedValue(rule.expected.constant, texts)
        : find(payloadParts, rule.expected.pointer)
    const actual = find(evidenceParts, rule.actual)
    const tolerance = rule.operator === 'within' ? (tolerances?.byRule.get(rule.id) ?? rule.tolerance) : null
    return { id: rule.id, expected, actual, tolerance, code: compare(rule, expected, actual, tolerance) }
  })
  return {
    outcome: compared.some(({ code }) => code !== null) ? 'fail' : 'pass',
    rules: compared.map(({ id, code }) =>
      code === null ? { id, outcome: 'pass' } : { id, outcome: 'fail', code },
    ),
    values: valuesOf(compared),
  }
}

function find(parts: DocumentValues | null, pointer: string): Found {
  return parts === null ? 'erased' : (parts.find(pointer) ?? 'missing')
}

function compare(rule: Rule, expected: Found, actual: Found, tolerance: Tolerance | null): RuleCode | null {
  if (expected === 'erased') return 'expected_erased'
  if (actual === 'erased') return 'actual_erased'
  if (expected === 'missing') return 'expected_missing'
  if (actual === 'missing') return 'actual_missing'
  return COMPARISONS[rule.operator](expected, actual, tolerance)
}
