/*
 * node tools/run.mjs tools/dump-schema.ts [--check]
 *
 * Writes migrations/schema.sql: the result of all migrations, sorted by name, so that reviews see changes of the
 * schema. It reads the catalogs, because the embedded Postgres has no pg_dump. With --check it writes nothing, and
 * fails if the file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withClient } from '../src/db/connect/client.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { startPostgres } from '../src/run/postgres/start.ts'
import { makeMasterKey } from '../src/signing/master-key.ts'
import { temporaryDir } from '../test/helpers/postgres.ts'
import { SCHEMA_PARTS } from './schema-parts.ts'

const FILE = join(import.meta.dirname, '..', 'migrations', 'schema.sql')
const HEADER = `-- What the migrations add up to. Made by \`node tools/run.mjs tools/dump-schema.ts\`; never edited, never run.
`

if (import.meta.main) {
  const dump = await dumpMigratedSchema()
  if (!process.argv.includes('--check')) {
    writeFileSync(FILE, dump)
  } else if (readFileSync(FILE, 'utf8') !== dump) {
    console.error(`migrations/schema.sql differs from the result of the migrations: ${firstDifference(readFileSync(FILE, 'utf8'), dump)}
Run \`node tools/run.mjs tools/dump-schema.ts\`, and review the change.`)
    process.exitCode = 1
  }
}

/**
 * Migrates an empty database and dumps it. It uses a separate server, because roles and their attributes belong to
 * the whole server.
 */
async function dumpMigratedSchema(): Promise<string> {
  const settings = { shared_buffers: '16MB' }
  const postgres = await startPostgres({ dataDir: temporaryDir(), temporary: true, settings })
  try {
    const masterKey = makeMasterKey(new Uint8Array(32))
    await migrate({ ownerUrl: postgres.ownerUrl, masterKey, passwords: { api: 'dump', worker: 'dump' } })
    return await dumpSchema(postgres.ownerUrl)
  } finally {
    await postgres.stop('immediate')
  }
}

/** Dumps Tallystick's schemas and logins from the catalogs. */
export async function dumpSchema(url: string): Promise<string> {
  return withClient(url, async (client) => {
    // With an empty search_path, names outside pg_catalog are written with their schema, whatever setting the login
    // has.
    await client.query("set search_path = ''")
    const parts = [HEADER]
    for (const { title, sql } of SCHEMA_PARTS) {
      const { rows } = await client.query<{ text: string }>(sql)
      const texts = rows.map((row) => row.text.trim().replace(/\n;$/, ';'))
      const gap = texts.some((text) => text.includes('\n')) ? '\n\n' : '\n'
      if (texts.length > 0) parts.push(`-- ${title}\n\n${texts.join(gap)}\n`)
    }
    return parts.join('\n')
  })
}

function firstDifference(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const line = now.findIndex((text, index) => text !== old[index])
  const at = line === -1 ? now.length : line
  return `line ${at + 1} is\n  ${old[at] ?? '(end)'}\nand should be\n  ${now[at] ?? '(end)'}`
}
