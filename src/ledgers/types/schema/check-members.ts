import {
  type Check,
  type Compiling,
  type EvaluatedMembers,
  type Fault,
  fault,
  inside,
  STEPS_PER_NOTE,
  spendText,
} from './check.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Meter } from './meter.ts'
import type { Pattern } from './pattern.ts'
import { isJsonObject } from './schema-keywords.ts'

/*
 * Keywords for members of objects. Only an object's own properties count as members. So an object has a member
 * `__proto__` or `constructor` only if its JSON text contains the member.
 */

type Compile = (schema: JsonObject, compiling: Compiling) => Check

export const MEMBER_KEYWORDS: Readonly<Record<string, Compile>> = {
  maxProperties: count('maxProperties', (n, max) => n <= max, 'must have at most'),
  minProperties: count('minProperties', (n, min) => n >= min, 'must have at least'),
  required: compileRequired,
  dependentRequired: compileDependentRequired,
  propertyNames: compilePropertyNames,
  dependentSchemas: compileDependentSchemas,
}

function count(keyword: string, holds: (n: number, limit: number) => boolean, must: string): Compile {
  return (schema) => {
    const limit = schema[keyword] as number
    return (value, meter) => {
      if (!isJsonObject(value)) return null
      const names = Object.keys(value).length
      meter.spend(names)
      return holds(names, limit) ? null : fault(keyword, `${must} ${limit} members`)
    }
  }
}

function missing(value: JsonObject, names: readonly string[], keyword: string): Fault | null {
  for (const name of names) {
    if (!Object.hasOwn(value, name)) return fault(keyword, `must have the member ${JSON.stringify(name)}`)
  }
  return null
}

function compileRequired(schema: JsonObject): Check {
  const names = schema['required'] as readonly string[]
  return (value, meter) => {
    if (!isJsonObject(value)) return null
    meter.spend(names.length)
    return missing(value, names, 'required')
  }
}

function compileDependentRequired(schema: JsonObject): Check {
  const entries = Object.entries(schema['dependentRequired'] as Record<string, string[]>)
  return (value, meter) => {
    if (!isJsonObject(value)) return null
    meter.spend(entries.length)
    for (const [name, names] of entries) {
      if (!Object.hasOwn(value, name)) continue
      meter.spend(names.length)
      const found = missing(value, names, 'dependentRequired')
      if (found) return found
    }
    return null
  }
}

function compilePropertyNames(_: JsonObject, compiling: Compiling): Check {
  const check = compiling.subschema('propertyNames')
  return (value, meter) => {
    if (!isJsonObject(value)) return null
    for (const name of Object.keys(value)) {
      const found = check(name, meter, null)
      if (found) return { ...fault(found.keyword, `the member's name ${found.message}`), path: [name] }
    }
    return null
  }
}

function compileDependentSchemas(schema: JsonObject, compiling: Compiling): Check {
  const names = Object.keys(schema['dependentSchemas'] as JsonObject)
  const checks = names.map((name) => [name, compiling.subschema('dependentSchemas', name)] as const)
  return (value, meter, seen) => {
    if (!isJsonObject(value)) return null
    meter.spend(checks.length)
    for (const [name, check] of checks) {
      const found = Object.hasOwn(value, name) ? check(value, meter, seen) : null
      if (found) return found
    }
    return null
  }
}

type NamedChecks = ReadonlyMap<string, Check>

/**
 * Compiles properties, patternProperties and additionalProperties together. additionalProperties applies to members
 * that the other two have not checked.
 */
export function compileMembers(schema: JsonObject, compiling: Compiling): Check | null {
  const named: NamedChecks = new Map(
    Object.keys((schema['properties'] as JsonObject) ?? {}).map((name) => [
      name,
      compiling.subschema('properties', name),
    ]),
  )
  const patterned = Object.keys((schema['patternProperties'] as JsonObject) ?? {}).map(
    (pattern) => [compiling.pattern(pattern), compiling.subschema('patternProperties', pattern)] as const,
  )
  const hasOthers = Object.hasOwn(schema, 'additionalProperties')
  const others = hasOthers ? compiling.subschema('additionalProperties') : null
  if (named.size === 0 && patterned.length === 0 && others === null) return null
  return (value, meter, seen) => {
    if (!isJsonObject(value)) return null
    for (const name of Object.keys(value)) {
      spendText(meter, name.length)
      const found = checkMember(name, value[name]!, { named, patterned, others }, meter, seen)
      if (found) return inside(found, name)
    }
    return null
  }
}

function checkMember(
  name: string,
  member: JsonValue,
  by: { named: NamedChecks; patterned: readonly (readonly [Pattern, Check])[]; others: Check | null },
  meter: Meter,
  seen: EvaluatedMembers | null,
): Fault | null {
  const check = by.named.get(name)
  let isKnown = check !== undefined
  let found = check?.(member, meter, null) ?? null
  for (const [pattern, patternCheck] of by.patterned) {
    if (found) return found
    if (!pattern.test(name, meter)) continue
    isKnown = true
    found = patternCheck(member, meter, null)
  }
  if (!isKnown && by.others) {
    isKnown = true
    found = by.others(member, meter, null)
  }
  if (isKnown && seen) {
    meter.spend(STEPS_PER_NOTE)
    seen.members.add(name)
  }
  return found
}

/** Compiles unevaluatedProperties. The check MUST run after the checks of all other keywords of the schema. */
export function compileUnevaluatedMembers(_: JsonObject, compiling: Compiling): Check {
  const check = compiling.subschema('unevaluatedProperties')
  return (value, meter, seen) => {
    if (!isJsonObject(value)) return null
    for (const name of Object.keys(value)) {
      spendText(meter, name.length)
      if (seen!.members.has(name)) continue
      const found = check(value[name]!, meter, null)
      if (found) return inside(found, name)
      meter.spend(STEPS_PER_NOTE)
      seen!.members.add(name)
    }
    return null
  }
}
