import { z } from 'zod'

type Json = Record<string, unknown>

/** Schemas of one document. A schema with an id is listed once, under `components`, and referred to. */
export class SchemaComponents {
  readonly #components: Record<string, unknown> = {}
  /** Cache of converted schemas: the problem document appears at every status of every operation. */
  readonly #made = new Map<z.ZodType, Json>()

  /** Adds a schema. Returns it as it is written at the place of use. */
  add(schema: z.ZodType): Json {
    const made = this.#made.get(schema) ?? this.#make(schema)
    this.#made.set(schema, made)
    return made
  }

  #make(schema: z.ZodType): Json {
    // Converted as the validator does it (src/http/zod-validation.ts), so that the document and the server agree.
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
