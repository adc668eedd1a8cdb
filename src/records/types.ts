import { ApiError } from '../errors.ts'
import { toHex, utf8Encode } from '../proof/bytes.ts'
import { canonicalize } from '../proof/jcs.ts'
import type { JsonValue } from '../proof/json-text.ts'
import { nativeProviders } from '../signing/native.ts'

type RecordType = {
  /** name/version */
  readonly name: string
  readonly gated: boolean
  /** H(JCS(definition)), lower-case hex. */
  readonly digest: string
}

/** In every ledger, and signed by digest in its first entry. */
const BUILT_IN_DEFINITIONS = [
  { name: 'generic', version: 1, payloadSchema: { type: 'object' } },
  {
    name: 'task',
    version: 1,
    payloadSchema: { type: 'object' },
    evidenceSchema: { type: 'object' },
    rules: [],
  },
]

export const BUILT_IN_TYPES: ReadonlyMap<string, RecordType> = new Map(
  BUILT_IN_DEFINITIONS.map((definition) => {
    const name = `${definition.name}/${definition.version}`
    const canonical = canonicalize(definition as unknown as JsonValue)
    const digest = toHex(nativeProviders.sha256(utf8Encode(canonical)))
    return [name, { name, gated: 'evidenceSchema' in definition, digest }]
  }),
)

/** Throws ApiError when the ledger has no such type, or its records are not notarized. */
export function getNotarizableType(name: string, members: Record<string, unknown> = {}): RecordType {
  const type = BUILT_IN_TYPES.get(name)
  if (!type)
    throw new ApiError('unknown_type', `the ledger has no type ${name}`, {
      members: { ...members, recordType: name },
    })
  if (type.gated) {
    throw new ApiError(
      'not_notarizable',
      `${name} is gated: its records are created and judged, not notarized`,
      {
        members: { ...members, recordType: name },
      },
    )
  }
  return type
}
