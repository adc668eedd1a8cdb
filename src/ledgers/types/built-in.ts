import { toHex, utf8Encode } from '../../proof/bytes.ts'
import { nativeProviders } from '../../signing/native.ts'
import { type CompiledType, canonicalDefinition, type TypeDefinition, typeNameOf } from './definition.ts'

export type RecordType = CompiledType & {
  /** name/version */
  readonly name: string
  /** H(JCS(definition)), lower-case hex. */
  readonly digest: string
}

/** In every ledger, and signed by digest in its first entry. They take any object, as every document is one. */
const DEFINITIONS: readonly TypeDefinition[] = [
  { name: 'generic', version: 1, payloadSchema: { type: 'object' } },
  {
    name: 'task',
    version: 1,
    payloadSchema: { type: 'object' },
    evidenceSchema: { type: 'object' },
    rules: [],
  },
]

/** Nobody can register another version of these either, because they must be the same everywhere. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(DEFINITIONS.map(({ name }) => name))

export type BuiltInType = RecordType & { readonly definition: TypeDefinition }

export const BUILT_IN_TYPES: ReadonlyMap<string, BuiltInType> = new Map(
  DEFINITIONS.map((definition) => {
    const name = typeNameOf(definition)
    const digest = toHex(nativeProviders.sha256(utf8Encode(canonicalDefinition(definition))))
    const gated = definition.evidenceSchema !== undefined
    return [name, { name, gated, digest, definition, payload: null, evidence: null, rules: [] }]
  }),
)
