import { fromBase64, toHex, utf8Encode } from '../bytes.ts'
import type { Sha256, SignatureAlgorithm } from '../crypto.ts'
import type { ParsedEnvelope } from '../envelope/envelope-layout.ts'
import { ProofError } from '../error.ts'
import { canonicalize } from '../json/jcs.ts'
import type { JsonObject } from '../json/json-value.ts'
import { keyThumbprint, parsePublicKey } from '../keys.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'

/** Claims in an envelope's header. They repeat members of the statement in the envelope. */
type Claims = Pick<ParsedEnvelope, 'subject' | 'issuedAtSeconds'>

/**
 * Verifies that an envelope and its statement agree. Does not verify the signature. Throws
 * `claims_contradict_statement`, `definition_mismatch` or `kid_mismatch`.
 */
export function verifyContent(sha256: Sha256, envelope: Claims, statement: ParsedStatement): void {
  verifyClaims(envelope, statement)
  verifyDefinition(sha256, statement)
  verifyKids(sha256, statement)
}

/** Verifies that the claims agree with the statement, because other software indexes envelopes by their claims. */
function verifyClaims(envelope: Claims, statement: ParsedStatement): void {
  const { name } = statement.subjects[0]
  if (envelope.subject !== name) {
    throw new ProofError(
      'claims_contradict_statement',
      `the subject is ${envelope.subject} in the envelope’s claims, but ${name} in the statement`,
    )
  }
  const seconds = Math.floor(statement.recordedAtMs / 1000)
  if (envelope.issuedAtSeconds !== seconds) {
    throw new ProofError(
      'claims_contradict_statement',
      `the envelope was issued at second ${envelope.issuedAtSeconds}, but the statement was recorded at second ${seconds}`,
    )
  }
}

/**
 * Returns the definition in the predicate if entries of this kind sign the digest of a definition, H(JCS(…)) without
 * salt. Otherwise returns null.
 */
function definitionOf({ kind, predicate, subjects }: ParsedStatement): JsonObject | null {
  const { defines } = ENTRY_KINDS[kind]
  if (!defines) return null
  if ('member' in defines) return predicate[defines.member] as JsonObject
  const { named, members } = defines
  const definition = Object.fromEntries(members.map((name) => [name, predicate[name]!]))
  return named === undefined ? definition : { [named]: subjects[0].name, ...definition }
}

function verifyDefinition(sha256: Sha256, statement: ParsedStatement): void {
  const definition = definitionOf(statement)
  if (!definition) return
  const digest = toHex(sha256(utf8Encode(canonicalize(definition))))
  const { name, sha256: signed } = statement.subjects[0]
  if (digest !== signed)
    throw new ProofError('definition_mismatch', `${name} has the digest ${digest}, but ${signed} was signed`)
}

/**
 * Verifies that each kid is the thumbprint of its key. Otherwise somebody could use the same kid for a second key
 * later.
 */
function verifyKids(sha256: Sha256, statement: ParsedStatement): void {
  for (const { kid, alg, spki } of keysOf(statement)) {
    const thumbprint = toHex(keyThumbprint(sha256, parsePublicKey(alg, fromBase64(spki))))
    if (thumbprint !== kid)
      throw new ProofError('kid_mismatch', `the key's thumbprint is ${thumbprint}, not ${kid}`)
  }
}

type NamedKey = { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }

function keysOf({ kind, predicate }: ParsedStatement): readonly NamedKey[] {
  const { gives } = ENTRY_KINDS[kind]
  return gives ? gives.map(({ at }) => memberAt(predicate, at) as NamedKey) : NO_KEYS
}

function memberAt(predicate: JsonObject, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as JsonObject)[name], predicate)
}

const NO_KEYS: readonly NamedKey[] = []
