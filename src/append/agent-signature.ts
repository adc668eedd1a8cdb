import { ApiError } from '../errors.ts'
import { timeOfUuidv7, type Uuid } from '../proof/ids.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import type { EntryKind, Subject } from '../proof/statement/kinds.ts'
import type { ParsedStatement } from '../proof/statement/statement.ts'
import { leafHash } from '../proof/tree/merkle.ts'
import { nativeProviders } from '../signing/native.ts'
import { CHOSEN_ID_AGE_MS_MAX } from './limits.ts'

/**
 * An entry that an agent signed itself with one of its registered keys. `statement` is the statement in the envelope.
 */
export type AgentSigned = {
  readonly envelope: Uint8Array
  readonly kid: Uint8Array
  readonly statement: ParsedStatement
  /** Returns the server's time in ms. `recordedAt` of the statement comes from the agent's clock. */
  readonly now: () => number
}

/** The statement that the server would have signed. */
type Expected = {
  readonly kind: EntryKind
  readonly subjects: readonly Subject[]
  readonly predicate: object
}

/**
 * Returns the envelope unchanged, with its leaf hash. Throws `statement_mismatch` unless the envelope contains exactly
 * the statement that the server would have signed.
 */
export function adoptEnvelope({ envelope, statement }: AgentSigned, expected: Expected) {
  refuseOther('/predicateType', statement.kind, expected.kind)
  refuseOther('/subject', statement.subjects as unknown as JsonValue, expected.subjects)
  refuseOther('/predicate', statement.predicate, expected.predicate)
  return { envelope, leaf: leafHash(nativeProviders.sha256, envelope) }
}

/**
 * Throws `statement_mismatch` if the two JSON values differ. Members of `expected` that are undefined count as absent.
 */
function refuseOther(path: string, signed: JsonValue | undefined, expected: unknown): void {
  if (isContainer(signed) && isContainer(expected) && Array.isArray(signed) === Array.isArray(expected)) {
    const [found, wanted] = [signed, expected] as Record<string, JsonValue>[]
    for (const name of new Set([...Object.keys(wanted!), ...Object.keys(found!)])) {
      const value = Object.hasOwn(found!, name) ? found![name] : undefined
      refuseOther(`${path}/${name}`, value, Object.hasOwn(wanted!, name) ? wanted![name] : undefined)
    }
  } else if (signed !== expected) throw mismatch(path, expected)
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function mismatch(path: string, expected: unknown): ApiError {
  const wanted = expected === undefined ? 'absent' : JSON.stringify(expected).slice(0, 200)
  return new ApiError('statement_mismatch', `${path} of the signed statement must be ${wanted}`, {
    members: { path },
  })
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/

/**
 * Throws `statement_mismatch` unless the id that the agent chose is a UUIDv7 with a time close to `recordedAt`.
 * Searches and indexes need ids with the right time.
 */
export function refuseChosenId(id: Uuid, { statement }: AgentSigned, path: string): void {
  if (UUID_V7.test(id) && Math.abs(timeOfUuidv7(id) - statement.recordedAtMs) <= CHOSEN_ID_AGE_MS_MAX) return
  throw new ApiError('statement_mismatch', `${path} must be a UUIDv7 of the time of recordedAt`, {
    members: { path },
  })
}
