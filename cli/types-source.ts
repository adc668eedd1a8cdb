import type { RecordType } from '../sdk/generated/api.ts'
import { SchemaType } from './schema-type.ts'
import { comment, indent, quote } from './typescript.ts'

const HEADER = `// Made by \`tallystick types codegen\` from the types that a ledger has registered; not to be edited.
// A type never changes. When others are registered, make this file again.
//
//   import { Tallystick } from '@tallystick/sdk'
//   const tallystick = new Tallystick<Types>()
`

/** TypeScript for `new Tallystick<Types>()`: what the payloads and the evidence of these types hold. The order is that of their names. */
export function typesSource(types: readonly RecordType[]): string {
  const references = new Map<string, string>()
  const documentOf = (schema: unknown, place: string) => {
    const made = new SchemaType(schema, place)
    const type = made.document()
    for (const [name, referenced] of made.references) references.set(name, referenced)
    return type
  }
  const members = types.toSorted(byName).map(({ type, digest, gated, definition }) => {
    const payload = `payload: ${documentOf(definition['payloadSchema'], `${type} payload`)}`
    const evidence = `evidence: ${documentOf(definition['evidenceSchema'], `${type} evidence`)}`
    const documents = gated ? [payload, evidence] : [payload]
    return `${comment(`digest ${digest}`)}${quote(type)}: {\n  ${documents.map(indent).join('\n  ')}\n}`
  })
  const shared = [...references].map(([name, type]) => `${quote(name)}: ${type}`)
  return `${HEADER}
export type Types = ${block(members)}
${shared.length === 0 ? '' : `\n/** Schemas that others refer to with \`$ref\`. */\nexport type References = ${block(shared.toSorted())}\n`}`
}

function block(members: readonly string[]): string {
  return members.length === 0 ? '{}' : `{\n  ${members.map(indent).join('\n  ')}\n}`
}

function byName(one: RecordType, other: RecordType): number {
  return one.type < other.type ? -1 : 1
}
