import type pg from 'pg'
import { toHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import type { PeeringState } from '../../proof/ledger/peers.ts'
import { compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'

/*
 * Compares peerings, their keys and received types with the peerings that a verifier has rebuilt from entries.
 *
 * The progress of sending to a peer and the peer's answers are not compared, because no entry of this chain contains
 * them.
 */

export type AuditedPeer = {
  peerId: Uuid
  role: string
  state: string
  inviter: string
  invited: string | null
  remoteLedgerId: Uuid | null
  remoteUrl: string | null
  handshake: Buffer | null
  addedSeq: number | null
  addedLeaf: Buffer | null
  counterpart: Buffer | null
  revokedSeq: number | null
  keys: readonly { kid: string; alg: string; spki: string; untilSeq: number | null }[] | null
}

/**
 * Returns all peerings at once, because a ledger has at most some thousands of them. The keys are in the order in which
 * they end. Kids are in hex, and `spki` is in base64.
 */
export async function listAuditedPeers(client: pg.ClientBase, ledgerId: Uuid): Promise<AuditedPeer[]> {
  const { rows } = await client.query<AuditedPeer>(
    `select p.peer_id, p.role, p.state, p.inviter, p.invited, p.remote_ledger_id, p.remote_url, p.handshake,
       p.added_seq, p.added_leaf, p.counterpart, p.revoked_seq,
       (select json_agg(json_build_object('kid', encode(k.kid, 'hex'), 'alg', k.alg,
            'spki', translate(encode(k.spki, 'base64'), E'\\n', ''), 'untilSeq', k.until_seq)
          order by k.until_seq nulls last)
        from tallystick.peer_keys k where k.ledger_id = p.ledger_id and k.peer_id = p.peer_id) as keys
     from tallystick.peers p where p.ledger_id = $1 order by p.added_seq, p.peer_id`,
    [ledgerId],
  )
  return rows
}

export type AuditedReceivedType = { peerId: Uuid; name: string; digest: Buffer; definition: Buffer }

export const RECEIVED_TYPES = `
  select peer_id, name, digest, definition from tallystick.received_types where ledger_id = $1 order by peer_id, digest`

/** Possible states of a peering about which no entry was signed. */
const WITHOUT_ENTRY = ['invited', 'pending', 'revoked']

/** Verifies that each peering with an entry has the right row. All other rows must be of peerings without an entry. */
export function verifyPeers(rows: readonly AuditedPeer[], peerings: Iterable<PeeringState>): void {
  const byId = new Map(rows.map((row) => [row.peerId, row]))
  for (const peering of peerings) {
    const row = byId.get(parseId('peer', peering.peer))
    if (!row) throw contradiction(`peers: no row of ${peering.peer}`)
    byId.delete(row.peerId)
    compareRows('peers', [peerColumns(row)], [peerRow(peering)])
    compareRows('peer_keys', row.keys ?? [], keyRows(peering))
  }
  for (const { peerId, addedSeq, state, keys } of byId.values()) {
    if (addedSeq !== null || keys !== null || !WITHOUT_ENTRY.includes(state))
      throw contradiction(`peers: ${peerId} is ${state}, added at seq ${addedSeq}, but no entry says that`)
  }
}

function peerColumns(row: AuditedPeer) {
  return {
    role: row.role,
    state: row.state,
    inviter: row.inviter,
    invited: row.invited,
    remoteLedgerId: row.remoteLedgerId,
    remoteUrl: row.remoteUrl,
    handshake: row.handshake && toHex(row.handshake),
    addedSeq: row.addedSeq,
    addedLeaf: row.addedLeaf && toHex(row.addedLeaf),
    counterpart: row.counterpart && toHex(row.counterpart),
    revokedSeq: row.revokedSeq,
  }
}

function peerRow(peering: PeeringState): ReturnType<typeof peerColumns> {
  const { ledger, predicate } = peering.added
  const { inviter, invited } = predicate as Record<string, JsonValue>
  return {
    role: (inviter as { ledger: string }).ledger === ledger ? 'inviter' : 'invited',
    state: peering.state,
    inviter: canonicalize(inviter!),
    invited: canonicalize(invited!),
    remoteLedgerId: parseId('led', peering.other.ledger),
    remoteUrl: peering.other.url,
    handshake: peering.handshake,
    addedSeq: peering.addedSeq,
    addedLeaf: peering.addedLeaf,
    counterpart: peering.counterpart,
    revokedSeq: peering.revokedSeq,
  }
}

/** Returns the expected rows of the keys. Each key is valid up to the entry that names its successor. */
function keyRows({ keys }: PeeringState) {
  return keys.map(({ kid, alg, spki }, i) => ({
    kid,
    alg: alg as string,
    spki,
    untilSeq: keys[i + 1]?.since ?? null,
  }))
}

/**
 * Verifies that a received type matches its digest and name and belongs to a peer. Does not verify that a record uses
 * the type.
 */
export function verifyReceivedType(
  { peerId, name, digest, definition }: AuditedReceivedType,
  peers: readonly AuditedPeer[],
  sha256: Sha256,
): void {
  if (!peers.some((peer) => peer.peerId === peerId))
    throw contradiction(`received_types: of no peer ${peerId}`)
  compare('received_types', 'digest', toHex(digest), toHex(sha256(definition)))
  compare('received_types', 'name', name, definedName(definition))
}

function definedName(definition: Buffer): string | null {
  try {
    const { name, version } = JSON.parse(definition.toString('utf8')) as { name: string; version: number }
    return `${name}/${version}`
  } catch {
    return null
  }
}
