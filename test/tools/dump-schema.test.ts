import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dumpSchema } from '../../tools/dump-schema.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { query } from '../run/postgres/holder.ts'

test('the dump is the same for the same schema, and differs for every kind of change', async (t) => {
  const { superuserUrl } = await createTestDatabase(t)
  const before = await dumpSchema(superuserUrl)
  assert.equal(await dumpSchema(superuserUrl), before)
  const changes = [
    'alter table tallystick.entries add column more text',
    "alter table tallystick.entries alter column more set default 'x'",
    'alter table tallystick.entries alter column more set not null',
    'alter table tallystick.entries add constraint more_check check (length(more) < 9)',
    'alter table tallystick.entries set (fillfactor = 90)',
    'alter table tallystick.entries owner to postgres',
    'alter table tallystick.entries enable row level security',
    'create policy more on tallystick.entries using (true)',
    'create index more_index on tallystick.entries (more)',
    'alter table tallystick.entries disable trigger entries_append_only',
    'drop trigger entries_append_only on tallystick.entries',
    'create table public.stray (a int generated always as identity)',
    'create view tallystick.seen as select more from tallystick.entries',
    'create sequence tallystick.counter',
    "create type tallystick.mood as enum ('good')",
    'create domain tallystick.short as text check (length(value) < 3)',
    'create schema another',
    'grant insert on tallystick.entries to tallystick_api',
    'grant update (more) on tallystick.entries to tallystick_api',
    'grant execute on all functions in schema tallystick to public',
    'alter function tallystick.append_entries security invoker',
    'alter default privileges in schema tallystick grant select on tables to tallystick_api',
  ]
  let last = before
  for (const change of changes) {
    await query(superuserUrl, change)
    const next = await dumpSchema(superuserUrl)
    assert.notEqual(next, last, change)
    last = next
  }
})
