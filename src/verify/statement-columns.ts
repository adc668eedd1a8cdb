import { compare, compareRows } from '../db/evidence/compare.ts'
import { contradiction } from '../db/evidence/contradiction.ts'
import type { StatementColumns } from '../db/evidence/statements.ts'
import type { EntryColumns } from '../db/evidence/tables.ts'
import { toHex } from '../proof/bytes.ts'
import type { EntryStep } from '../proof/entry/entry-step.ts'

/**
 * Verifies the rows of a registered statement: its own row, and the row that searches use.
 *
 * Id, author and time must equal those of the next entry. The next entry's own row is compared with its statement.
 * Throws `columns_contradict_entries`.
 */
export function verifyStatementColumns({ leaf, registered }: EntryStep, columns: EntryColumns): void {
  const { registration, subjectId, actorId, keyId, recordedAtUs, statements, hasSigner, ...others } = columns
  compare('entries', 'kind of the entry after a statement', registration, [
    'statement-registered',
    subjectId,
    actorId,
    keyId,
    recordedAtUs,
  ])
  const { issuer, subject, contentType, kid } = registered!
  const row: StatementColumns = {
    statementId: subjectId!,
    leaf: toHex(leaf),
    issuer,
    subject,
    contentType,
    kid,
  }
  compareRows('statements', statements, [row])
  if (hasSigner) throw contradiction('signer_kid: a registered statement has none')
  for (const [name, value] of Object.entries(others)) {
    if (Array.isArray(value) ? value.length > 0 : value !== null)
      throw contradiction(`${name}: a registered statement has none`)
  }
}
