import { toHex } from '../../src/proof/bytes.ts'
import { verifyTransparentStatement } from '../../src/proof/receipt/transparent-statement.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'
import { refusing } from './errors.ts'
import { chooseEngine } from './providers.ts'

/** Knowledge from elsewhere. */
export type StatementOptions = {
  /** `noteVerifierKey` of `GET /v1/ledger`, kept from before: with it the receipt is one of that ledger. */
  readonly noteKey: string
  /** The issuer's own key, DER SubjectPublicKeyInfo in base64. Absent: its signature is not looked at. */
  readonly issuerKey?: { readonly alg: 'EdDSA' | 'ES256'; readonly spki: string } | undefined
}

export type StatementReport = {
  readonly issuer: string
  readonly subject: string
  readonly contentType: string
  /** Hex, as `leaf` and `root`. */
  readonly kid: string
  readonly payload: Uint8Array
  readonly leaf: string
  /** Its place in the ledger. */
  readonly seq: number
  /** Size and root of the tree that the note key signed: those of a checkpoint. */
  readonly size: number
  readonly root: string
  readonly issuerKey: 'given' | 'not given'
}

/**
 * Verifies a Transparent Statement: an answer of `statements.receipt`, or of any SCITT client of the ledger. The statement is in the ledger of the note key. `issuerKey` alone
 * says who signed it.
 */
export async function statement(
  file: Bytes,
  { noteKey, issuerKey }: StatementOptions,
): Promise<StatementReport> {
  const bytes = requireBytes(file, 'a Transparent Statement')
  if (typeof noteKey !== 'string') throw new UsageError('noteKey is noteVerifierKey of GET /v1/ledger')
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
