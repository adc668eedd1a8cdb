import { refuseLoops } from './in-place.ts'
import type { JsonObject, JsonValue } from './json.ts'
import { formatPointer } from './json-pointer.ts'
import { SCHEMA_PATTERNS_MAX, SCHEMA_POINTER_CHARS_MAX, SCHEMA_SUBSCHEMAS_MAX } from './limits.ts'
import { Pattern } from './pattern.ts'
import { PatternError } from './pattern-syntax.ts'
import { SchemaError } from './schema-error.ts'
import { isJsonObject, KEYWORDS, PARTNERS } from './schema-keywords.ts'

/** A JSON Schema that was checked, with the positions of its subschemas and references. */
export type SchemaDocument = {
  /** Maps a JSON Pointer, from the root of the schema, to the subschema at this position. */
  readonly subschemas: ReadonlyMap<string, JsonValue>
  readonly patterns: ReadonlyMap<string, Pattern>
  /** Returns the JSON Pointer of the subschema to which a $ref refers. */
  resolve(reference: string): string
}

/**
 * Reads a schema of JSON Schema 2020-12. `base`: position of the schema in the definition, for errors. Throws
 * SchemaError for everything that is not fully supported. If a keyword were ignored, authors would expect a check that
 * never happens.
 */
export function readSchema(schema: JsonValue, base: string): SchemaDocument {
  const reader = new SchemaReader(base)
  reader.readRoot(schema)
  reader.resolveReferences()
  refuseLoops(reader.inPlace, reader.errorAt)
  return reader
}

class SchemaReader implements SchemaDocument {
  readonly subschemas = new Map<string, JsonValue>()
  readonly patterns = new Map<string, Pattern>()
  /** Maps a subschema to the subschemas that check the same value. */
  readonly inPlace = new Map<string, string[]>()
  readonly #base: string
  readonly #anchors = new Map<string, string>()
  readonly #references: { from: string; reference: string; path: string[] }[] = []

  constructor(base: string) {
    this.#base = base
  }

  readRoot(schema: JsonValue): void {
    this.readSubschema(schema, [], null)
  }

  /** Reads a subschema. `around`: pointer of the surrounding subschema if both check the same value, otherwise null. */
  readSubschema(schema: JsonValue, path: string[], around: string | null): void {
    const pointer = formatPointer(path)
    if (this.subschemas.size >= SCHEMA_SUBSCHEMAS_MAX)
      throw this.error(path, `there are more than ${SCHEMA_SUBSCHEMAS_MAX} subschemas`)
    if (pointer.length > SCHEMA_POINTER_CHARS_MAX)
      throw this.error(path, `its JSON Pointer has more than ${SCHEMA_POINTER_CHARS_MAX} characters`)
    this.subschemas.set(pointer, schema)
    if (around !== null) this.inPlace.get(around)!.push(pointer)
    this.inPlace.set(pointer, [])
    if (typeof schema === 'boolean') return
    if (!isJsonObject(schema)) throw this.error(path, 'a schema must be an object or a boolean')
    for (const [keyword, value] of Object.entries(schema)) this.#readKeyword(schema, keyword, value, path)
  }

  #readKeyword(schema: JsonObject, keyword: string, value: JsonValue, path: string[]): void {
    const at = [...path, keyword]
    const rule = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword]! : null
    if (!rule) throw this.error(at, 'this keyword is not supported')
    const partner = Object.hasOwn(PARTNERS, keyword) ? PARTNERS[keyword]! : null
    if (partner !== null && !Object.hasOwn(schema, partner))
      throw this.error(at, `is allowed only with ${partner}`)
    rule(this, value, at)
  }

  anchor(name: string, path: string[]): void {
    if (this.#anchors.has(name)) throw this.error(path, 'occurs twice in this schema')
    this.#anchors.set(name, formatPointer(path.slice(0, -1)))
  }

  reference(reference: string, path: string[]): void {
    this.#references.push({ from: formatPointer(path.slice(0, -1)), reference, path })
  }

  pattern(pattern: string, path: string[]): void {
    if (this.patterns.has(pattern)) return
    if (this.patterns.size >= SCHEMA_PATTERNS_MAX)
      throw this.error(path, `there are more than ${SCHEMA_PATTERNS_MAX} patterns`)
    try {
      this.patterns.set(pattern, new Pattern(pattern))
    } catch (error) {
      if (error instanceof PatternError) throw this.error(path, `the pattern ${error.message}`)
      throw error
    }
  }

  /**
   * Resolves all references. Must be called after all subschemas were read, because a reference may name a subschema
   * that comes later.
   */
  resolveReferences(): void {
    for (const { from, reference, path } of this.#references) {
      const target = this.#find(reference)
      if (target === null) throw this.error(path, 'does not refer to a subschema of this schema')
      this.inPlace.get(from)!.push(target)
    }
  }

  resolve(reference: string): string {
    return this.#find(reference)!
  }

  #find(reference: string): string | null {
    const fragment = decodeFragment(reference)
    if (fragment === null) return null
    const target = fragment === '' || fragment.startsWith('/') ? fragment : this.#anchors.get(fragment)
    return target !== undefined && this.subschemas.has(target) ? target : null
  }

  error(path: readonly string[], detail: string): SchemaError {
    return new SchemaError([this.#base, ...path], detail)
  }

  readonly errorAt = (pointer: string, detail: string): SchemaError =>
    new SchemaError([this.#base, ...parsePointer(pointer)], detail)
}

function parsePointer(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Decodes the fragment of a reference. Returns null if the reference names another document. */
function decodeFragment(reference: string): string | null {
  if (!reference.startsWith('#')) return null
  try {
    return decodeURIComponent(reference.slice(1))
  } catch {
    return null
  }
}
