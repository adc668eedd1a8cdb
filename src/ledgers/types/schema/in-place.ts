import { SCHEMA_IN_PLACE_DEPTH_MAX } from './limits.ts'
import type { SchemaError } from './schema-error.ts'

/**
 * Refuses schemas that could check the same value forever, or through so many nested subschemas that the stack
 * overflows. A schema may contain a loop if each round of the loop goes deeper into the value, because the depth of
 * values is limited. `inPlace`: maps a subschema to the subschemas that check the same value. Throws SchemaError.
 */
export function refuseLoops(
  inPlace: ReadonlyMap<string, readonly string[]>,
  errorAt: (pointer: string, detail: string) => SchemaError,
): void {
  const heights = new Map<string, number>()
  const height = (pointer: string, depth: number): number => {
    const known = heights.get(pointer)
    if (known !== undefined) return known
    // A loop makes the depth exceed every limit.
    if (depth > SCHEMA_IN_PLACE_DEPTH_MAX) throw tooDeep(pointer)
    let highest = 0
    for (const inner of inPlace.get(pointer)!) highest = Math.max(highest, 1 + height(inner, depth + 1))
    if (highest > SCHEMA_IN_PLACE_DEPTH_MAX) throw tooDeep(pointer)
    heights.set(pointer, highest)
    return highest
  }
  const tooDeep = (pointer: string) =>
    errorAt(
      pointer,
      `more than ${SCHEMA_IN_PLACE_DEPTH_MAX} nested subschemas, or an endless loop of them, check the same value`,
    )
  for (const pointer of inPlace.keys()) height(pointer, 0)
}
