import pg from 'pg'
import type { Deps } from '../../src/http/deps.ts'
import { type OpenApp, openApp, type Test, type TestApp } from './app.ts'
import { ALL_TESTS } from './at-end.ts'
import { createTestDatabase } from './database.ts'

/*
 * Lends applications to tests of a whole deployment. For example, followers process every ledger of a database. Each
 * test has an application alone, with an empty database. Then the database is emptied and the next test uses the
 * application. A new application took more CPU than most tests: it needs a copy of the database, and new sessions that
 * compile and plan everything again.
 */

type Kept = {
  isLent: boolean
  readonly opened: OpenApp
  readonly pools: Map<string, pg.Pool>
  empty(): Promise<boolean>
  close(): Promise<void>
}
const kept = new Set<Kept>()
const lentBy = new WeakMap<Deps, Kept>()
ALL_TESTS.after(async () => {
  for (const each of kept) await each.close()
})

/**
 * Lends an application with one new ledger. Except for this ledger, its database has only the rows of a new database.
 * The application is returned after the test. The application is not lent again if the test changed the schema or the
 * initial rows (for example server keys), or patched a pool that stays open.
 */
export async function lendApp(t: Test): Promise<TestApp> {
  const lent = (await emptied()) ?? (await open(t.name))
  lent.isLent = true
  // The database is emptied only when the application is lent again, because hooks that the test adds later must first
  // close the connections that the test opened.
  t.after(async () => {
    lent.isLent = false
  })
  const app = lent.opened.of(await lent.opened.makeLedger())
  lentBy.set(app.deps, lent)
  return app
}

/**
 * Returns a pool that stays open while its application is lent again and again. The next test gets the pool of the same
 * name. A pool without a name, or of an application that is not lent, ends with the test.
 */
export function lentPool(t: Test, app: TestApp, name: string | null, open: () => pg.Pool): pg.Pool {
  const lent = name === null ? undefined : lentBy.get(app.deps)
  const found = lent?.pools.get(name!)
  if (found) return found
  const pool = open()
  if (lent) lent.pools.set(name!, pool)
  else t.after(() => pool.end())
  return pool
}

async function emptied(): Promise<Kept | null> {
  for (const each of kept) {
    if (each.isLent) continue
    if (await each.empty()) return each
    kept.delete(each)
    await each.close()
  }
  return null
}

async function open(name: string): Promise<Kept> {
  const cleanups: (() => Promise<void>)[] = []
  const owner: Test = { name, after: (cleanup) => void cleanups.push(cleanup) }
  const database = await createTestDatabase(owner)
  const opened = await openApp(owner, { database })
  const superuser = new pg.Client({ connectionString: database.superuserUrl })
  await superuser.connect()
  const { filled, clear } = await tablesOf(superuser)
  const fingerprint = async () => (await superuser.query({ name: 'fingerprint', text: filled })).rows[0].print
  const before = await fingerprint()
  const each: Kept = {
    isLent: false,
    opened,
    pools: new Map(),
    async empty() {
      if ([...each.pools.values()].some(isPatched)) return false
      await superuser.query('set session_replication_role = replica')
      await superuser.query({ name: 'clear', text: clear })
      await superuser.query('set session_replication_role = origin')
      return (await fingerprint()) === before
    },
    async close() {
      for (const pool of each.pools.values()) await pool.end()
      await superuser.end()
      for (const cleanup of cleanups) await cleanup()
    },
  }
  kept.add(each)
  return each
}

/** Returns whether a test intercepts the pool's queries. */
function isPatched(pool: pg.Pool): boolean {
  return pool.listenerCount('acquire') > 0 || Object.hasOwn(pool, 'query') || Object.hasOwn(pool, 'connect')
}

/**
 * Returns two statements. `filled` computes a digest of the schema and of the rows that a new database has. `clear`
 * deletes the rows of all other tables.
 */
async function tablesOf(superuser: pg.Client): Promise<{ filled: string; clear: string }> {
  const { rows: tables } = await superuser.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('tallystick'::regnamespace, 'tallystick_jobs'::regnamespace) order by 1`,
  )
  const { rows } = await superuser.query<Record<string, boolean>>(
    `select ${tables.map(({ name }, i) => `exists (select from ${name}) as "${i}"`)}`,
  )
  const [full, vacant] = [true, false].map((isFull) => tables.filter((_, i) => rows[0]![i] === isFull))
  const digests = full!.map(
    ({ name }) => `(select md5(string_agg(r::text, '' order by r::text)) from ${name} r)`,
  )
  // The digest covers xmin, because every write changes a row's xmin.
  const catalogs = [
    'pg_class',
    'pg_attribute',
    'pg_trigger',
    'pg_proc',
    'pg_constraint',
    'pg_index',
    'pg_db_role_setting',
  ]
  const schema = catalogs.map((name) => `(select sum(xmin::text::int8)::text from ${name})`)
  return {
    filled: `select concat_ws(' ', ${[...digests, ...schema]}) as print`,
    clear: `with ${vacant!.map(({ name }, i) => `d${i} as (delete from ${name})`)} select`,
  }
}
