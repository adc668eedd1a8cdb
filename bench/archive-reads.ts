import type pg from 'pg'
import type { Tallystick } from '../sdk/client.ts'
import { formatId, type Uuid } from '../src/proof/ids.ts'
import { describeMs, printLine } from './archive-records.ts'

const READS = 500
/** Maximum number of pieces that are read. Tens of millions of records have thousands of pieces. */
const PIECES_MAX = 300

const OPERATIONS = ['record', 'proof'] as const
type Operation = (typeof OPERATIONS)[number]

/**
 * SQL query: the first record of each chunk, and all records with an entry of their own. `has_left`: true if the
 * record's content is no longer in Postgres.
 */
const RECORDS = `(
  select ledger_id, seq, first_record_id as id, content is null as has_left from tallystick.batch_chunks
  union all
  select r.ledger_id, r.first_seq, r.record_id, e.envelope is null from tallystick.records r
  join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
)`

export async function readFromPostgres(client: Tallystick, database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ id: Uuid }>(
    `select id from ${RECORDS} r where not has_left order by random() limit ${READS}`,
  )
  const tookMs = { record: [] as number[], proof: [] as number[] }
  for (const { id } of rows) {
    for (const operation of OPERATIONS) tookMs[operation].push(await time(client, operation, id))
  }
  describe('from Postgres', tookMs)
}

/**
 * Reads two random records from each of up to `PIECES_MAX` pieces. The server fetches the piece for the first read, and
 * has the piece already at the second read.
 */
export async function readFromArchive(client: Tallystick, database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ ids: Uuid[] }>(
    `select ids from (select * from tallystick.archive_pieces order by random() limit ${PIECES_MAX}) p
     cross join lateral (
       select array_agg(id) as ids from (
         select id from ${RECORDS} r
         where r.ledger_id = p.ledger_id and r.seq >= p.from_seq and r.seq < p.end_seq and has_left
         order by random() limit 2
       ) two
     ) of_piece where cardinality(ids) = 2`,
  )
  const first = { record: [] as number[], proof: [] as number[] }
  const again = { record: [] as number[], proof: [] as number[] }
  for (const [i, { ids }] of rows.entries()) {
    // The server fetches a piece only for the first read of the piece. The two operations therefore take turns as the
    // first read.
    const operation = OPERATIONS[i % 2]!
    first[operation].push(await time(client, operation, ids[0]!))
    for (const repeated of OPERATIONS) again[repeated].push(await time(client, repeated, ids[1]!))
  }
  describe(`from the archive, ${rows.length} pieces for the first time`, first)
  describe('from the archive, another record of the same piece right after', again)
}

async function time(client: Tallystick, operation: Operation, id: Uuid): Promise<number> {
  const record = formatId('rec', id)
  const at = performance.now()
  await (operation === 'record' ? client.records.get(record) : client.records.proof(record))
  return performance.now() - at
}

function describe(what: string, tookMs: Record<Operation, readonly number[]>): void {
  const shown = OPERATIONS.filter((operation) => tookMs[operation].length > 0)
  printLine(
    `${what}: ${shown.map((operation) => `a ${operation} ${describeMs(tookMs[operation])}`).join('; ')}`,
  )
}
