import { ApiError } from '../../errors.ts'
import { BUILT_IN_TYPES, type RecordType } from '../../ledgers/types/built-in.ts'
import type { Schema } from '../../ledgers/types/schema/schema.ts'
import type { TypeRegistry, Validity } from '../../ledgers/types/type-registry.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'

/** The ledger whose types are used. Compiling and validating use this ledger's share of CPU time. */
type TypeLedger = { readonly ledger: string; readonly ledgerId: Uuid }

export type TypeDeps = { readonly types: TypeRegistry }
type Members = Record<string, unknown>

/**
 * Returns the type of this name. A built-in type is returned directly and not as a promise: most records have a
 * built-in type, and a promise would slow them down. Throws `unknown_type`.
 */
export function getType(
  deps: TypeDeps,
  ledger: TypeLedger,
  name: string,
  members: Members = {},
): RecordType | Promise<RecordType> {
  return BUILT_IN_TYPES.get(name) ?? deps.types.get(ledger, name, members)
}

/** Returns the type if records can be notarized with it. Throws `unknown_type`, `not_notarizable`. */
export function getNotarizable(
  deps: TypeDeps,
  ledger: TypeLedger,
  name: string,
  members: Members = {},
): RecordType | Promise<RecordType> {
  const type = getType(deps, ledger, name, members)
  if (type instanceof Promise) return type.then((late) => requireNotarizable(late, members))
  return requireNotarizable(type, members)
}

/**
 * Throws `agent_signature_required` if the type requires an envelope that the agent signed and the request has no
 * envelope.
 */
export function requireAgentSigned(
  { name, agentSigned }: RecordType,
  isSigned: boolean,
  members: Members = {},
): void {
  if (!agentSigned || isSigned) return
  throw new ApiError(
    'agent_signature_required',
    `records of ${name} must be signed by their agents: register a signing key of the agent, and have the SDK sign with it (docs/reference/api.md)`,
    { members: { ...members, recordType: name } },
  )
}

function requireNotarizable(type: RecordType, members: Members): RecordType {
  if (!type.gated) return type
  throw new ApiError(
    'not_notarizable',
    `${type.name} is gated: create its records one by one with POST /v1/records`,
    { members: { ...members, recordType: type.name } },
  )
}

/**
 * Throws `payload_invalid` if the payload does not match its type. Returns a promise if the validation must wait for
 * the ledger's share of CPU time. Returns nothing if the type accepts any object.
 */
export function verifyPayload(
  deps: TypeDeps,
  ledger: TypeLedger,
  type: RecordType,
  payload: Document,
  members: Members = {},
): void | Promise<void> {
  return verifyDocument(
    deps,
    ledger,
    { type, code: 'payload_invalid', schema: type.payload },
    payload,
    members,
  )
}

/**
 * Validates a payload while a batch is built, by the same rules as verifyPayload. The time does not count for the
 * ledger's share, because built-in schemas need little time for each byte.
 */
export function verifyBuiltIn(
  type: RecordType,
  { value, bytes }: { readonly value: unknown; readonly bytes: Uint8Array },
  members: Members,
): void {
  if (type.payload === null) return
  const found = type.payload.validate(value as JsonValue, bytes.length)
  if (found.outcome === 'invalid') throw invalid({ type, code: 'payload_invalid' }, found, members)
  if (found.outcome !== 'valid')
    throw new Error(`the schema of ${type.name} must be cheap for every document`)
}

/** Throws `evidence_invalid` if the evidence does not match its type. Works like verifyPayload. */
export function verifyEvidence(
  deps: TypeDeps,
  ledger: TypeLedger,
  type: RecordType,
  evidence: Document,
): void | Promise<void> {
  return verifyDocument(deps, ledger, { type, code: 'evidence_invalid', schema: type.evidence }, evidence)
}

/** A document. Read `value` only if there is a schema, because reading `value` may parse a large document. */
type Document = { readonly value: unknown; readonly canonical: string }
type JsonDocument = Document & { readonly value: JsonValue }
type Expected = {
  readonly type: RecordType
  readonly code: 'payload_invalid' | 'evidence_invalid'
  readonly schema: Schema | null
}

function verifyDocument(
  deps: TypeDeps,
  ledger: TypeLedger,
  expected: Expected,
  document: Document,
  members: Members = {},
): void | Promise<void> {
  if (expected.schema === null) return
  const found = deps.types.validate(ledger, expected.schema, document as JsonDocument, members)
  if (found instanceof Promise) return found.then((late) => refuseInvalid(expected, late, members))
  refuseInvalid(expected, found, members)
}

function refuseInvalid(expected: Expected, found: Validity, members: Members): void {
  if (found.outcome === 'invalid') throw invalid(expected, found, members)
}

/**
 * Returns the error for an invalid document. The error contains no value of the document, because errors are logged,
 * and logs must not contain the content of documents.
 */
function invalid(
  { type, code }: Pick<Expected, 'type' | 'code'>,
  { message, path }: Extract<Validity, { outcome: 'invalid' }>,
  members: Members,
): ApiError {
  return new ApiError(code, `${type.name}: ${message}`, { members: { ...members, path } })
}
