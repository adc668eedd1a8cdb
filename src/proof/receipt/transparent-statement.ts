import type { ProofProviders } from '../crypto.ts'
import { type IssuerKey, verifyIssuer } from '../scitt/registration-policy.ts'
import { parseRegisteredStatement, type SignedStatement } from '../scitt/signed-statement.ts'
import { detachReceipt } from './receipt.ts'
import { type VerifiedPosition, verifyReceiptOf } from './verify-receipt.ts'

export type StatementTrust = {
  /** Note verifier key of the ledger. Only this key proves that a receipt is from that ledger. */
  readonly noteKey: string
  /** Key that must have signed the statement. null if the caller trusts that the ledger verified the signature. */
  readonly issuerKey: Pick<IssuerKey, 'alg' | 'spki'> | null
}

export type VerifiedTransparentStatement = VerifiedPosition & { readonly statement: SignedStatement }

/**
 * Verifies a Transparent Statement (RFC 9943 §7): a statement by another issuer, with a ledger's receipt in its header.
 * Returns the statement's position in the ledger of the note key. Throws ProofError.
 *
 * This function does not show that the ledger's policy accepted the statement. The next entry, which registers the
 * statement, and an audit show this.
 */
export function verifyTransparentStatement(
  file: Uint8Array,
  { noteKey, issuerKey }: StatementTrust,
  providers: ProofProviders,
): VerifiedTransparentStatement {
  const { envelope, receipt } = detachReceipt(file)
  const position = verifyReceiptOf(envelope, receipt, noteKey, providers)
  const statement = parseRegisteredStatement(envelope)
  if (issuerKey !== null) verifyIssuer(statement, issuerKey, providers)
  return { ...position, statement }
}
