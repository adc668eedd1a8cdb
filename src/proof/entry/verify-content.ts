import { fromBase64, toHex, utf8Encode } from '../bytes.ts'
import type { Sha256, SignatureAlgorithm } from '../crypto.ts'
import type { ParsedEnvelope } from '../envelope/envelope-layout.ts'
import { ProofError } from '../error.ts'
import { canonicalize } from '../json/jcs.ts'
import type { JsonObject } from '../json/json-value.ts'
import { keyThumbprint, parsePublicKey } from '../keys.ts'
import type { ParsedStatement } from '../statement/statement.ts'

/**
 * Verifies an envelope against its statement, whoever signed them. Throws `claims_contradict_statement`, `definition_mismatch`,
 * `kid_mismatch`.
 */
export function verifyContent(sha256: Sha256, envelope: ParsedEnvelope, statement: ParsedStatement): void {
  verifyClaims(envelope, statement)
  verifyDefinition(sha256, statement)
  verifyKids(sha256, statement)
}

/** Others index envelopes by their claims: these must not say something else than the statement below them. */
function verifyClaims(envelope: ParsedEnvelope, statement: ParsedStatement): void {
  const { name } = statement.subjects[0]
  if (envelope.subject !== name) {
    throw new ProofError(
      'claims_contradict_statement',
      `subject ${envelope.subject}, in the statement ${name}`,
    )
  }
  const seconds = Math.floor(statement.recordedAtMs / 1000)
  if (envelope.issuedAtSeconds !== seconds) {
    throw new ProofError(
      'claims_contradict_statement',
      `issued at ${envelope.issuedAtSeconds}, recorded at ${seconds}`,
    )
  }
}

/** Definition that the predicate holds whole, if the subject's digest is of one: H(JCS(…)), without salt. */
function definitionOf(statement: ParsedStatement): JsonObject | null {
  const { kind, predicate, subjects } = statement
  switch (kind) {
    case 'ledger-created':
      return predicate['definition'] as JsonObject
    case 'agent-registered':
    case 'agent-disabled':
      return { agent: predicate['agent']!, name: predicate['name']! }
    case 'key-created':
    case 'key-revoked': {
      const { agent, scopes, expiresAt } = predicate
      return { key: subjects[0].name, agent: agent!, scopes: scopes!, expiresAt: expiresAt! }
    }
    case 'peer-added': {
      const { tokenHash, inviter, invited } = predicate
      return { peer: subjects[0].name, tokenHash: tokenHash!, inviter: inviter!, invited: invited! }
    }
    default:
      return null
  }
}

function verifyDefinition(sha256: Sha256, statement: ParsedStatement): void {
  const definition = definitionOf(statement)
  if (!definition) return
  const digest = toHex(sha256(utf8Encode(canonicalize(definition))))
  const { name, sha256: signed } = statement.subjects[0]
  if (digest !== signed)
    throw new ProofError('definition_mismatch', `${name} has the digest ${digest}, signed is ${signed}`)
}

/** A kid that were not its key's thumbprint could stand for a second key later. */
function verifyKids(sha256: Sha256, statement: ParsedStatement): void {
  for (const { kid, alg, spki } of keysOf(statement)) {
    const thumbprint = toHex(keyThumbprint(sha256, parsePublicKey(alg, fromBase64(spki))))
    if (thumbprint !== kid)
      throw new ProofError('kid_mismatch', `the key's thumbprint is ${thumbprint}, not ${kid}`)
  }
}

type EnvelopeKey = { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }

/** The envelope keys that a statement names. */
function keysOf({ kind, predicate }: ParsedStatement): readonly EnvelopeKey[] {
  const keyOf = (holder: unknown) => (holder as { envelopeKey: EnvelopeKey }).envelopeKey
  switch (kind) {
    case 'ledger-created':
      return [keyOf(predicate['definition'])]
    case 'peer-added':
      return [keyOf(predicate['inviter']), keyOf(predicate['invited'])]
    case 'server-key-rotated':
    case 'agent-key-registered':
    case 'peer-key-rotated':
      return [predicate['newKey'] as EnvelopeKey]
    default:
      return NO_KEYS
  }
}

const NO_KEYS: readonly EnvelopeKey[] = []
