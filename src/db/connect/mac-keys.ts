import type pg from 'pg'
import type { DatabaseKey } from '../../signing/master-key.ts'

/* The keys by which Postgres knows who holds the master key; written by the owner, and readable by no other login. */

/** Adds those that are not there yet. */
export async function addMacKeys(client: pg.ClientBase, keys: readonly DatabaseKey[]): Promise<void> {
  await client.query(
    `insert into tallystick.mac_keys (key_id, inner_pad, outer_pad)
     select * from unnest($1::bytea[], $2::bytea[], $3::bytea[]) on conflict do nothing`,
    [keys.map((key) => key.id), keys.map((key) => key.innerPad), keys.map((key) => key.outerPad)],
  )
}

/** Removes all others: sessions that were proven with them have to be made anew, which pools do by themselves. */
export async function keepMacKeys(client: pg.ClientBase, keys: readonly DatabaseKey[]): Promise<void> {
  await client.query('delete from tallystick.mac_keys where key_id <> all ($1::bytea[])', [
    keys.map((key) => key.id),
  ])
}
