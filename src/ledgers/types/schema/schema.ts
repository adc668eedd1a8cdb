import { type Check, type Compiling, type Fault, fault, Seen } from './check.ts'
import { compileItems, compileUnevaluatedItems, ITEM_KEYWORDS } from './check-items.ts'
import { LOGIC_KEYWORDS } from './check-logic.ts'
import { compileMembers, compileUnevaluatedMembers, MEMBER_KEYWORDS } from './check-members.ts'
import { VALUE_KEYWORDS } from './check-values.ts'
import type { JsonObject, JsonValue } from './json.ts'
import { formatPointer } from './json-pointer.ts'
import { FAULT_PATH_CHARS_MAX, VALIDATION_STEPS_BASE, VALIDATION_STEPS_PER_BYTE } from './limits.ts'
import { Meter, TooCostly } from './meter.ts'
import { readSchema, type SchemaDocument } from './read-schema.ts'

export type ValidationResult =
  | { readonly outcome: 'valid' }
  /** The first fault found; `path`: a JSON Pointer into the value, or as far as there is room for it. */
  | { readonly outcome: 'invalid'; readonly path: string; readonly keyword: string; readonly message: string }
  /** Its steps were used up before it was known. */
  | { readonly outcome: 'too costly' }
  /** Those of the caller were: it may go on for longer. */
  | { readonly outcome: 'unfinished' }

export type SchemaSource = { readonly text: string; readonly base: string }

/**
 * A JSON Schema (2020-12) that a tenant wrote, ready to validate what a tenant sends.
 *
 * Both may be hostile, and everybody else shares the thread that they run on. So no code is generated, as ajv would
 * (docs/decisions/0007-schemas-are-interpreted.md): a schema becomes closures, every one of which pays for what it
 * does, and a validation that has used up its steps ends, whatever the schema. Stack: subschemas that look at one
 * value inside each other are bounded by in-place.ts, values by JSON_DEPTH_MAX.
 */
export class Schema {
  readonly #check: Check
  /** Memory of the compiled schema, roughly. */
  readonly bytes: number
  /** JSON text that it was compiled from, and its place: another thread compiles it anew. */
  readonly source: SchemaSource

  /** `base`: its place in the definition, for errors. Throws SchemaError. */
  constructor(schema: JsonValue, base: string) {
    const document = readSchema(schema, base)
    this.source = { text: JSON.stringify(schema), base }
    this.#check = new Compiler(document).compileAll()
    const instructions = [...document.patterns.values()].reduce((sum, { instructions: n }) => sum + n, 0)
    this.bytes =
      BYTES_PER_SUBSCHEMA * document.subschemas.size +
      BYTES_PER_INSTRUCTION * instructions +
      this.source.text.length
  }

  /** `bytes`: length of the value's JSON text, which bounds the cost of a validation. `stepsMax`: steps that the caller has for it. */
  validate(value: JsonValue, bytes: number, stepsMax = Number.POSITIVE_INFINITY): ValidationResult {
    const allowed = VALIDATION_STEPS_BASE + VALIDATION_STEPS_PER_BYTE * bytes
    const meter = new Meter(Math.min(allowed, stepsMax))
    try {
      const found = this.#check(value, meter, null)
      return found ? invalid(found) : { outcome: 'valid' }
    } catch (error) {
      if (error instanceof TooCostly) return { outcome: stepsMax < allowed ? 'unfinished' : 'too costly' }
      throw error
    }
  }
}

function invalid({ path, keyword, message }: Fault): ValidationResult {
  return { outcome: 'invalid', path: shortPointer(path.toReversed()), keyword, message }
}

/** Member names are the caller's, and may be as long as a document. */
function shortPointer(segments: readonly string[]): string {
  let chars = 0
  const kept = segments.findIndex((segment) => {
    chars += 1 + segment.length
    return chars > FAULT_PATH_CHARS_MAX
  })
  return formatPointer(kept < 0 ? segments : segments.slice(0, kept))
}

const COMPILERS = { ...VALUE_KEYWORDS, ...MEMBER_KEYWORDS, ...ITEM_KEYWORDS, ...LOGIC_KEYWORDS }
const STEPS_PER_SCHEMA = 4
const BYTES_PER_SUBSCHEMA = 1_024
/** With the tables of which characters an atom takes. */
const BYTES_PER_INSTRUCTION = 256

class Compiler {
  readonly #document: SchemaDocument
  readonly #checks = new Map<string, { check: Check }>()
  readonly #uncompiled: string[] = []

  constructor(document: SchemaDocument) {
    this.#document = document
  }

  compileAll(): Check {
    const root = this.#checkOf('')
    // One after another, not one inside another: a chain of references may be as long as the schema.
    for (let next = this.#uncompiled.pop(); next !== undefined; next = this.#uncompiled.pop()) {
      this.#checks.get(next)!.check = this.#compile(next)
    }
    return root
  }

  #checkOf(pointer: string): Check {
    let slot = this.#checks.get(pointer)
    if (!slot) {
      slot = { check: () => null }
      this.#checks.set(pointer, slot)
      this.#uncompiled.push(pointer)
    }
    const found = slot
    return (value, meter, seen) => found.check(value, meter, seen)
  }

  #compile(pointer: string): Check {
    const schema = this.#document.subschemas.get(pointer)!
    if (schema === true) return all([])
    if (schema === false) return () => fault('false schema', 'is not allowed here')
    const checks = this.#compileKeywords(schema as JsonObject, {
      subschema: (...path) => this.#checkOf(pointer + formatPointer(path)),
      reference: (reference) => this.#checkOf(this.#document.resolve(reference)),
      pattern: (pattern) => this.#document.patterns.get(pattern)!,
    })
    const notesSeen = ['unevaluatedProperties', 'unevaluatedItems'].some((keyword) =>
      Object.hasOwn(schema as JsonObject, keyword),
    )
    return notesSeen ? noting(all(checks)) : all(checks)
  }

  #compileKeywords(schema: JsonObject, compiling: Compiling): Check[] {
    const checks: Check[] = []
    for (const [keyword, compile] of Object.entries(COMPILERS)) {
      if (Object.hasOwn(schema, keyword)) checks.push(compile(schema, compiling))
    }
    for (const compile of [compileMembers, compileItems]) {
      const check = compile(schema, compiling)
      if (check) checks.push(check)
    }
    if (Object.hasOwn(schema, 'unevaluatedProperties'))
      checks.push(compileUnevaluatedMembers(schema, compiling))
    if (Object.hasOwn(schema, 'unevaluatedItems')) checks.push(compileUnevaluatedItems(schema, compiling))
    return checks
  }
}

function all(checks: readonly Check[]): Check {
  return (value, meter, seen) => {
    meter.spend(STEPS_PER_SCHEMA)
    for (const check of checks) {
      const found = check(value, meter, seen)
      if (found) return found
    }
    return null
  }
}

/** A schema with an unevaluated… keyword looks at what its own keywords, and those they hand the value to, have noted. */
function noting(check: Check): Check {
  return (value, meter, outer) => {
    const seen = new Seen()
    const found = check(value, meter, seen)
    if (!found) outer?.addAll(seen, meter)
    return found
  }
}
