import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'

/*
 * Rows that an audit compares with what entries say about other ledgers (audited-rows.ts). Progress of sending to a peer, and
 * its answers, are compared with nothing: they are no evidence of this chain.
 */

export type AuditedReceived = {
  seq: number
  peerId: Uuid
  remoteSeq: number
  kind: string
  recordId: Uuid | null
  version: number | null
  leaf: Buffer
  envelope: Buffer
  remote: AuditedRemoteRecord[] | null
}

/** Where another ledger's record stands, by what came. `standing`: JSON. */
export type AuditedRemoteRecord = {
  type: string
  documents: string
  state: string
  version: number
  /** Hex. */
  leaf: string
  standing: string
  firstSeq: number
  lastSeq: number
}

/** `remote` is the row of the record whose event came. */
export const RECEIVED_BY_SEQ = `
  select r.seq, r.peer_id, r.remote_seq, r.kind, r.record_id, r.version, r.leaf, r.envelope,
    case when r.version is not null then (
      select json_agg(json_build_object('type', m.type, 'documents', m.documents, 'state', m.state, 'version', m.version,
        'leaf', encode(m.leaf, 'hex'), 'standing', m.standing, 'firstSeq', m.first_seq, 'lastSeq', m.last_seq))
      from tallystick.remote_records m
      where m.ledger_id = r.ledger_id and m.record_id = r.record_id and m.peer_id = r.peer_id
    ) end as remote
  from tallystick.received_entries r where r.ledger_id = $1 order by r.seq`

export type AuditedReceivedDocument = {
  seq: number
  subject: string
  digest: Buffer
  salt: Buffer | null
  content: Buffer | null
  referenceList: Buffer | null
  erasedSeq: number | null
  /** Leaf received by the entry that is said to have erased it. */
  erasure: Buffer | null
}

export const RECEIVED_DOCUMENTS_BY_SEQ = `
  select d.seq, d.subject, d.digest, d.salt, d.content, d.reference_list, d.erased_seq, x.envelope as erasure
  from tallystick.received_documents d
  left join lateral (
    select x.envelope from tallystick.received_entries x where x.ledger_id = d.ledger_id and x.seq = d.erased_seq limit 1
  ) x on true
  where d.ledger_id = $1 order by d.seq`

export type AuditedOffer = {
  seq: number
  peerId: Uuid
  recordId: Uuid
  version: number
  step: string
  agentId: Uuid
  leaf: Buffer
  state: string
  code: string | null
  decidedSeq: number | null
}

export const OFFERS_BY_SEQ = `
  select seq, peer_id, record_id, version, step, agent_id, leaf, state, code, decided_seq
  from tallystick.offers where ledger_id = $1 order by seq`

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

/** At most some thousands: all at once. Keys in the order in which each ended, in hex and base64. */
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
