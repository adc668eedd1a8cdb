import { signedTable } from './table.ts'

/** Columns by which searches find a registered statement of another party. */
export type StatementColumns = {
  readonly statementId: string
  readonly leaf: string
  readonly issuer: string
  readonly subject: string
  readonly contentType: string
  readonly kid: string
}

/**
 * Evidence of the table `statements`. It expects no rows, because this ledger signs no statement with these columns.
 * src/verify/statement-columns.ts compares the rows instead.
 */
export const STATEMENTS = signedTable<StatementColumns>(
  'statements',
  `select seq, statement_id, encode(leaf, 'hex') as leaf, issuer, subject, content_type, encode(kid, 'hex') as kid
   from tallystick.statements where ledger_id = $1 order by seq`,
  () => [],
)
