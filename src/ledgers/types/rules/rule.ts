import type { JsonValue } from '../../../proof/json/json-value.ts'

type Ordinary = 'equals' | 'atMost' | 'atLeast' | 'oneOf' | 'before' | 'after'

export type Operator = Ordinary | 'within'

export type Rule = {
  readonly id: string
  /** The expected value: a JSON Pointer into the payload, or a constant. */
  readonly expected: { readonly pointer: string } | { readonly constant: JsonValue }
  /** The actual value: a JSON Pointer into the evidence. */
  readonly actual: string
} & (
  | { readonly operator: Ordinary }
  /**
   * `toleranceMax`: largest tolerance that a record may set, in the same measure; null: a record may not set a
   * tolerance.
   */
  | { readonly operator: 'within'; readonly tolerance: Tolerance; readonly toleranceMax: string | null }
)

export const MEASURES = ['absolute', 'percent'] as const

/**
 * Largest difference between `actual` and `expected` that `within` allows. `limit`: a decimal ≥ 0, as the type or
 * record wrote it.
 */
export type Tolerance = { readonly measure: (typeof MEASURES)[number]; readonly limit: string }
