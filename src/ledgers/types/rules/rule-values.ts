import { canonicalize } from '../../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../../proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX } from '../../../proof/request-limits.ts'
import { RULE_VALUE_BYTES_MAX } from '../limits.ts'
import { ComparedValue } from './document-values.ts'
import type { Tolerance } from './rule.ts'

/** The value at the path of a rule. If there is no value, `erased` or `missing` says why. */
export type Found = ComparedValue | 'erased' | 'missing'

type Compared = {
  readonly id: string
  readonly expected: Found
  readonly actual: Found
  readonly tolerance: Tolerance | null
}

const SIDES = ['expected', 'actual'] as const

/**
 * Maximum depth of a value. It is two levels less than the limit of a document, because the value is inside an object
 * inside an array.
 */
const VALUE_DEPTH_MAX = JSON_DEPTH_MAX - 2

/**
 * Returns the document of compared values. It is an array with one element for each rule, in order. Values that are
 * absent are left out. The document must meet the usual limits of size and depth. So a value that is too long or too
 * deep is replaced by its size. If the document is still too large, the longest remaining values are replaced too.
 */
export function valuesOf(compared: readonly Compared[]): JsonValue {
  const members = compared.map((rule) => ({ rule, value: withoutValues(rule) }))
  const parts = members
    .flatMap((member) => SIDES.map((side) => ({ member, side, part: member.rule[side] })))
    .filter(isTakeable)
    .sort((a, b) => a.part.bytes - b.part.bytes)
  let room = DOCUMENT_BYTES_MAX - Buffer.byteLength(canonicalize(members.map(({ value }) => value)))
  for (const { member, side, part } of parts) {
    room -= part.bytes - ('Bytes'.length + `${part.bytes}`.length)
    if (room < 0) break
    const { [`${side}Bytes`]: _, ...others } = member.value
    member.value = { ...others, [side]: part.value }
  }
  return members.map(({ value }) => value)
}

/**
 * Returns the element of a rule without its values. 256 such elements take less than 53 KiB, even if each has an id of
 * 63 characters, two sizes, and a tolerance of 61 digits.
 */
function withoutValues({ id, expected, actual, tolerance }: Compared): JsonObject {
  return {
    id,
    ...(expected instanceof ComparedValue && { expectedBytes: expected.bytes }),
    ...(actual instanceof ComparedValue && { actualBytes: actual.bytes }),
    ...(tolerance && { tolerance: { [tolerance.measure]: tolerance.limit } }),
  }
}

function isTakeable<T extends { readonly part: Found }>(
  side: T,
): side is T & { readonly part: ComparedValue } {
  const { part } = side
  return (
    part instanceof ComparedValue &&
    part.bytes <= RULE_VALUE_BYTES_MAX &&
    !isDeeper(part.value, VALUE_DEPTH_MAX)
  )
}

function isDeeper(value: JsonValue, depthMax: number): boolean {
  if (value === null || typeof value !== 'object') return false
  return depthMax === 0 || Object.values(value).some((member) => isDeeper(member, depthMax - 1))
}
