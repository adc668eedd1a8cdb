import { fromBase64 } from '../bytes.ts'
import type { ProofProviders, SignatureAlgorithm } from '../crypto.ts'
import { toBeSigned } from '../envelope/cose.ts'
import { ProofError } from '../error.ts'
import { parsePublicKey } from '../keys.ts'
import { lowS } from '../p256-low-s.ts'
import type { SignedStatement } from './signed-statement.ts'

/** Content of a `registration-policy-set` entry. It says which statements the ledger registers. */
export type RegistrationPolicy = {
  readonly issuers: readonly {
    /** Name of the issuer, as its statements state it in claim 1. */
    readonly issuer: string
    readonly keys: readonly IssuerKey[]
  }[]
  /** Accepted content types. If absent, all content types are accepted. */
  readonly contentTypes?: readonly string[]
}

/**
 * A key of an issuer. `kid`: the issuer's name for the key in its statements, in lower-case hex. `spki`: DER
 * SubjectPublicKeyInfo in base64.
 */
export type IssuerKey = { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }

/**
 * Verifies that the policy accepts the statement, and that one of the issuer's keys signed it. Throws `policy_refused`,
 * `key_unknown`, `algorithm_mismatch` or `signature_invalid`.
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

/** Verifies that the key made the statement's signature. Throws `algorithm_mismatch` or `signature_invalid`. */
export function verifyIssuer(
  { alg, issuer, protectedBytes, payload, signature }: SignedStatement,
  key: Pick<IssuerKey, 'alg' | 'spki'>,
  { verifySignature }: ProofProviders,
): void {
  if (alg !== key.alg)
    throw new ProofError('algorithm_mismatch', `${alg} cannot be used with an ${key.alg} key`)
  // ECDSA has two valid values of s for each signature. An issuer may use the higher s, but our verifiers accept only
  // the lower s.
  const signed = alg === 'ES256' ? lowS(signature) : signature
  const message = toBeSigned(protectedBytes, payload)
  if (verifySignature(parsePublicKey(alg, fromBase64(key.spki)), message, signed)) return
  throw new ProofError(
    'signature_invalid',
    `the statement was not signed by the key of ${issuer}, or was changed after signing`,
  )
}
