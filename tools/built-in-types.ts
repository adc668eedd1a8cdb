import type { BuiltInType } from '../src/ledgers/types/built-in.ts'
import { quoted } from '../src/proof/quoted.ts'

type Schema = { readonly [keyword: string]: unknown }

const LINE_CHARS_MAX = 100
/** Keywords that a TypeScript type can't express. Only the server checks them. */
const UNSAID = ['pattern', 'minimum', 'minLength', 'maxLength', 'additionalProperties']
const SAID = ['type', 'description', 'required', 'properties', 'enum', 'const', 'anyOf', 'items']

/** Returns TypeScript types of the payloads and evidence of the given record types, sorted by name. */
export function builtInTypes(types: readonly BuiltInType[]): string {
  const members = types
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, digest, gated, definition }) => {
      const { payloadSchema, evidenceSchema } = definition
      const documents = [`payload: ${typeOf(payloadSchema as Schema)}`]
      if (gated) documents.push(`evidence: ${typeOf(evidenceSchema as Schema)}`)
      return `/** digest ${digest} */\n${quoted(name)}: ${block(documents)}`
    })
  return block(members)
}

function typeOf(schema: Schema): string {
  const unknown = Object.keys(schema).find((keyword) => ![...SAID, ...UNSAID].includes(keyword))
  if (unknown !== undefined)
    throw new Error(`a built-in type uses ${unknown}: extend tools/built-in-types.ts`)
  const {
    const: value,
    enum: values,
    anyOf,
  } = schema as {
    const?: unknown
    enum?: unknown[]
    anyOf?: Schema[]
  }
  if (value !== undefined) return JSON.stringify(value)
  if (values !== undefined) return union(values.map((each) => JSON.stringify(each)))
  if (anyOf !== undefined) return union(anyOf.map((each) => typeOf({ type: schema['type'], ...each })))
  switch (schema['type']) {
    case undefined:
      return 'unknown'
    case 'integer':
      return 'number'
    case 'array':
      return `Array<${typeOf((schema['items'] ?? {}) as Schema)}>`
    case 'object':
      return objectOf(schema)
    default:
      return String(schema['type'])
  }
}

function objectOf(schema: Schema): string {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>)
  const required = (schema['required'] ?? []) as readonly string[]
  const others = schema['additionalProperties']
  if (properties.length === 0)
    return typeof others === 'object' ? block([`[name: string]: ${typeOf(others as Schema)}`]) : 'object'
  return block(
    properties.map(([name, value]) => {
      const { description } = value
      const comment = description === undefined ? '' : `/** ${description} */\n`
      return `${comment}${name}${required.includes(name) ? '' : '?'}: ${typeOf(value)}`
    }),
  )
}

function union(types: readonly string[]): string {
  const line = types.join(' | ')
  return line.length <= LINE_CHARS_MAX ? line : indent(types.map((type) => `\n| ${indent(type)}`).join(''))
}

function block(members: readonly string[]): string {
  return `{\n  ${members.map(indent).join('\n  ')}\n}`
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ')
}
