import { signedTable } from './table.ts'

/** Row by which searches find a registered statement. */
export type StatementColumns = {
  readonly statementId: string
  readonly leaf: string
  readonly issuer: string
  readonly subject: string
  readonly contentType: string
  readonly kid: string
}

/**
 * Rows of statements by other parties. No statement of the ledger signs one by itself
 * (src/verify/statement-columns.ts).
 */
export const STATEMENTS = signedTable<StatementColumns>(
  'statements',
  `select seq, statement_id, encode(leaf, 'hex') as leaf, issuer, subject, content_type, encode(kid, 'hex') as kid
   from tallystick.statements where ledger_id = $1 order by seq`,
  () => [],
)
