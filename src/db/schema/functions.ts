import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'

const FUNCTIONS_DIR = new URL('../../../migrations/functions/', import.meta.url)

/**
 * Version of the row in schema_migrations that stores the digest of all functions. No migration has this version,
 * because migrations are numbered from 1.
 */
export const FUNCTIONS_VERSION = 0

/**
 * Replaces all functions with their text in migrations/functions. Functions that somebody dropped or changed are
 * restored. Returns true if anything changed.
 *
 * Functions must exist before the first migration, because triggers of that migration call them. At that time the
 * tables do not exist, so Postgres checks the function bodies only when they run. The grants (grants.ts) follow in the
 * same transaction. The comment above each function is stored in Postgres as the function's comment.
 */
export async function applyFunctions(client: pg.ClientBase): Promise<boolean> {
  const files = readFunctionFiles()
  const sha256 = createHash('sha256').update(files.join('\0')).digest('hex')
  const { rowCount } = await client.query(
    'select from tallystick.schema_migrations where version = $1 and sha256 = $2',
    [FUNCTIONS_VERSION, sha256],
  )
  const before = await describeFunctions(client)
  // Two settings are changed for the functions, and set back below. The migrations of this transaction must not depend
  // on whether a function has changed.
  const { rows } = await client.query<{ path: string; check: string }>(
    `select current_setting('search_path') as path, current_setting('check_function_bodies') as check`,
  )
  await client.query('set local search_path = tallystick, pg_temp; set local check_function_bodies = off')
  for (const text of files) {
    await client.query(text)
    await client.query(commentsOf(text))
  }
  await client.query(
    `select set_config('search_path', $1, true), set_config('check_function_bodies', $2, true)`,
    [rows[0]!.path, rows[0]!.check],
  )
  if (rowCount === 1 && (await describeFunctions(client)) === before) return false
  await client.query(
    `insert into tallystick.schema_migrations (version, name, sha256) values ($1, 'functions', $2)
    on conflict (version) do update set sha256 = excluded.sha256, applied_at = now()`,
    [FUNCTIONS_VERSION, sha256],
  )
  return true
}

/** Returns a digest of everything that `create or replace` may change. */
async function describeFunctions(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ digest: string | null }>(
    `select md5(string_agg(pg_get_functiondef(oid), '' order by oid)) as digest
     from pg_proc where pronamespace = 'tallystick'::regnamespace and prokind = 'f'`,
  )
  return rows[0]!.digest
}

function readFunctionFiles(): string[] {
  return readdirSync(FUNCTIONS_DIR)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => readFileSync(new URL(name, FUNCTIONS_DIR), 'utf8'))
}

function commentsOf(text: string): string {
  return [...text.matchAll(/((?:^--.*\n)+)create or replace function (\w+\([^)]*\))/gm)]
    .map(([, comment, signature]) => {
      const lines = comment!.trimEnd().replace(/^-- ?/gm, '')
      return `comment on function ${signature} is '${lines.replaceAll("'", "''")}';`
    })
    .join('\n')
}
