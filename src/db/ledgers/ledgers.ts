import type pg from 'pg'
import type { PublicKey } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import { parsePublicKey } from '../../proof/keys.ts'
import type { Db } from '../connect/client.ts'
import { type RateLimit, toRateLimit } from './rate-limits.ts'

type LedgerRow = {
  readonly name: string
  readonly issuer: string
  readonly origin: string
  readonly noteKey: PublicKey
}

/** Returns the definition of the ledger. Throws if the ledger does not exist. */
export async function getLedger(db: Db, ledgerId: Uuid): Promise<LedgerRow> {
  const { rows } = await db.query<{ name: string; issuer: string; origin: string; spki: Buffer }>(
    `select l.name, l.issuer, l.origin, k.spki
     from tallystick.ledgers l join tallystick.server_keys k on k.kid = l.note_kid
     where l.ledger_id = $1`,
    [ledgerId],
  )
  const row = rows[0]
  if (!row) throw new Error('there is no such ledger')
  return {
    name: row.name,
    issuer: row.issuer,
    origin: row.origin,
    noteKey: parsePublicKey('EdDSA', row.spki),
  }
}

export type LedgerSummaryRow = {
  readonly ledgerId: Uuid
  readonly name: string
  readonly issuer: string
  readonly origin: string
  readonly size: number
  /** Reason why the ledger accepts no entries. null if it accepts entries. */
  readonly closed: 'frozen' | 'restored' | 'moving' | 'moved' | null
  readonly rateLimit: RateLimit | null
  /** Who may read the tiles. `key`: callers with a key of the ledger. `public`: anybody. */
  readonly tiles: 'key' | 'public'
  /**
   * The open fault. With a fault, the ledger gets no checkpoints until an operator clears the fault. null if there is
   * no open fault.
   */
  readonly fault: { readonly seq: number | null; readonly code: string; readonly foundAt: string } | null
}

type SummaryColumns = {
  ledgerId: Uuid
  name: string
  issuer: string
  origin: string
  size: number
  closed: 'frozen' | 'restored' | 'moving' | 'moved' | null
  rateLimitPerSecond: number | null
  rateLimitBurst: number | null
  tilesPublic: boolean
  faultSeq: number | null
  faultCode: string | null
  faultFoundAt: Date | null
}

const SELECT_SUMMARIES = `select l.ledger_id, l.name, l.issuer, l.origin, h.size, h.closed, l.tiles_public, l.rate_limit_per_second,
    l.rate_limit_burst, f.seq as fault_seq, f.code as fault_code, f.found_at as fault_found_at
  from tallystick.ledgers l join tallystick.chain_heads h on h.ledger_id = l.ledger_id
  left join tallystick.ledger_faults f on f.ledger_id = l.ledger_id and f.cleared_at is null`

export async function findLedgerSummary(pool: pg.Pool, ledgerId: Uuid): Promise<LedgerSummaryRow | null> {
  const { rows } = await pool.query<SummaryColumns>({
    name: 'find_ledger_summary',
    text: `${SELECT_SUMMARIES} where l.ledger_id = $1`,
    values: [ledgerId],
  })
  return rows[0] ? toSummary(rows[0]) : null
}

/** Lists ledgers in the order of their ids. Begins after the ledger `after`. */
export async function listLedgerSummaries(
  pool: pg.Pool,
  page: { after: Uuid | null; limit: number },
): Promise<LedgerSummaryRow[]> {
  const { rows } = await pool.query<SummaryColumns>({
    name: 'list_ledger_summaries',
    text: `${SELECT_SUMMARIES} where $1::uuid is null or l.ledger_id > $1 order by l.ledger_id limit $2`,
    values: [page.after, page.limit],
  })
  return rows.map(toSummary)
}

/**
 * Freezes or unfreezes a ledger. Returns false if nothing changed. This is the case if the ledger was already in that
 * state, is closed for another reason, or does not exist.
 */
export async function setLedgerFrozen(pool: pg.Pool, ledgerId: Uuid, frozen: boolean): Promise<boolean> {
  const { rows } = await pool.query<{ changed: boolean }>(
    'select tallystick.set_ledger_frozen($1, $2) as changed',
    [ledgerId, frozen],
  )
  return rows[0]!.changed
}

function toSummary(row: SummaryColumns): LedgerSummaryRow {
  return {
    ledgerId: row.ledgerId,
    name: row.name,
    issuer: row.issuer,
    origin: row.origin,
    size: row.size,
    closed: row.closed,
    rateLimit: toRateLimit(row.rateLimitPerSecond, row.rateLimitBurst),
    tiles: row.tilesPublic ? 'public' : 'key',
    fault: row.faultCode === null ? null : toFault(row.faultCode, row),
  }
}

function toFault(code: string, row: SummaryColumns): LedgerSummaryRow['fault'] {
  const seq = row.faultSeq
  return { seq, code, foundAt: row.faultFoundAt!.toISOString() }
}

export async function listPublicLedgers(pool: pg.Pool): Promise<ReadonlySet<Uuid>> {
  const { rows } = await pool.query<{ ledgerId: Uuid }>({
    name: 'list_public_ledgers',
    text: 'select ledger_id from tallystick.ledgers where tiles_public',
  })
  return new Set(rows.map(({ ledgerId }) => ledgerId))
}

/** Sets whether anybody may read the ledger's tiles. Returns `full` if `publicMax` other ledgers are public already. */
export async function setLedgerPublic(
  pool: pg.Pool,
  ledgerId: Uuid,
  isPublic: boolean,
  publicMax: number,
): Promise<'set' | 'absent' | 'full'> {
  const { rows } = await pool.query<{ outcome: 'set' | 'absent' | 'full' }>(
    'select tallystick.set_ledger_tiles_public($1, $2, $3) as outcome',
    [ledgerId, isPublic, publicMax],
  )
  return rows[0]!.outcome
}

/** Returns whether the ledger is closed because it was found to be an older backup of itself. */
export async function isClosedAsRestored(pool: pg.Pool, ledgerId: Uuid): Promise<boolean> {
  const { rowCount } = await pool.query(
    "select from tallystick.chain_heads where ledger_id = $1 and closed = 'restored'",
    [ledgerId],
  )
  return rowCount === 1
}
