import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { openClient } from '../connect/client.ts'
import type { DatabaseOrUrl } from '../connect/connection.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'

/*
 * Reads a whole ledger as it is at one moment, table by table. The rows of each table come in the order of the entries
 * to which they belong. An audit compares the rows with the statements. The rows are fetched by a cursor, because a
 * table may be larger than the memory.
 */

const ROWS_PER_FETCH = 1_000
/** Maximum number of rows per fetch for tables in which a row may have megabytes. */
export const LARGE_ROWS_PER_FETCH = 16

export type LedgerSnapshot = {
  readonly client: pg.ClientBase
  close(): Promise<void>
}

/**
 * Opens a connection with one read-only snapshot, which lasts as long as the connection.
 *
 * The connection has the time zone and formats that the queries below need.
 */
export async function openSnapshot(database: DatabaseOrUrl): Promise<LedgerSnapshot> {
  const client = await openClient(database, { application_name: 'tallystick verify' })
  try {
    await client.query('begin isolation level repeatable read read only')
    // Without these settings, a wrong estimate would make Postgres scan whole tables for one ledger among many.
    await client.query("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
  } catch (error) {
    await client.end()
    throw error
  }
  return { client, close: () => client.end() }
}

/** Range of rows by `seq`, from `from` to before `end`. */
export type SeqRange = { readonly from: number; readonly end: number }

type StreamOptions = { readonly range?: SeqRange | null; readonly rowsPerFetch?: number }

/** Runs the query `text` and yields its rows in order. `text` may use $1, the ledger's uuid. */
export async function* streamRows<T extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: string,
  text: string,
  ledgerId: Uuid,
  { range = null, rowsPerFetch = ROWS_PER_FETCH }: StreamOptions = {},
): AsyncGenerator<T> {
  const values = range ? [ledgerId, range.from, range.end] : [ledgerId]
  await client.query(`declare ${name} no scroll cursor for ${range ? ranged(text) : text}`, values)
  for (;;) {
    const { rows } = await client.query<T>({
      text: `fetch forward ${rowsPerFetch} from ${name}`,
      types: PACKED_TYPES,
    })
    yield* rows
    if (rows.length < rowsPerFetch) break
  }
  await client.query(`close ${name}`)
}

/**
 * Yields the same rows as streamRows. It is for a short range of a table with at most a few rows for each entry.
 *
 * It takes one round trip instead of three, and is planned once in a session. This matters because the verification of
 * many slowly growing ledgers spends most of its time on reading.
 */
export async function* readRows<T extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: string,
  text: string,
  ledgerId: Uuid,
  range: SeqRange,
): AsyncGenerator<T> {
  const { rows } = await client.query<T>({
    name: `range of ${name}`,
    text: ranged(text),
    values: [ledgerId, range.from, range.end],
    types: PACKED_TYPES,
  })
  yield* rows
}

/**
 * Returns the names of the queries that have rows in the range. Takes one round trip.
 *
 * Most ranges of a follower have rows in only three of thirteen tables. A round trip for each of the other tables
 * would take most of the time of a verification.
 */
export async function listFilled(
  client: pg.ClientBase,
  queries: Readonly<Record<string, string>>,
  ledgerId: Uuid,
  range: SeqRange,
): Promise<ReadonlySet<string>> {
  const isFilled = Object.entries(queries).map(
    ([name, text]) => `case when exists (${ranged(text)}) then '${name}' end`,
  )
  const { rows } = await client.query<{ filled: string[] }>({
    name: 'filled tables of a range',
    text: `select array_remove(array[${isFilled.join(', ')}], null) as filled`,
    values: [ledgerId, range.from, range.end],
  })
  return new Set(rows[0]!.filled)
}

/**
 * Restricts a query to rows with seq from $2 to before $3. Postgres applies the conditions in the index scan and keeps
 * the order of the rows.
 */
function ranged(text: string): string {
  return `select * from (${text}) ranged where seq >= $2 and seq < $3`
}

/** Returns the ids of all ledgers that have a row in the table of ledgers or in the table of chain heads. */
export async function listLedgerIds(client: pg.ClientBase): Promise<Uuid[]> {
  const { rows } = await client.query<{ id: Uuid }>(
    `select ledger_id as id from tallystick.chain_heads
     union select ledger_id from tallystick.ledgers order by id`,
  )
  return rows.map((row) => row.id)
}
