/* Reads a schema that somebody else wrote: a malformed member counts as absent. */

export type Json = { readonly [keyword: string]: unknown }
export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'
export const ANY: readonly JsonType[] = ['null', 'boolean', 'number', 'string', 'array', 'object']

export function kindsOf(type: unknown): readonly unknown[] {
  if (type === undefined) return ANY
  return (Array.isArray(type) ? type : [type]).map((name) => (name === 'integer' ? 'number' : name))
}

export function kindOf(value: unknown): JsonType {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : (typeof value as JsonType)
}

/** The values that are left by `const` and `enum`; null: any. */
export function valuesOf(schema: Json): readonly unknown[] | null {
  if (Object.hasOwn(schema, 'const')) return [schema['const']]
  const values = own(schema, 'enum')
  return Array.isArray(values) ? values : null
}

export function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** Never what an object inherits: names are the tenant's. */
export function own(schema: Json, name: string): unknown {
  return Object.hasOwn(schema, name) ? schema[name] : undefined
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function entries(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : []
}
