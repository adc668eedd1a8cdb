import { type FindKey, type SignedLine, verifySignedEntry } from '../proof/entry/verify-entry.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { nativeProviders } from '../signing/native.ts'

/**
 * Two values that come from the ledger's definition. Entries about the ledger itself repeat them. `digest`: digest of
 * the definition, in lower-case hex.
 */
export type LedgerDefinition = { readonly digest: string; readonly issuer: string }

/**
 * Reads the definition from the ledger's first entry. Verifies this entry, because otherwise a database login that can
 * write to a table could make the server sign anything about the ledger. Throws ProofError.
 */
export function readDefinition(ledgerId: Uuid, first: SignedLine | null, findKey: FindKey): LedgerDefinition {
  if (!first) throw new ProofError('ledger_created_misplaced', 'the ledger has no first entry')
  const { statement } = verifySignedEntry(first, findKey, nativeProviders)
  if (statement.kind !== 'ledger-created')
    throw new ProofError(
      'ledger_created_misplaced',
      `seq 0 is ${statement.kind}: ledger-created must be the first entry`,
    )
  const ledger = formatId('led', ledgerId)
  if (statement.ledger !== ledger)
    throw new ProofError('ledger_foreign', `the first entry of ${ledger} belongs to ${statement.ledger}`)
  const { issuer } = statement.predicate['definition'] as { issuer: string }
  return { digest: statement.subjects[0].sha256, issuer }
}
