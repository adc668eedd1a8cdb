import { type Check, type Compiling, fault, inside, STEPS_PER_NOTE } from './check.ts'
import { spendCanonical } from './check-values.ts'
import type { JsonObject, JsonValue } from './json.ts'

type Compile = (schema: JsonObject, compiling: Compiling) => Check

export const ITEM_KEYWORDS: Readonly<Record<string, Compile>> = {
  maxItems: count('maxItems', (n, max) => n <= max, 'must have at most'),
  minItems: count('minItems', (n, min) => n >= min, 'must have at least'),
  uniqueItems: compileUniqueItems,
  contains: compileContains,
}

function count(keyword: string, holds: (n: number, limit: number) => boolean, must: string): Compile {
  return (schema) => {
    const limit = schema[keyword] as number
    return (value) =>
      !Array.isArray(value) || holds(value.length, limit) ? null : fault(keyword, `${must} ${limit} items`)
  }
}

/**
 * Compiles uniqueItems. The items are compared by their canonical texts in one pass. Comparing all pairs would take 5 ×
 * 10^8 comparisons for the largest document.
 */
function compileUniqueItems(schema: JsonObject): Check {
  if (schema['uniqueItems'] === false) return () => null
  return (value, meter) => {
    if (!Array.isArray(value)) return null
    const texts = new Set<string>()
    for (const item of value as JsonValue[]) {
      const { size } = texts
      if (texts.add(spendCanonical(item, meter)).size === size)
        return fault('uniqueItems', 'must not have two equal items')
    }
    return null
  }
}

function compileContains(schema: JsonObject, compiling: Compiling): Check {
  const check = compiling.subschema('contains')
  const min = (schema['minContains'] as number | undefined) ?? 1
  const max = (schema['maxContains'] as number | undefined) ?? Infinity
  return (value, meter, seen) => {
    if (!Array.isArray(value)) return null
    let matches = 0
    for (const [index, item] of (value as JsonValue[]).entries()) {
      if (check(item, meter, null)) continue
      matches++
      if (seen) {
        meter.spend(STEPS_PER_NOTE)
        seen.items.add(index)
      }
    }
    if (matches < min) return fault('contains', `must have at least ${min} items that match \`contains\``)
    if (matches > max) return fault('contains', `must have at most ${max} items that match \`contains\``)
    return null
  }
}

/** Compiles prefixItems and items. `items` applies to the items that prefixItems has not checked. */
export function compileItems(schema: JsonObject, compiling: Compiling): Check | null {
  const first = ((schema['prefixItems'] as JsonValue[]) ?? []).map((_, i) =>
    compiling.subschema('prefixItems', `${i}`),
  )
  const others = Object.hasOwn(schema, 'items') ? compiling.subschema('items') : null
  if (first.length === 0 && others === null) return null
  return (value, meter, seen) => {
    if (!Array.isArray(value)) return null
    const end = others === null ? Math.min(first.length, value.length) : value.length
    for (let i = 0; i < end; i++) {
      const found = (first[i] ?? others!)(value[i] as JsonValue, meter, null)
      if (found) return inside(found, `${i}`)
    }
    if (seen) seen.itemsBefore = Math.max(seen.itemsBefore, end)
    return null
  }
}

/** Compiles unevaluatedItems. The check MUST run after the checks of all other keywords of the schema. */
export function compileUnevaluatedItems(_: JsonObject, compiling: Compiling): Check {
  const check = compiling.subschema('unevaluatedItems')
  return (value, meter, seen) => {
    if (!Array.isArray(value)) return null
    for (let i = seen!.itemsBefore; i < value.length; i++) {
      meter.spend(1)
      if (seen!.items.has(i)) continue
      const found = check(value[i] as JsonValue, meter, null)
      if (found) return inside(found, `${i}`)
    }
    seen!.itemsBefore = value.length
    return null
  }
}
