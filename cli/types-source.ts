import type { RecordType } from '../sdk/generated/api.ts'
import { SchemaType } from './schema-type.ts'
import { comment, indent, quote } from './typescript.ts'

const HEADER = `// Made by \`tallystick types codegen\` from the types that a ledger has registered; not to be edited.
// A type never changes. When others are registered, make this file again.
//
//   import { Tallystick } from '@tallystick/sdk'
//   const tallystick = new Tallystick<Types>()
`

/** TypeScript for `new Tallystick<Types>()`. */
export function typesSource(types: readonly RecordType[]): string {
  const { documents, references } = typesBlock(types)
  return `${HEADER}
export type Types = ${documents}
${references === null ? '' : `\n/** Schemas that others refer to with \`$ref\`. */\nexport type References = ${references}\n`}`
}

type Described = Pick<RecordType, 'type' | 'digest' | 'gated' | 'definition'>

/** Contents of the payloads and the evidence of these types, in the order of their names; and what they refer to with `$ref`. */
export function typesBlock(types: readonly Described[]): { documents: string; references: string | null } {
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
  return { documents: block(members), references: shared.length === 0 ? null : block(shared.toSorted()) }
}

function block(members: readonly string[]): string {
  return members.length === 0 ? '{}' : `{\n  ${members.map(indent).join('\n  ')}\n}`
}

function byName(one: Described, other: Described): number {
  return one.type < other.type ? -1 : 1
}
