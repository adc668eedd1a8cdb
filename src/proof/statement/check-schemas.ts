import type { JsonValue } from '../json/json-value.ts'

/*
 * JSON Schema (2020-12) of checks, for readers without our code. A schema accepts whatever its check accepts; where JSON Schema
 * cannot say all of it, it accepts more, and its description says what is missing.
 */

export type JsonSchema = { readonly [keyword: string]: unknown }

const SCHEMAS = new WeakMap<Check, () => JsonSchema>()

/** The check, with what it says, which is asked for only where somebody wants to read it. */
export function described(schema: () => JsonSchema, check: Check): Check {
  SCHEMAS.set(check, schema)
  return check
}

/** Throws for a check that was not described. */
export function schemaOf(check: Check): JsonSchema {
  const schema = SCHEMAS.get(check)
  if (!schema) throw new Error(`the check ${check.name} has no schema`)
  return schema()
}

export function schemaOfFields({ required, optional }: Fields): JsonSchema {
  const members = Object.entries({ ...required, ...optional })
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([name, check]) => [name, schemaOf(check)])),
    required: Object.keys(required),
    additionalProperties: false,
  }
}

export type Check = (value: JsonValue) => boolean

/** The members of an object, all of them: any other is refused. */
export type Fields = {
  readonly required: Readonly<Record<string, Check>>
  readonly optional: Readonly<Record<string, Check>>
}
