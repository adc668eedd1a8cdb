import type pg from 'pg'
import type { DatabaseKey } from '../../signing/master-key.ts'

/* The keys by which Postgres knows who holds the master key; written by the owner, and readable by no other login. */

/** Adds those that are not there yet, and sends no other: a server that logs all statements logs their parameters too. */
export async function addMacKeys(client: pg.ClientBase, all: readonly DatabaseKey[]): Promise<void> {
  const { rows } = await client.query<{ keyId: Buffer }>('select key_id from tallystick.mac_keys')
  const keys = all.filter(({ id }) => !rows.some(({ keyId }) => keyId.equals(id)))
  if (keys.length === 0) return
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
