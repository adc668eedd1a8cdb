import type pg from 'pg'
import type { DatabaseKey } from '../../signing/master-key.ts'

/* Keys by which Postgres recognizes holders of the master key. Only the owner can write and read these keys. */

/**
 * Adds missing keys. Existing keys are not sent again, because a server that logs all statements also logs their
 * parameters.
 */
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

/**
 * Removes all keys that are not in `keys`. Sessions that used a removed key for their proof must be replaced. Pools do
 * this by themselves.
 */
export async function removeOtherMacKeys(client: pg.ClientBase, keys: readonly DatabaseKey[]): Promise<void> {
  await client.query('delete from tallystick.mac_keys where key_id <> all ($1::bytea[])', [
    keys.map((key) => key.id),
  ])
}
