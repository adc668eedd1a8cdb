import { type Check, type Compiling, EvaluatedMembers, type Fault, fault } from './check.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Meter } from './meter.ts'

type Compile = (schema: JsonObject, compiling: Compiling) => Check

/** Keywords that apply other schemas to the same value. */
export const LOGIC_KEYWORDS: Readonly<Record<string, Compile>> = {
  $ref: (schema, compiling) => compiling.reference(schema['$ref'] as string),
  allOf: compileAllOf,
  anyOf: compileAnyOf,
  oneOf: compileOneOf,
  not: compileNot,
  if: compileIf,
}

function alternatives(keyword: string, schema: JsonObject, compiling: Compiling): Check[] {
  return (schema[keyword] as JsonValue[]).map((_, i) => compiling.subschema(keyword, `${i}`))
}

function compileAllOf(schema: JsonObject, compiling: Compiling): Check {
  const checks = alternatives('allOf', schema, compiling)
  return (value, meter, seen) => {
    for (const check of checks) {
      const found = check(value, meter, seen)
      if (found) return found
    }
    return null
  }
}

/** Runs a check. The members and items that the check has evaluated are added to `seen` only if the value is valid. */
function attempt(check: Check, value: JsonValue, meter: Meter, seen: EvaluatedMembers | null): Fault | null {
  if (seen === null) return check(value, meter, null)
  const own = new EvaluatedMembers()
  const found = check(value, meter, own)
  if (!found) seen.addAll(own, meter)
  return found
}

function compileAnyOf(schema: JsonObject, compiling: Compiling): Check {
  const checks = alternatives('anyOf', schema, compiling)
  return (value, meter, seen) => {
    let holds = false
    for (const check of checks) {
      if (attempt(check, value, meter, seen)) continue
      holds = true
      // If `seen` is null, one valid alternative is enough. Otherwise all valid alternatives must be found, because
      // each of them adds to `seen`.
      if (seen === null) break
    }
    return holds ? null : fault('anyOf', `must match at least one of ${checks.length} alternatives`)
  }
}

function compileOneOf(schema: JsonObject, compiling: Compiling): Check {
  const checks = alternatives('oneOf', schema, compiling)
  return (value, meter, seen) => {
    let holding = 0
    for (const check of checks) {
      if (attempt(check, value, meter, seen)) continue
      if (++holding > 1)
        return fault('oneOf', `must match exactly one of ${checks.length} alternatives, but matches more`)
    }
    return holding === 1
      ? null
      : fault('oneOf', `must match exactly one of ${checks.length} alternatives, but matches none`)
  }
}

function compileNot(_: JsonObject, compiling: Compiling): Check {
  const check = compiling.subschema('not')
  return (value, meter) =>
    check(value, meter, null) ? null : fault('not', 'must not match the schema under `not`')
}

function compileIf(schema: JsonObject, compiling: Compiling): Check {
  const condition = compiling.subschema('if')
  const ifTrue = Object.hasOwn(schema, 'then') ? compiling.subschema('then') : null
  const ifFalse = Object.hasOwn(schema, 'else') ? compiling.subschema('else') : null
  return (value, meter, seen) => {
    const branch = attempt(condition, value, meter, seen) ? ifFalse : ifTrue
    return branch?.(value, meter, seen) ?? null
  }
}
