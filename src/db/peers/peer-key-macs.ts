import type pg from 'pg'
import { toBase64 } from '../../proof/bytes.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { NamedPeerKey } from '../../signing/peer-macs.ts'
import { bytea, encodeColumn, uuid } from '../connect/binary-array.ts'
import type { Replaced } from '../schema/reseal.ts'

/*
 * Reads and replaces the MACs of peers' keys, over all ledgers. Needs a connection of the database's owner. A MAC makes
 * a key trusted.
 */

export type PeerKeyMac = {
  readonly ledgerId: Uuid
  readonly peerId: Uuid
  readonly kid: Buffer
  readonly named: NamedPeerKey
  readonly mac: Buffer | null
}

export async function listPeerKeyMacs(
  client: pg.ClientBase,
  after: PeerKeyMac | null,
  limit: number,
): Promise<PeerKeyMac[]> {
  const { rows } = await client.query<{
    ledgerId: Uuid
    peerId: Uuid
    kid: Buffer
    alg: string
    spki: Buffer
    mac: Buffer | null
  }>(
    `select ledger_id, peer_id, kid, alg, spki, mac from tallystick.peer_keys
     where $1::uuid is null or (ledger_id, peer_id, kid) > ($1, $2::uuid, $3::bytea)
     order by ledger_id, peer_id, kid limit $4`,
    [after?.ledgerId, after?.peerId, after?.kid, limit],
  )
  return rows.map(({ ledgerId, peerId, kid, alg, spki, mac }) => {
    const key = { kid: kid.toString('hex'), alg, spki: toBase64(spki) }
    const named = { ledger: formatId('led', ledgerId), peer: formatId('peer', peerId), ...key }
    return { ledgerId, peerId, kid, named, mac }
  })
}

/** Replaces those MACs that have not changed since they were read. Returns the number of replaced MACs. */
export async function replacePeerKeyMacs(
  client: pg.ClientBase,
  replaced: readonly Replaced<PeerKeyMac>[],
): Promise<number> {
  const { rowCount } = await client.query(
    `update tallystick.peer_keys k set mac = n.mac
     from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::bytea[]) n (ledger_id, peer_id, kid, old, mac)
     where k.ledger_id = n.ledger_id and k.peer_id = n.peer_id and k.kid = n.kid and k.mac is not distinct from n.old`,
    [
      encodeColumn(uuid, replaced, ({ row }) => row.ledgerId),
      encodeColumn(uuid, replaced, ({ row }) => row.peerId),
      encodeColumn(bytea, replaced, ({ row }) => row.kid),
      encodeColumn(bytea, replaced, ({ row }) => row.mac),
      encodeColumn(bytea, replaced, ({ replacement }) => replacement),
    ],
  )
  return rowCount ?? 0
}
