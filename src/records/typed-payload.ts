import { ApiError } from '../errors.ts'
import type { JsonValue } from '../proof/json-text.ts'
import type { Caller } from '../tenancy/caller.ts'
import { BUILT_IN_TYPES, type RecordType } from '../types/built-in.ts'
import type { TypeRegistry, Validity } from '../types/type-registry.ts'

export type TypeDeps = { readonly types: TypeRegistry }
type Members = Record<string, unknown>

/**
 * The type that records of this name are notarized as. Not a promise where it is built in: those are most of all
 * records, and there is nothing to wait for. Throws `unknown_type`, `not_notarizable`.
 */
export function getNotarizable(
  deps: TypeDeps,
  caller: Caller,
  name: string,
  members: Members = {},
): RecordType | Promise<RecordType> {
  const builtIn = BUILT_IN_TYPES.get(name)
  if (builtIn) return requireNotarizable(builtIn, members)
  return deps.types.get(caller, name, members).then((type) => requireNotarizable(type, members))
}

function requireNotarizable(type: RecordType, members: Members): RecordType {
  if (!type.gated) return type
  throw new ApiError(
    'not_notarizable',
    `${type.name} is gated: its records are created and judged, not notarized`,
    { members: { ...members, recordType: type.name } },
  )
}

/**
 * Throws `payload_invalid` where the payload is not as its type wants it. A promise where the ledger has to wait for
 * that; nothing at all where the type takes any object.
 */
export function verifyPayload(
  deps: TypeDeps,
  caller: Caller,
  type: RecordType,
  payload: { readonly value: unknown; readonly canonical: string },
  members: Members = {},
): void | Promise<void> {
  if (type.payload === null) return
  const document = { value: payload.value as JsonValue, bytes: Buffer.byteLength(payload.canonical) }
  const found = deps.types.validate(caller, type.payload, document, members)
  if (found instanceof Promise) return found.then((late) => refuseInvalid(type, late, members))
  refuseInvalid(type, found, members)
}

/** Names no value of the payload: problem documents end up in logs that payloads must not be in. */
function refuseInvalid(type: RecordType, found: Validity, members: Members): void {
  if (found.outcome === 'valid') return
  throw new ApiError('payload_invalid', `${type.name}: ${found.message}`, {
    members: { ...members, path: found.path },
  })
}
