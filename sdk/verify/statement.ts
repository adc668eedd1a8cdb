import { toHex } from '../../src/proof/bytes.ts'
import { verifyTransparentStatement } from '../../src/proof/receipt/transparent-statement.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'
import { refusing } from './errors.ts'
import { chooseEngine } from './providers.ts'

/** Trusted values from other sources than the statement. */
export type StatementOptions = {
  /** `noteVerifierKey` of `GET /v1/ledger`, stored earlier. It binds the receipt to that ledger. */
  readonly noteKey: string
  /** The issuer's key: DER SubjectPublicKeyInfo in base64. If absent, the issuer's signature is not checked. */
  readonly issuerKey?: { readonly alg: 'EdDSA' | 'ES256'; readonly spki: string } | undefined
}

export type StatementReport = {
  readonly issuer: string
  readonly subject: string
  readonly contentType: string
  /** Thumbprint of the issuer's key in hex. `leaf` and `root` are also in hex. */
  readonly kid: string
  readonly payload: Uint8Array
  readonly leaf: string
  /** Position of the statement in the ledger. */
  readonly seq: number
  /** `size` and `root` describe the tree that the note key signed. A checkpoint of this size has the same root. */
  readonly size: number
  readonly root: string
  readonly issuerKey: 'given' | 'not given'
}

/**
 * Verifies a Transparent Statement, from `statements.receipt` or from any SCITT client of the ledger. Its receipt
 * proves that the statement is in the ledger of the note key. Only `issuerKey` proves who signed the statement. Throws
 * VerificationError if the verification fails.
 */
export async function statement(
  file: Bytes,
  { noteKey, issuerKey }: StatementOptions,
): Promise<StatementReport> {
  const bytes = requireBytes(file, 'a Transparent Statement')
  if (typeof noteKey !== 'string')
    throw new UsageError(
      'the option `noteKey` must be the verifier key of a ledger, which is noteVerifierKey of GET /v1/ledger',
    )
  return refusing(() =>
    chooseEngine().run((providers) => {
      const trust = { noteKey, issuerKey: issuerKey ?? null }
      const found = verifyTransparentStatement(bytes, trust, providers)
      const { issuer, subject, contentType, kid, payload } = found.statement
      const { leaf, seq, size, root } = found
      return {
        ...{ issuer, subject, contentType, kid, payload, seq, size },
        leaf: toHex(leaf),
        root: toHex(root),
        issuerKey: issuerKey ? ('given' as const) : ('not given' as const),
      }
    }),
  )
}
