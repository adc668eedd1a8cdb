import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import { migrate } from '../../src/db/schema/migrate.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import './at-end.ts' // at-end.ts must register its hook before database.ts registers one. database.ts imports this module, so this import runs first.

/**
 * Passwords of the roles. Roles belong to the whole server, and test files run in parallel, so all test files share
 * these passwords.
 */
export const TEST_PASSWORDS = { owner: 'test-owner', api: 'test-api', worker: 'test-worker' } as const

export const TEST_MASTER_KEY = new Uint8Array(32).fill(7)

const MIGRATIONS_DIR = new URL('../../migrations/', import.meta.url)
const TEMPLATE_LOCK = 7_411_958
const OWNER_LOCK = 7_411_959

let template: Promise<string> | null = null

/** Returns the name of the template from which every test database is copied. The first process makes the template. */
export function ensureTemplate(client: pg.Client, superuserUrl: string): Promise<string> {
  template ??= findTemplate(client, superuserUrl)
  return template
}

async function findTemplate(client: pg.Client, superuserUrl: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of readdirSync(MIGRATIONS_DIR, { recursive: true, encoding: 'utf8' }).sort()) {
    if (/^(\d{4}-|functions\/|grants).*\.sql$/.test(name))
      hash.update(name).update(readFileSync(new URL(name, MIGRATIONS_DIR)))
  }
  const template = `template_${hash.digest('hex').slice(0, 16)}`
  await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
  try {
    const found = await client.query('select from pg_database where datname = $1', [template])
    if (found.rowCount === 0) await makeTemplate(client, superuserUrl, template)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
  }
  return template
}

/**
 * Migrates a database of another name and then renames it, so that a failed migration leaves no incomplete template.
 */
async function makeTemplate(client: pg.Client, superuserUrl: string, template: string): Promise<void> {
  const draft = `${template}_draft`
  await ensureTestOwner(client)
  await client.query(`drop database if exists ${draft} with (force)`)
  await client.query(`create database ${draft} template template0 owner tallystick_owner`)
  await migrate({
    ownerUrl: urlFor(superuserUrl, draft, 'tallystick_owner', TEST_PASSWORDS.owner),
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    passwords: { api: TEST_PASSWORDS.api, worker: TEST_PASSWORDS.worker },
  })
  await client.query(`alter database ${draft} rename to ${template}`)
}

/**
 * Creates the owner's role or sets its password. The suite's server already has this role, with a password that only
 * the starting process knows.
 */
export async function ensureTestOwner(client: pg.Client): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [OWNER_LOCK])
  try {
    await client.query(`do $$ begin
      if not exists (select from pg_roles where rolname = 'tallystick_owner') then
        create role tallystick_owner login createrole;
      end if;
      alter role tallystick_owner with password '${TEST_PASSWORDS.owner}';
    end $$`)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [OWNER_LOCK])
  }
}

export function urlFor(base: string, database: string, user?: string, password?: string): string {
  const url = new URL(base)
  url.pathname = `/${database}`
  if (user !== undefined) url.username = user
  if (password !== undefined) url.password = password
  return url.href
}
