import type { JsonValue } from '../../../proof/json/json-value.ts'

type Ordinary = 'equals' | 'atMost' | 'atLeast' | 'oneOf' | 'before' | 'after'

export type Operator = Ordinary | 'within'

export type Rule = {
  readonly id: string
  /** Where the expected value comes from: a JSON Pointer into the payload, or a constant. */
  readonly expected: { readonly pointer: string } | { readonly constant: JsonValue }
  /** JSON Pointer of the actual value in the evidence. */
  readonly actual: string
} & (
  | { readonly operator: Ordinary }
  /**
   * `toleranceMax`: largest tolerance that a record may set, in the same measure. null if a record may not set a
   * tolerance.
   */
  | { readonly operator: 'within'; readonly tolerance: Tolerance; readonly toleranceMax: string | null }
)

export const MEASURES = ['absolute', 'percent'] as const

/**
 * The largest difference between `actual` and `expected` that `within` allows. `limit`: a decimal of at least 0, as it
 * is written in the type or record.
 */
export type Tolerance = { readonly measure: (typeof MEASURES)[number]; readonly limit: string }
