import { compare, compareRows } from '../db/evidence/compare.ts'
import { contradiction } from '../db/evidence/contradiction.ts'
import type { StatementColumns } from '../db/evidence/statements.ts'
import type { EntryColumns } from '../db/evidence/tables.ts'
import { toHex } from '../proof/bytes.ts'
import type { EntryStep } from '../proof/entry/entry-step.ts'

/**
 * Verifies the rows of a registered statement: its own row, and the row that searches use. Throws
 * `columns_contradict_entries`.
 *
 * Id, author and time of the statement are columns that its envelope does not contain. They must equal those of the
 * next entry, which registers the statement. The columns of the next entry are verified like those of every entry.
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
