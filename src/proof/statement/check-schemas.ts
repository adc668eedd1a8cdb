import type { JsonValue } from '../json/json-value.ts'

/*
 * JSON Schema (2020-12) of a check, for readers without our code. A schema accepts everything that its check accepts.
 * If JSON Schema cannot express a rule of the check, the schema accepts more, and its description states the rule.
 */

export type JsonSchema = { readonly [keyword: string]: unknown }

const SCHEMAS = new WeakMap<Check, () => JsonSchema>()

/** Attaches a schema to a check and returns the check. The schema is computed only when it is read. */
export function withSchema(schema: () => JsonSchema, check: Check): Check {
  SCHEMAS.set(check, schema)
  return check
}

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

/** All allowed members of an object. All other members are refused. */
export type Fields = {
  readonly required: Readonly<Record<string, Check>>
  readonly optional: Readonly<Record<string, Check>>
}
