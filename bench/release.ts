/*
 * npm run bench:release -- [RECORDS] [BATCH]
 *
 * Writes RECORDS in batches of BATCH, archives them to a directory, and has their content leave Postgres. Says how large its tables are before
 * and after, how long that took, and how long a record and its proof take: from Postgres; from the archive, a piece that was not read
 * before; and from one that was.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Tallystick } from '../sdk/client.ts'
import { TallystickOperator } from '../sdk/operator.ts'
import { formatId, type Uuid } from '../src/proof/ids.ts'
import { startServer } from '../src/run/server.ts'
import { startWorker } from '../src/run/worker.ts'
import { startScratch } from '../test/helpers/scratch.ts'
import { percentile, perSecond, say, writeRecords } from './archive-records.ts'

const READS = 500
const [records = 300_000, batch = 1_000] = process.argv.slice(2).map(Number)
const root = mkdtempSync(join(tmpdir(), 'tallystick-bench-release-'))
const scratch = await startScratch({
  TALLYSTICK_ARCHIVE: `file://${join(root, 'archive')}`,
  TALLYSTICK_ARCHIVE_SEAL_SECONDS: '5',
})
let server = await startServer(scratch.config)
let worker = await startWorker(scratch.config)
const database = new pg.Client({ connectionString: scratch.superuserUrl })
await database.connect()
try {
  const operator = new TallystickOperator({ baseUrl: server.url, operatorKey: scratch.operatorKey })
  const made = await operator.ledgers.create({ name: 'released' })
  const connect = () => new Tallystick({ baseUrl: server.url, apiKey: made.key.key })
  await writeRecords(connect(), records, batch)
  const { size } = await connect().ledger.get()
  await until(`select size >= ${size} as done from tallystick.archives`)
  await until(`select next_seq >= ${size} as done from tallystick.audit_cursors`)
  await worker.close()
  await measure('before')
  await read(connect(), 'from Postgres', READS)

  const beganAt = performance.now()
  const archive = { ...scratch.config.archive!, keepDays: 0 }
  worker = await startWorker({ ...scratch.config, archive })
  await until(`select bool_and(state = 'left') as done from tallystick.archive_pieces`)
  const ms = performance.now() - beganAt
  await worker.close()
  say(`left in ${Math.round(ms / 1_000)} s: ${perSecond(records, ms)} records/s`)
  await measure('after')
  await database.query('vacuum tallystick.batch_chunks')
  await measure('after a vacuum')
  await writeRecords(connect(), records, batch)
  await database.query('vacuum tallystick.batch_chunks')
  await measure('after as many records again')

  const { rows } = await database.query<{ pieces: number }>(
    'select count(*)::int as pieces from tallystick.archive_pieces',
  )
  say(`pieces: ${rows[0]!.pieces}`)
  await server.close()
  server = await startServer(scratch.config)
  await read(connect(), 'from the archive, each piece for the first time', 'each piece')
  await read(connect(), 'from the archive, most of them from pieces that were read', READS)
} finally {
  await database.end()
  await worker.close()
  await server.close()
  await scratch.stop()
  rmSync(root, { recursive: true })
}

async function until(sql: string): Promise<void> {
  while (!(await database.query(sql)).rows[0]?.done) await sleep(200)
}

async function measure(when: string): Promise<void> {
  const { rows } = await database.query<{ name: string; bytes: number }>(
    `select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes from pg_class c
     where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r' order by bytes desc`,
  )
  const all = rows.reduce((sum, { bytes }) => sum + bytes, 0)
  const shown = rows
    .slice(0, 4)
    .map(({ name, bytes }) => `${name} ${bytes} (${Math.round(bytes / records)} a record)`)
  say(`${when}: all tables ${all} bytes; ${shown.join(', ')}`)
}

/** Milliseconds of a record, and of a proof, of random ones; or of one of each piece. */
async function read(client: Tallystick, what: string, which: number | 'each piece'): Promise<void> {
  const { rows } = await database.query<{ id: Uuid }>(
    which === 'each piece'
      ? `select distinct on (p.from_seq) c.first_record_id as id from tallystick.archive_pieces p
         join tallystick.batch_chunks c on c.ledger_id = p.ledger_id and c.seq >= p.from_seq and c.seq < p.end_seq and c.content is null
         order by p.from_seq, random()`
      : `select first_record_id as id from tallystick.batch_chunks where seq < (select max(size) from tallystick.archives) order by random() limit ${which}`,
  )
  const [got, proved]: [number[], number[]] = [[], []]
  for (const [i, { id }] of rows.entries()) {
    const record = formatId('rec', id)
    // Either one first, because the second finds what the first has read.
    const first = i % 2 === 0
    for (const isGet of [first, !first]) {
      const at = performance.now()
      await (isGet ? client.records.get(record) : client.records.proof(record))
      if (isGet === first || which !== 'each piece') (isGet ? got : proved).push(performance.now() - at)
    }
  }
  say(`${what}: ${shown('a record', got)}; ${shown('a proof', proved)}`)
}

function shown(what: string, values: readonly number[]): string {
  return `${what} p50 ${percentile(values, 0.5)} ms, p99 ${percentile(values, 0.99)} ms (${values.length})`
}
