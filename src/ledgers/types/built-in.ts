import { toHex, utf8Encode } from '../../proof/bytes.ts'
import { nativeProviders } from '../../signing/native.ts'
import { AGENT_TYPES } from './agent-types.ts'
import {
  type CompiledType,
  canonicalDefinition,
  compileType,
  type TypeDefinition,
  typeNameOf,
} from './definition.ts'

export type RecordType = CompiledType & {
  /** Name and version of the type: `name/version`. */
  readonly name: string
  /** H(JCS(definition)), lower-case hex. */
  readonly digest: string
}

/** Types whose payload may be any JSON object. Every document is an object, so their payloads need no validation. */
const ANY_OBJECT: readonly TypeDefinition[] = [
  { name: 'generic', version: 1, payloadSchema: { type: 'object' } },
  {
    name: 'task',
    version: 1,
    payloadSchema: { type: 'object' },
    evidenceSchema: { type: 'object' },
    rules: [],
  },
]

/** Types that every ledger has. The first entry of each ledger signs their digests. */
const DEFINITIONS = [...ANY_OBJECT, ...AGENT_TYPES]

/**
 * Names of the built-in types. No ledger may register a type with such a name, because built-in types must be the same
 * in every ledger.
 */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(DEFINITIONS.map(({ name }) => name))

export type BuiltInType = RecordType & { readonly definition: TypeDefinition }

export const BUILT_IN_TYPES: ReadonlyMap<string, BuiltInType> = new Map(
  DEFINITIONS.map((definition) => {
    const name = typeNameOf(definition)
    const digest = toHex(nativeProviders.sha256(utf8Encode(canonicalDefinition(definition))))
    const compiled = ANY_OBJECT.includes(definition) ? anyObject(definition) : compileType(definition)
    return [name, { ...compiled, name, digest, definition }]
  }),
)

function anyObject({ evidenceSchema }: TypeDefinition): CompiledType {
  return { gated: evidenceSchema !== undefined, agentSigned: false, payload: null, evidence: null, rules: [] }
}
