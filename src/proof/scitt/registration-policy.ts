import { fromBase64 } from '../bytes.ts'
import type { ProofProviders, SignatureAlgorithm } from '../crypto.ts'
import { toBeSigned } from '../envelope/cose.ts'
import { ProofError } from '../error.ts'
import { parsePublicKey } from '../keys.ts'
import { lowS } from '../p256-low-s.ts'
import type { SignedStatement } from './signed-statement.ts'

/** Content of a `registration-policy-set` entry: the statements that the ledger registers. */
export type RegistrationPolicy = {
  readonly issuers: readonly {
    /** The issuer that its statements name in claim 1. */
    readonly issuer: string
    readonly keys: readonly IssuerKey[]
  }[]
  /** If it is absent, all content types are accepted. */
  readonly contentTypes?: readonly string[]
}

/**
 * A key of an issuer. `kid`: as in the issuer's statements, lower-case hex. `spki`: DER SubjectPublicKeyInfo in
 * base64.
 */
export type IssuerKey = { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }

/**
 * Verifies that the policy accepts the statement and that one of the issuer's keys signed it. Throws
 * `policy_refused`, `key_unknown`, `algorithm_mismatch`, `signature_invalid`.
 */
export function verifyRegistration(
  statement: SignedStatement,
  policy: RegistrationPolicy,
  providers: ProofProviders,
): void {
  const { issuer, kid, contentType } = statement
  const known = policy.issuers.find((one) => one.issuer === issuer)
  if (!known) throw new ProofError('policy_refused', `the issuer ${issuer} is not in the registration policy`)
  if (policy.contentTypes && !policy.contentTypes.includes(contentType))
    throw new ProofError(
      'policy_refused',
      `the content type ${contentType} is not in the registration policy`,
    )
  const key = known.keys.find((one) => one.kid === kid)
  if (!key) throw new ProofError('key_unknown', `${issuer} has no key ${kid} in the registration policy`)
  verifyIssuer(statement, key, providers)
}

/** Verifies that the key made the statement's signature. Throws `algorithm_mismatch`, `signature_invalid`. */
export function verifyIssuer(
  { alg, issuer, protectedBytes, payload, signature }: SignedStatement,
  key: Pick<IssuerKey, 'alg' | 'spki'>,
  { verifySignature }: ProofProviders,
): void {
  if (alg !== key.alg)
    throw new ProofError('algorithm_mismatch', `${alg} cannot be used with an ${key.alg} key`)
  // Other signers may use the higher s. Both forms are valid signatures of the same statement, but give different
  // leaves.
  const signed = alg === 'ES256' ? lowS(signature) : signature
  const message = toBeSigned(protectedBytes, payload)
  if (verifySignature(parsePublicKey(alg, fromBase64(key.spki)), message, signed)) return
  throw new ProofError('signature_invalid', `not signed by the key of ${issuer}, or changed after signing`)
}
