import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'
import type { Db } from '../connect/client.ts'

/**
 * A registered statement with its entry. `registeredAt` comes from the clock of the server that accepted the statement.
 */
export type StatementRow = {
  readonly statementId: Uuid
  readonly seq: number
  readonly leaf: Buffer
  readonly issuer: string
  readonly subject: string
  readonly contentType: string
  readonly kid: Buffer
  readonly actorId: Uuid
  readonly registeredAt: Date
}

const SELECT = `select s.statement_id, s.seq, s.leaf, s.issuer, s.subject, s.content_type, s.kid, e.actor_id, e.recorded_at as registered_at
  from tallystick.statements s join tallystick.entries e on e.ledger_id = s.ledger_id and e.seq = s.seq
  where s.ledger_id = $1`

/** Finds a statement by its id or its leaf (32 bytes). */
export async function findStatement(
  pool: Db,
  ledgerId: Uuid,
  by: { readonly id: Uuid } | { readonly leaf: Uint8Array },
): Promise<StatementRow | null> {
  const [column, value] = 'id' in by ? ['statement_id', by.id] : ['leaf', by.leaf]
  const { rows } = await pool.query<StatementRow>({
    name: `find_statement_by_${column}`,
    text: `${SELECT} and s.${column} = $2`,
    values: [ledgerId, value],
  })
  return rows[0] ?? null
}

/**
 * Lists statements, newest first. A filter that is null matches all statements. If `before` is not null, lists only
 * statements with a smaller seq.
 */
export async function listStatements(
  pool: Db,
  ledgerId: Uuid,
  page: {
    readonly issuer: string | null
    readonly subject: string | null
    readonly before: number | null
    readonly limit: number
  },
): Promise<StatementRow[]> {
  const { issuer, subject, before, limit } = page
  const filters = Object.entries({ 's.issuer =': issuer, 's.subject =': subject, 's.seq <': before })
  const wanted = filters.filter(([, value]) => value !== null)
  const { rows } = await pool.query<StatementRow>({
    text: `${SELECT} ${wanted.map(([left], i) => `and ${left} $${i + 3}`).join(' ')} order by s.seq desc limit $2`,
    values: [ledgerId, limit, ...wanted.map(([, value]) => value)],
  })
  return rows
}

/** Returns the entry that set the ledger's newest registration policy, or null if the ledger has no policy. */
export async function findPolicyEntry(
  pool: Db,
  ledgerId: Uuid,
): Promise<(SignedLine & { readonly seq: number }) | null> {
  const { rows } = await pool.query<SignedColumns & { seq: number }>({
    name: 'find_policy_entry',
    text: `select seq, kind, recorded_at, leaf, envelope from tallystick.entries
      where ledger_id = $1 and kind = 'registration-policy-set' order by seq desc limit 1`,
    values: [ledgerId],
  })
  return rows[0] ? { ...toSignedLine(rows[0]), seq: rows[0].seq } : null
}
