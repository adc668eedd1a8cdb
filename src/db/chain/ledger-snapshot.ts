import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { openClient } from '../connect/client.ts'
import type { DatabaseOrUrl } from '../connect/connection.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'

/*
 * A whole ledger as it was at one moment, table by table, each in the order of the entries that explain its rows. An
 * audit compares it with the statements. Cursors, because a table may be larger than memory.
 */

const ROWS_PER_FETCH = 1_000
/** The same of tables whose rows may be megabytes each. */
export const LARGE_ROWS_PER_FETCH = 16

export type LedgerSnapshot = {
  readonly client: pg.ClientBase
  close(): Promise<void>
}

/**
 * One connection in one read-only snapshot, which ends with the connection. It asks for time zone and formats that
 * the statements below rely on.
 */
export async function openSnapshot(database: DatabaseOrUrl): Promise<LedgerSnapshot> {
  const client = await openClient(database, { application_name: 'tallystick verify' })
  try {
    await client.query('begin isolation level repeatable read read only')
    // Sequential scans of one ledger among many, each over all of a table, are what a wrong estimate costs.
    await client.query("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
  } catch (error) {
    await client.end()
    throw error
  }
  return { client, close: () => client.end() }
}

/** Range of rows with a `seq`: from `from` to before `end`. */
export type SeqRange = { readonly from: number; readonly end: number }

type StreamOptions = { readonly range?: SeqRange | null; readonly rowsPerFetch?: number }

/** Rows of `text`, which may use $1: the ledger's uuid. In the order that the query gives. */
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
 * streamRows for a short range of a table that has a few rows for each entry at most: one round trip instead of three, and
 * planned once a session. Reading is the larger part of verifying many ledgers that grow slowly.
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
 * Names of the queries that have rows in the range, in one round trip: most spans of a follower have rows in three tables of
 * thirteen, and a round trip for each of the others was the larger part of verifying them.
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

/** The conditions are pushed down to the index scan, and nothing above it changes the order. */
function ranged(text: string): string {
  return `select * from (${text}) ranged where seq >= $2 and seq < $3`
}

/** Ids of all ledgers that the tables of ledgers and of chain heads know. */
export async function listLedgerIds(client: pg.ClientBase): Promise<Uuid[]> {
  const { rows } = await client.query<{ id: Uuid }>(
    `select ledger_id as id from tallystick.chain_heads
     union select ledger_id from tallystick.ledgers order by id`,
  )
  return rows.map((row) => row.id)
}
