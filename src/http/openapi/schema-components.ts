import { z } from 'zod'

type Json = Record<string, unknown>

/** The schemas of one document. A schema with an id is listed once under `components`, and every use refers to it. */
export class SchemaComponents {
  readonly #components: Record<string, unknown> = {}
  /**
   * Maps a schema to its JSON. The JSON is cached, because the problem document is used for every status of every
   * operation.
   */
  readonly #made = new Map<z.ZodType, Json>()

  /**
   * Adds a schema to the document. Returns the JSON that must be written where the schema is used: a reference, or the
   * schema itself.
   */
  add(schema: z.ZodType): Json {
    const made = this.#made.get(schema) ?? this.#make(schema)
    this.#made.set(schema, made)
    return made
  }

  #make(schema: z.ZodType): Json {
    // The validator converts schemas in the same way (src/http/zod-validation.ts), so that the document and the
    // server agree.
    const { $schema: _, $defs, ...json } = moveReferences(z.toJSONSchema(schema)) as Json
    Object.assign(this.#components, $defs)
    return json
  }

  all(): Record<string, unknown> {
    return this.#components
  }
}

function moveReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moveReferences)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string'
        ? member.replace('#/$defs/', '#/components/schemas/')
        : moveReferences(member),
    ]),
  )
}
