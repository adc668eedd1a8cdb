import type pg from 'pg'
import { makeFollowingRows } from '../chain/mend-head.ts'
import { describeGuards, refusalOf } from '../connect/session.ts'

/**
 * Stores the schema's triggers in the table `guards`, and turns on all triggers that are off. Creates the rows that
 * these triggers would have created while they were off. Returns the number of triggers that were off.
 *
 * Must be called with the login of the database's owner, in the transaction of `migrate`. Throws if a trigger is
 * missing, or if the owner may not turn a trigger on.
 */
export async function turnOnGuards(client: pg.ClientBase): Promise<number> {
  await client.query(`
    insert into tallystick.guards (relation, name, always)
    select c.relname, t.tgname, t.tgenabled = 'A' from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'tallystick'::regnamespace and not t.tgisinternal
    on conflict do nothing`)
  const { rows } = await client.query<{ relation: string; statement: string }>(`
    select g.relation, format('alter table tallystick.%I enable %s trigger %I', g.relation, case when g.always then 'always' end, g.name)
      as statement
    from tallystick.guards g join pg_trigger t
      on t.tgrelid = to_regclass(format('tallystick.%I', g.relation)) and t.tgname = g.name and not t.tgisinternal
    where t.tgenabled <> case when g.always then 'A' else 'O' end`)
  for (const { statement } of rows) await client.query(statement)
  // Turning on a trigger of gated_records has locked that table, so no step can be taken before the end of the
  // transaction.
  if (rows.some(({ relation }) => relation === 'gated_records')) await makeFollowingRows(client, null)
  const found = await client.query<{ missing: string[] }>('select tallystick.missing_guards() as missing')
  const { missing } = found.rows[0]!
  if (missing.length > 0) throw refusalOf([describeGuards(missing)])
  return rows.length
}
