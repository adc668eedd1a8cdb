/*
 * npm run bench -- archive [--records 100000] [--batch 1000] [--rate R] [--no-restore] [--embedded]
 *
 * Runs a ledger with an archive in a directory, from its first record to its restore:
 *
 * 1. Writes `--records` in batches of `--batch` (1: single records) while the worker archives them. Eight clients write
 *    as fast as they can, or at `--rate` records a second.
 * 2. Removes the records' content from Postgres. Records and proofs are read before and after the removal.
 * 3. Verifies the archive as `tallystick verify --archive` does, without and with keys.
 * 4. Restores the ledger into another database.
 *
 * `DATABASE_URL`, an owner's URL, names the Postgres. The default is a temporary Postgres on this machine's disk.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Tallystick } from '../sdk/client.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { makeMasterKey } from '../src/signing/master-key.ts'
import type { ProductProcess } from '../test/system/deployment/product-process.ts'
import { runChild } from './archive-child.ts'
import { readFromArchive, readFromPostgres } from './archive-reads.ts'
import { describeMs, perSecond, printLine, seconds, writeRecords } from './archive-records.ts'
import { openDatabase } from './database.ts'
import { describeCommit } from './report.ts'
import { deploy, startMeasured, startSystem } from './system.ts'
import { takeCpuSnapshot } from './watch/cpu.ts'

const SEAL_SECONDS = 5
const LOOK_EVERY_MS = 200
const TABLES_SHOWN = 4

const { values } = parseArgs({
  allowNegative: true,
  options: {
    records: { type: 'string', default: '100000' },
    batch: { type: 'string', default: '1000' },
    rate: { type: 'string' },
    restore: { type: 'boolean', default: true },
    embedded: { type: 'boolean', default: false },
  },
})
const [records, batch] = [Number(values.records), Number(values.batch)]
const rate = values.rate === undefined ? null : Number(values.rate)

const root = mkdtempSync(join(tmpdir(), 'tallystick-bench-archive-'))
const archive = join(root, 'archive')
const postgres = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  printLine,
)
const deployed = await deploy(postgres.ownerUrl)
const env: NodeJS.ProcessEnv = {
  ...deployed.env,
  TALLYSTICK_ARCHIVE: `file://${archive}`,
  TALLYSTICK_ARCHIVE_SEAL_SECONDS: String(SEAL_SECONDS),
}
const system = await startSystem({ ...deployed, env }, { servers: 1, worker: true, inspect: false })
const { host, port } = system.targets[0]!
const client = new Tallystick({ baseUrl: `http://${host}:${port}`, apiKey: system.bearer })
const database = new pg.Client({ connectionString: postgres.ownerUrl })
await database.connect()
try {
  printLine(`${describeCommit()}, Node ${process.version}, Postgres ${postgres.postgres}`)
  await write(system.worker!)
  await system.worker!.stop()
  await measureTables('in Postgres and in the archive')
  await readFromPostgres(client, database)
  await leave()
  await readFromArchive(client, database)
  const keyFile = join(root, 'keys', `${system.ledger}.json`)
  const verify = ['cli/tallystick.ts', 'verify', '--archive', archive]
  await runChild('verified without keys', verify, env)
  const owner = { ...env, DATABASE_URL: postgres.ownerUrl }
  await runChild('wrote the keys', ['src/run/command.ts', 'archive-keys', '--out', join(root, 'keys')], owner)
  await runChild('verified with keys', [...verify, '--archive-key', keyFile], env)
  if (values.restore) await restore(keyFile)
} finally {
  await database.end()
  await system.stop()
  deployed.close()
  await postgres.close()
  rmSync(root, { recursive: true })
}

async function write(worker: ProductProcess): Promise<void> {
  const cpu = startCpu(worker)
  const beganAt = performance.now()
  const tookMs = await writeRecords(client, { records, batch, rate })
  const wroteMs = performance.now() - beganAt
  const { size } = await client.ledger.get()
  const { rows } = await database.query(
    'select coalesce(max(size), 0)::float8 as size from tallystick.archives',
  )
  printLine(
    `wrote ${records} records in ${size} entries in ${seconds(wroteMs)} s: ${perSecond(records, wroteMs)} records/s` +
      `${rate === null ? '' : ` of ${rate}`}; a request took ${describeMs(tookMs)} from ${rate === null ? 'when it was sent' : 'when it was due'}`,
  )
  await until(`select size >= ${size} as done from tallystick.archives`)
  const archivedMs = performance.now() - beganAt
  printLine(
    `archived ${rows[0].size} entries when writing ended, and all of them ${seconds(archivedMs - wroteMs)} s later: ${perSecond(records, archivedMs)} records/s`,
  )
  cpu('until then')
  const { objects, bytes } = await measureFiles(archive)
  printLine(`objects ${objects}, bytes ${bytes}: ${Math.round(bytes / records)} a record`)
  // Content stays in Postgres until the worker has verified it.
  await until(`select next_seq >= ${size} as done from tallystick.audit_cursors`)
}

async function leave(): Promise<void> {
  const worker = startMeasured('worker', { ...env, TALLYSTICK_ARCHIVE_KEEP_DAYS: '0' })
  try {
    const cpu = startCpu(worker)
    const beganAt = performance.now()
    await until(`select bool_and(state = 'left') as done from tallystick.archive_pieces`)
    const ms = performance.now() - beganAt
    const { rows } = await database.query('select count(*)::int as pieces from tallystick.archive_pieces')
    printLine(
      `content of ${rows[0].pieces} pieces left Postgres in ${seconds(ms)} s: ${perSecond(records, ms)} records/s`,
    )
    cpu('meanwhile')
  } finally {
    await worker.stop()
  }
  await measureTables('after that')
  for (const how of ['vacuum', 'vacuum full']) {
    await database.query(`${how} tallystick.batch_chunks, tallystick.entries`)
    await measureTables(`after a ${how} of them`)
  }
}

async function restore(keyFile: string): Promise<void> {
  const url = await postgres.makeAnother()
  const masterKey = makeMasterKey(Buffer.from(env['TALLYSTICK_MASTER_KEY']!, 'hex'))
  await migrate({ ownerUrl: url, masterKey, passwords: { api: null, worker: null } })
  const ms = await runChild(
    'restored',
    [
      ...['src/run/command.ts', 'restore-archive', '--archive', archive, '--ledger', system.ledger],
      ...['--archive-key', keyFile, '--read-only'],
    ],
    { ...env, DATABASE_URL: url },
  )
  printLine(`restored ${perSecond(records, ms)} records/s`)
}

async function until(sql: string): Promise<void> {
  while (!(await database.query(sql)).rows[0]?.done) await sleep(LOOK_EVERY_MS)
}

/** Returns a function that prints the CPU time per record that the processes have used since this call. */
function startCpu(worker: ProductProcess): (when: string) => void {
  const processes = { server: system.servers.map(({ pid }) => pid), worker: [worker.pid] }
  const take = () => takeCpuSnapshot({ processes, postmaster: postgres.postmaster }).seconds
  const from = take()
  return (when) => {
    const to = take()
    const shown = ['server', 'worker', 'postgres']
      .filter((name) => name in to)
      .map((name) => `${name} ${(((to[name]! - from[name]!) * 1e6) / records).toFixed(0)} us`)
    printLine(`CPU a record ${when}: ${shown.join(', ')}`)
  }
}

async function measureTables(when: string): Promise<void> {
  const { rows } = await database.query<{ name: string; bytes: number }>(
    `select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes from pg_class c
     where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r' order by bytes desc`,
  )
  const all = rows.reduce((sum, { bytes }) => sum + bytes, 0)
  const shown = rows
    .slice(0, TABLES_SHOWN)
    .map(({ name, bytes }) => `${name} ${bytes} (${Math.round(bytes / records)} a record)`)
  printLine(`${when}: all tables ${all} bytes; ${shown.join(', ')}`)
}

async function measureFiles(directory: string) {
  const names = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((name) => name.isFile())
  let bytes = 0
  for (const file of files) bytes += (await stat(join(file.parentPath, file.name))).size
  return { objects: files.length, bytes }
}
