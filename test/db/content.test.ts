import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '../..')

/**
 * The only files that may distinguish content in Postgres from content in the archive. Two files read content, two
 * files release it from Postgres, and the others contain the SQL for this.
 */
const KNOWING = [
  'migrations/0004-records.sql',
  'migrations/functions/erase-documents.sql',
  'migrations/functions/guards.sql',
  'migrations/functions/release-content.sql',
  'src/db/chain/archive-releases.ts',
  'src/db/chain/envelopes.ts',
  'src/db/chunks/read-chunks.ts',
  'src/followers/archive/release-content.ts',
]

/** Names of columns that show whether content is in Postgres, and of functions that read the archive. */
const WORDS =
  /\breleased_bytes\b|\bleaves_for_archive\(|\b[cn]\.content is (not )?null|(await|=) archiveOf\(|\bLeavingChunk\b|\.content, 'base64'|asBase64\('c\.content'\)/

test('only the listed files know whether content is still in Postgres', (t) => {
  const files = execFileSync('git', ['ls-files', 'src', 'worker', 'migrations', 'cli'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => /\.(ts|sql)$/.test(file) && file !== 'migrations/schema.sql')
  const knowing = files.filter((file) => WORDS.test(readFileSync(resolve(ROOT, file), 'utf8')))
  t.diagnostic(`${knowing.length} files know whether content is still in Postgres`)
  assert.deepEqual(knowing, KNOWING)
})
