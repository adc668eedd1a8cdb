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
  /** `toleranceMax`: how far a record may set it, in the same measure; null where it may not. */
  | { readonly operator: 'within'; readonly tolerance: Tolerance; readonly toleranceMax: string | null }
)

export const MEASURES = ['absolute', 'percent'] as const

/** How far `actual` may lie from `expected`, as `within` compares them. `limit`: a decimal ≥ 0, as it was written. */
export type Tolerance = { readonly measure: (typeof MEASURES)[number]; readonly limit: string }
