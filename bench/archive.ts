/*
 * npm run bench:archive -- [RECORDS] [BATCH]
 *
 * Writes RECORDS in batches of BATCH (1: each by itself) while the worker archives them to a directory; says how fast both went, and
 * what lies there. Then verifies the archive as `tallystick verify --archive` does, without and with keys, and restores the ledger into
 * another database.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Tallystick } from '../sdk/client.ts'
import { TallystickOperator } from '../sdk/operator.ts'
import { startServer } from '../src/run/server.ts'
import { startWorker } from '../src/run/worker.ts'
import { startScratch } from '../test/helpers/scratch.ts'
import { percentile, perSecond, say, writeRecords } from './archive-records.ts'

const ROOT = resolve(import.meta.dirname, '..')
const [records = 100_000, batch = 1_000] = process.argv.slice(2).map(Number)
const root = mkdtempSync(join(tmpdir(), 'tallystick-bench-archive-'))
const archive = join(root, 'archive')
const scratch = await startScratch({
  TALLYSTICK_ARCHIVE: `file://${archive}`,
  TALLYSTICK_ARCHIVE_SEAL_SECONDS: '5',
})
const server = await startServer(scratch.config)
const worker = await startWorker(scratch.config)
const database = new pg.Client({ connectionString: scratch.superuserUrl })
await database.connect()
try {
  const operator = new TallystickOperator({ baseUrl: server.url, operatorKey: scratch.operatorKey })
  const made = await operator.ledgers.create({ name: 'archived' })
  const client = new Tallystick({ baseUrl: server.url, apiKey: made.key.key })
  const beganAt = performance.now()
  const late = await writeRecords(client, records, batch)
  const wroteMs = performance.now() - beganAt
  const { size } = await client.ledger.get()
  say(
    `wrote ${records} records in ${size} entries: ${perSecond(records, wroteMs)} records/s; p50 ${percentile(late, 0.5)} ms, p99 ${percentile(late, 0.99)} ms a request`,
  )
  const atEnd = await position()
  await untilArchived(size)
  const archivedMs = performance.now() - beganAt
  say(
    `archived at the end of the writing: ${atEnd} entries; all of them ${Math.round((archivedMs - wroteMs) / 1000)} s later: ${perSecond(records, archivedMs)} records/s`,
  )
  const { objects, bytes } = await measure(archive)
  say(`objects ${objects}, bytes ${bytes}: ${Math.round(bytes / records)} a record`)
  await verify([])
  const keys = join(root, 'keys')
  const { DATABASE_URL, ...env } = process.env
  await run(['src/run/archive-keys.ts', '--out', keys], {
    ...env,
    DATABASE_URL: scratch.superuserUrl,
    TALLYSTICK_MASTER_KEY: Buffer.from(scratch.config.masterKey!).toString('hex'),
  })
  const keyFile = join(keys, `${made.ledger.id}.json`)
  await verify(['--archive-key', keyFile])
  await restore(['--ledger', made.ledger.id, '--archive-key', keyFile, '--read-only'], {
    ...env,
    DATABASE_URL: await scratch.addDatabase('restored'),
    TALLYSTICK_MASTER_KEY: Buffer.from(scratch.config.masterKey!).toString('hex'),
  })
} finally {
  await database.end()
  await worker.close()
  await server.close()
  await scratch.stop()
  rmSync(root, { recursive: true })
}

async function position(): Promise<number> {
  const { rows } = await database.query('select coalesce(max(size), 0)::int as size from tallystick.archives')
  return rows[0].size
}

async function untilArchived(size: number): Promise<void> {
  while ((await position()) < size) await sleep(200)
}

async function measure(directory: string) {
  const names = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((name) => name.isFile())
  let bytes = 0
  for (const file of files) bytes += (await stat(join(file.parentPath, file.name))).size
  return { objects: files.length, bytes }
}

async function verify(more: readonly string[]): Promise<void> {
  const beganAt = performance.now()
  const told = await run(['cli/tallystick.ts', 'verify', '--archive', archive, ...more], process.env)
  say(`${told.trim()} in ${Math.round(performance.now() - beganAt)} ms`)
}

async function restore(more: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const beganAt = performance.now()
  const told = await run(['src/run/restore-archive.ts', '--archive', archive, ...more], env)
  const ms = performance.now() - beganAt
  say(`${told.trim()}\nrestored in ${Math.round(ms)} ms: ${perSecond(records, ms)} records/s`)
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
  return Buffer.concat(await child.stdout.toArray()).toString()
}
