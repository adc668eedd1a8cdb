import type { JsonValue } from '../../../proof/json/json-value.ts'

type Ordinary = 'equals' | 'atMost' | 'atLeast' | 'oneOf' | 'before' | 'after'

export type Operator = Ordinary | 'within'

export type Rule = {
  readonly id: string
  /** A JSON Pointer into the payload, or the value itself. */
  readonly expected: { readonly pointer: string } | { readonly constant: JsonValue }
  /** A JSON Pointer into the evidence. */
  readonly actual: string
} & (
  | { readonly operator: Ordinary }
  /** `toleranceMax`: largest tolerance that a record may set, in the same measure; null: a record may set none. */
  | { readonly operator: 'within'; readonly tolerance: Tolerance; readonly toleranceMax: string | null }
)

export const MEASURES = ['absolute', 'percent'] as const

/** Largest difference between `actual` and `expected` for `within`. `limit`: a decimal ≥ 0, as it was written. */
export type Tolerance = { readonly measure: (typeof MEASURES)[number]; readonly limit: string }
