import { type Check, type Compiling, EvaluatedMembers, type Fault, fault } from './check.ts'
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
  /**
   * `path`, `keyword` and `message` describe the first fault. `path`: a JSON Pointer into the value, with at most
   * FAULT_PATH_CHARS_MAX characters.
   */
  | { readonly outcome: 'invalid'; readonly path: string; readonly keyword: string; readonly message: string }
  /** The validation needed more steps than are allowed for a document of this length. */
  | { readonly outcome: 'too costly' }
  /** The validation needed more steps than the caller allowed. The caller may repeat it with more steps. */
  | { readonly outcome: 'unfinished' }

export type SchemaSource = { readonly text: string; readonly base: string }

/**
 * A compiled JSON Schema (2020-12). The schema and the values come from tenants.
 *
 * Schemas and values may be hostile, and all tenants share the thread. So no code is generated from a schema, as ajv
 * would do (docs/decisions/0007-schema-validation.md). A schema becomes closures, and each closure spends steps
 * for its work. When the steps are used up, the validation ends, whatever the schema is. The depth of the stack is
 * limited too: in-place.ts limits the nested subschemas for one value, and JSON_DEPTH_MAX limits the depth of values.
 */
export class Schema {
  readonly #check: Check
  /** Approximate memory of the compiled schema, in bytes. */
  readonly bytes: number
  /**
   * The JSON text of the schema, and its position in the definition. From both, another thread can compile the schema.
   */
  readonly source: SchemaSource

  /** Compiles a schema. `base`: position of the schema in the definition, for errors. Throws SchemaError. */
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

  /**
   * Validates a value. `bytes`: length in bytes of the value's JSON text, which determines the number of allowed steps.
   * `stepsMax`: number of steps that the caller allows.
   */
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

/**
 * Returns a JSON Pointer with at most FAULT_PATH_CHARS_MAX characters. It must be cut, because the client chose the
 * names of members, and a name may be as long as a document.
 */
function shortPointer(segments: readonly string[]): string {
  let chars = 0
  const end = segments.findIndex((segment) => {
    chars += 1 + segment.length
    return chars > FAULT_PATH_CHARS_MAX
  })
  return formatPointer(end < 0 ? segments : segments.slice(0, end))
}

const COMPILERS = { ...VALUE_KEYWORDS, ...MEMBER_KEYWORDS, ...ITEM_KEYWORDS, ...LOGIC_KEYWORDS }
const STEPS_PER_SCHEMA = 4
const BYTES_PER_SUBSCHEMA = 1_024
/** Approximate memory of an instruction in bytes, including the table of characters that its atom matches. */
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
    // This is a loop and not a recursion, because a chain of references may be as long as the schema.
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

/**
 * Returns a check of a schema with an unevaluated… keyword. The check collects the members and items that were
 * evaluated by the schema's own keywords, and by the subschemas that these keywords apply to the same value.
 */
function noting(check: Check): Check {
  return (value, meter, outer) => {
    const seen = new EvaluatedMembers()
    const found = check(value, meter, seen)
    if (!found) outer?.addAll(seen, meter)
    return found
  }
}
