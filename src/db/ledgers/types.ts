import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

export type TypeRow = {
  /** Name of the type with its version: `name/version`. */
  readonly name: string
  readonly gated: boolean
  /** Definition as canonical JSON. */
  readonly definition: string
  readonly digest: string
  readonly registeredAt: string
  readonly entry: {
    readonly seq: number
    readonly kind: 'type-registered'
    readonly leaf: string
    readonly chain: string
  }
}

type Columns = {
  name: string
  gated: boolean
  definition: Buffer
  digest: Buffer
  seq: number
  recordedAt: Date
  leaf: Buffer
  chain: Buffer
}

export async function findType(pool: Db, ledgerId: Uuid, name: string): Promise<TypeRow | null> {
  const { rows } = await pool.query<Columns>({
    name: 'find_type',
    text: `select t.name, t.gated, t.definition, t.digest, e.seq, e.recorded_at, e.leaf, e.chain
      from tallystick.types t
      join tallystick.entries e on e.ledger_id = t.ledger_id and e.seq = t.registered_seq
      where t.ledger_id = $1 and t.name = $2`,
    values: [ledgerId, name],
  })
  const [row] = rows
  if (!row) return null
  return {
    name: row.name,
    gated: row.gated,
    definition: row.definition.toString('utf8'),
    digest: row.digest.toString('hex'),
    registeredAt: row.recordedAt.toISOString(),
    entry: {
      seq: row.seq,
      kind: 'type-registered',
      leaf: row.leaf.toString('hex'),
      chain: row.chain.toString('hex'),
    },
  }
}

/**
 * Returns the definition of the type that the entry at `seq` registered, as canonical JSON. Returns null if the entry
 * registered no type.
 */
export async function findDefinition(db: Db, ledgerId: Uuid, seq: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ definition: Buffer }>(
    'select definition from tallystick.types where ledger_id = $1 and registered_seq = $2',
    [ledgerId, seq],
  )
  return rows[0]?.definition ?? null
}

export type TypeSummaryRow = {
  readonly name: string
  readonly gated: boolean
  readonly digest: string
  readonly registeredAt: string
}

/**
 * Lists types in ASCII order of their names. Begins after the type `after`. If `name` is not null, lists only the
 * versions of the type with this name.
 */
export async function listTypes(
  pool: Db,
  ledgerId: Uuid,
  { name, after, limit }: { name: string | null; after: string | null; limit: number },
): Promise<TypeSummaryRow[]> {
  const { rows } = await pool.query<Omit<Columns, 'definition' | 'seq' | 'leaf' | 'chain'>>({
    // '0' comes after '/' in ASCII, so this range contains all names that begin with the name and '/'.
    text: `select t.name, t.gated, t.digest, e.recorded_at
      from tallystick.types t
      join tallystick.entries e on e.ledger_id = t.ledger_id and e.seq = t.registered_seq
      where t.ledger_id = $1 and t.name collate "C" > $2
        and ($3::text is null or (t.name collate "C" > $3 || '/' and t.name collate "C" < $3 || '0'))
      order by t.name collate "C" limit $4`,
    values: [ledgerId, after ?? '', name, limit],
  })
  return rows.map((row) => ({
    name: row.name,
    gated: row.gated,
    digest: row.digest.toString('hex'),
    registeredAt: row.recordedAt.toISOString(),
  }))
}
