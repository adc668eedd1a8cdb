import type { ProofProviders } from '../crypto.ts'
import { type IssuerKey, verifyIssuer } from '../scitt/registration-policy.ts'
import { parseRegisteredStatement, type SignedStatement } from '../scitt/signed-statement.ts'
import { detachReceipt } from './receipt.ts'
import { type VerifiedPosition, verifyReceiptOf } from './verify-receipt.ts'

export type StatementTrust = {
  /** The ledger's note verifier key. It alone proves that a receipt is from that ledger. */
  readonly noteKey: string
  /** The key that must have signed the statement. null: the caller trusts that the ledger verified the signature. */
  readonly issuerKey: Pick<IssuerKey, 'alg' | 'spki'> | null
}

export type VerifiedTransparentStatement = VerifiedPosition & { readonly statement: SignedStatement }

/**
 * Verifies a Transparent Statement (RFC 9943 §7): another issuer's statement, with a ledger's receipt in its header.
 * Returns its position in the ledger of the note key. Throws ProofError. That the ledger's policy accepted it is
 * shown by the entry behind it and by an audit.
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
