import type { ProofProviders } from '../crypto.ts'
import { type IssuerKey, verifyIssuer } from '../scitt/registration-policy.ts'
import { parseRegisteredStatement, type SignedStatement } from '../scitt/signed-statement.ts'
import { detachReceipt } from './receipt.ts'
import { type VerifiedPlace, verifyReceiptOf } from './verify-receipt.ts'

/** Knowledge of the verifier from elsewhere. */
export type StatementTrust = {
  /** The ledger's note verifier key, which alone makes a receipt one of that ledger. */
  readonly noteKey: string
  /** The key that must have signed the statement. null: the ledger is believed that it has looked at that. */
  readonly issuerKey: Pick<IssuerKey, 'alg' | 'spki'> | null
}

export type VerifiedTransparentStatement = VerifiedPlace & { readonly statement: SignedStatement }

/**
 * Verifies a Transparent Statement (RFC 9943 §7): the statement of somebody else, with the receipt of a ledger in its header, is in the ledger of the note key, at that
 * place of a tree of that size. Throws ProofError. The entry behind it, and
 * an audit, say that the ledger's policy took it.
 */
export function verifyTransparentStatement(
  file: Uint8Array,
  { noteKey, issuerKey }: StatementTrust,
  providers: ProofProviders,
): VerifiedTransparentStatement {
  const { envelope, receipt } = detachReceipt(file)
  const place = verifyReceiptOf(envelope, receipt, noteKey, providers)
  const statement = parseRegisteredStatement(envelope)
  if (issuerKey !== null) verifyIssuer(statement, issuerKey, providers)
  return { ...place, statement }
}
