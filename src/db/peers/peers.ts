import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import {
  BUDGET_COLUMNS,
  BUDGET_JOIN,
  type BudgetColumns,
  type PeerBudgetRow,
  toBudget,
} from './peer-budgets.ts'

/**
 * Queries about peerings, with their ledgers and states.
 *
 * src/db/peers/shared-entries.ts has the entries that are sent, and received.ts the entries that are received.
 */

export type PeerState = 'invited' | 'pending' | 'active' | 'suspended' | 'revoked'

export type PeeringKey = { readonly ledgerId: Uuid; readonly peerId: Uuid }

export type PeerRow = {
  readonly peerId: Uuid
  readonly name: string
  readonly role: 'inviter' | 'invited'
  readonly state: PeerState
  readonly createdBy: Uuid
  readonly createdAt: Date
  readonly expiresAt: Date
  /** MAC of the invitation (src/signing/peer-macs.ts). The inviter's side uses it until the handshake. */
  readonly tokenHash: Buffer
  /** Identities of both sides in canonical JSON. `invited` is null before the handshake. */
  readonly inviter: string
  readonly invited: string | null
  readonly remoteLedgerId: Uuid | null
  readonly remoteUrl: string | null
  readonly handshake: Buffer | null
  readonly addedSeq: number | null
  readonly revokedSeq: number | null
  /** State of sending to the peer. null if there was nothing to send yet. */
  readonly drain: PeerDrain | null
  readonly deadLetters: number
  /** True if peer_forks has rows of the peering. src/outside/federation/forks.ts checks whether these are forks. */
  readonly mayHaveForks: boolean
  readonly budget: PeerBudgetRow
  /** State of cosigning. null if neither side has requested a cosignature. */
  readonly witness: PeerWitnessRow | null
}

/**
 * Cosigned sizes of a peering. `cosignedSize` is the largest size of this ledger that the peer has cosigned. `seenSize`
 * is the largest size of the peer's ledger that this server has cosigned. A size is 0 if nothing was cosigned.
 */
type PeerWitnessRow = {
  readonly key: string | null
  readonly cosignedSize: number
  readonly seenSize: number
  readonly fork: { readonly held: string; readonly note: string } | null
}

type PeerDrain = {
  readonly nextSeq: number
  readonly size: number
  readonly failures: number
  readonly failingSince: Date | null
  readonly lastError: string | null
  readonly lastSuccessAt: Date | null
  readonly resumeAt: Date | null
}

type PeerColumns = {
  peerId: Uuid
  name: string
  role: 'inviter' | 'invited'
  state: PeerState
  createdBy: Uuid
  createdAt: Date
  expiresAt: Date
  tokenHash: Buffer
  inviter: string
  invited: string | null
  remoteLedgerId: Uuid | null
  remoteUrl: string | null
  handshake: Buffer | null
  addedSeq: number | null
  revokedSeq: number | null
  nextSeq: number | null
  size: number
  failures: number
  failingSince: Date | null
  lastError: string | null
  lastSuccessAt: Date | null
  resumeAt: Date | null
  deadLetters: number
  forked: boolean
  witness: PeerWitnessRow | null
} & BudgetColumns

const SELECT_PEERS = `select p.peer_id, p.name, p.role, p.state, p.created_by, p.created_at, p.expires_at, p.token_hash,
    p.inviter, p.invited, p.remote_ledger_id, p.remote_url, p.handshake, p.added_seq, p.revoked_seq,
    c.next_seq, h.size, c.failures, c.failing_since, c.last_error, c.last_success_at, c.resume_at,
    (select count(*) from tallystick.peer_dead_letters d where d.ledger_id = p.ledger_id and d.peer_id = p.peer_id) as dead_letters,
    exists (select from tallystick.peer_forks f where f.ledger_id = p.ledger_id and f.peer_id = p.peer_id) as forked,
    (select jsonb_build_object('key', w.remote_key, 'seenSize', coalesce(w.seen_size, 0),
        'fork', case when w.fork_note is not null then jsonb_build_object('held', w.fork_held, 'note', w.fork_note) end,
        'cosignedSize', coalesce((
          select max(s.size) from tallystick.cosignatures s where s.ledger_id = w.ledger_id and s.witness_kid = w.remote_kid), 0))
      from tallystick.peer_witnesses w where w.ledger_id = p.ledger_id and w.peer_id = p.peer_id) as witness,
    ${BUDGET_COLUMNS}
  from tallystick.peers p join tallystick.chain_heads h on h.ledger_id = p.ledger_id
  left join tallystick.peer_cursors c on c.ledger_id = p.ledger_id and c.peer_id = p.peer_id
  ${BUDGET_JOIN}`

export async function findPeer(db: Db, ledgerId: Uuid, peerId: Uuid): Promise<PeerRow | null> {
  const { rows } = await db.query<PeerColumns>({
    name: 'find_peer',
    text: `${SELECT_PEERS} where p.ledger_id = $1 and p.peer_id = $2`,
    values: [ledgerId, peerId],
  })
  return rows[0] ? toRow(rows[0]) : null
}

/** Lists peerings in the order of their ids. Begins after the peering `after`. */
export async function listPeers(
  db: Db,
  ledgerId: Uuid,
  page: { readonly after: Uuid | null; readonly limit: number },
): Promise<PeerRow[]> {
  const { rows } = await db.query<PeerColumns>({
    name: 'list_peers',
    text: `${SELECT_PEERS} where p.ledger_id = $1 and ($2::uuid is null or p.peer_id > $2) order by p.peer_id limit $3`,
    values: [ledgerId, page.after, page.limit],
  })
  return rows.map(toRow)
}

function toRow(row: PeerColumns): PeerRow {
  return {
    peerId: row.peerId,
    name: row.name,
    role: row.role,
    state: row.state,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    tokenHash: row.tokenHash,
    inviter: row.inviter,
    invited: row.invited,
    remoteLedgerId: row.remoteLedgerId,
    remoteUrl: row.remoteUrl,
    handshake: row.handshake,
    addedSeq: row.addedSeq,
    revokedSeq: row.revokedSeq,
    drain:
      row.nextSeq === null
        ? null
        : {
            nextSeq: row.nextSeq,
            size: row.size,
            failures: row.failures,
            failingSince: row.failingSince,
            lastError: row.lastError,
            lastSuccessAt: row.lastSuccessAt,
            resumeAt: row.resumeAt,
          },
    deadLetters: row.deadLetters,
    mayHaveForks: row.forked,
    budget: toBudget(row),
    witness: row.witness,
  }
}

/** Identity of a ledger of this server for other servers, with the ledger's signing key. */
type SelfRow = {
  readonly issuer: string
  readonly origin: string
  readonly genesis: Buffer
  /** Kid of the key for the ledger's next entry, in lower-case hex. */
  readonly envelopeKid: string
  readonly alg: 'EdDSA' | 'ES256'
  readonly spki: Buffer
}

/** Returns the ledger's identity. Throws if the ledger does not exist. */
export async function getSelf(db: Db, ledgerId: Uuid): Promise<SelfRow> {
  const { rows } = await db.query<{
    issuer: string
    origin: string
    leaf: Buffer
    kid: Buffer
    alg: 'EdDSA' | 'ES256'
    spki: Buffer
  }>({
    name: 'get_self',
    text: `select l.issuer, l.origin, e.leaf, k.kid, k.alg, k.spki
      from tallystick.ledgers l
      join tallystick.chain_heads h on h.ledger_id = l.ledger_id
      join tallystick.entries e on e.ledger_id = l.ledger_id and e.seq = 0
      join tallystick.server_keys k on k.kid = h.envelope_kid
      where l.ledger_id = $1`,
    values: [ledgerId],
  })
  const row = rows[0]
  if (!row) throw new Error('there is no such ledger')
  return {
    issuer: row.issuer,
    origin: row.origin,
    genesis: row.leaf,
    envelopeKid: row.kid.toString('hex'),
    alg: row.alg,
    spki: row.spki,
  }
}

/**
 * A key of the other ledger. `untilSeq` is the last entry of its chain that the key signs. null if the key is still in
 * use.
 */
export type PeerKeyRow = {
  readonly kid: string
  readonly alg: 'EdDSA' | 'ES256'
  readonly spki: Buffer
  readonly untilSeq: number | null
  /** MAC of the key. null if the key has no MAC. A key without a MAC is not trusted. */
  readonly mac: Buffer | null
}

/** SQL for the other ledger's keys of peering `p`, as JSON, oldest first. */
export const PEER_KEYS = `coalesce((
    select jsonb_agg(jsonb_build_object('kid', encode(k.kid, 'hex'), 'alg', k.alg, 'spki', encode(k.spki, 'base64'),
      'until', k.until_seq, 'mac', encode(k.mac, 'hex')) order by k.until_seq nulls last)
    from tallystick.peer_keys k where k.ledger_id = p.ledger_id and k.peer_id = p.peer_id), '[]')`

export type PeerKeyColumns = readonly {
  kid: string
  alg: 'EdDSA' | 'ES256'
  spki: string
  until: number | null
  mac: string | null
}[]

export function toPeerKeys(keys: PeerKeyColumns): PeerKeyRow[] {
  return keys.map(({ spki, until, mac, ...key }) => ({
    ...key,
    spki: Buffer.from(spki, 'base64'),
    untilSeq: until,
    mac: mac === null ? null : Buffer.from(mac, 'hex'),
  }))
}

/** Facts about a peering that are needed to check a request of the peer. */
export type PeerContact = {
  readonly state: PeerState
  readonly handshake: Buffer | null
  /** Leaf of our `peer-added` entry in lower-case hex. null if there is no such entry. */
  readonly addedLeaf: string | null
  readonly issuer: string
  readonly envelopeKid: string
  /** Keys of the other ledger, oldest first. */
  readonly keys: readonly PeerKeyRow[]
  readonly budget: PeerBudgetRow
}

export type ContactKey = Record<'ledgerId' | 'peerId' | 'remoteLedgerId', Uuid>

type ContactColumns = BudgetColumns & {
  ix: string
  state: PeerState
  handshake: Buffer | null
  addedLeaf: Buffer | null
  issuer: string
  envelopeKid: Buffer
  keys: PeerKeyColumns
}

/**
 * Returns the peerings in the order of `wanted`. The result has null if the ledger has no such peering with the other
 * ledger.
 *
 * A peering without an entry has no keys. The returned keys are unverified: findAuthenticContact in
 * src/outside/federation/peer-keys.ts decides which keys are trusted.
 */
export async function findContacts(db: Db, wanted: readonly ContactKey[]): Promise<(PeerContact | null)[]> {
  const { rows } = await db.query<ContactColumns>({
    name: 'find_peer_contacts',
    text: `select w.ix, p.state, p.handshake, p.added_leaf, l.issuer, h.envelope_kid, ${PEER_KEYS} as keys,
        ${BUDGET_COLUMNS}
      from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality w (ledger_id, peer_id, remote_ledger_id, ix)
      cross join lateral (
        select x.ledger_id, x.peer_id, x.state, x.handshake, x.added_leaf from tallystick.peers x
        where x.ledger_id = w.ledger_id and x.peer_id = w.peer_id and x.remote_ledger_id = w.remote_ledger_id offset 0
      ) p
      join tallystick.ledgers l on l.ledger_id = p.ledger_id
      join tallystick.chain_heads h on h.ledger_id = p.ledger_id
      ${BUDGET_JOIN}`,
    values: [
      wanted.map(({ ledgerId }) => ledgerId),
      wanted.map(({ peerId }) => peerId),
      wanted.map(({ remoteLedgerId }) => remoteLedgerId),
    ],
  })
  const found = new Array<PeerContact | null>(wanted.length).fill(null)
  for (const row of rows) found[Number(row.ix) - 1] = toContact(row)
  return found
}

export async function findContact(db: Db, wanted: ContactKey): Promise<PeerContact | null> {
  const [contact] = await findContacts(db, [wanted])
  return contact!
}

function toContact(row: ContactColumns): PeerContact {
  return {
    state: row.state,
    handshake: row.handshake,
    addedLeaf: row.addedLeaf?.toString('hex') ?? null,
    issuer: row.issuer,
    envelopeKid: row.envelopeKid.toString('hex'),
    keys: toPeerKeys(row.keys),
    budget: toBudget(row),
  }
}

/** Creates an invitation. Returns false if the ledger has too many peerings. `inviter` is canonical JSON. */
export async function invitePeer(
  db: Db,
  ledgerId: Uuid,
  peer: {
    readonly peerId: Uuid
    readonly name: string
    readonly agentId: Uuid
    readonly tokenHash: Uint8Array
    readonly expiresAt: Date
    readonly inviter: string
  },
  limits: { readonly openMax: number; readonly peersMax: number },
): Promise<boolean> {
  const { rows } = await db.query<{ made: boolean }>(
    'select tallystick.invite_peer($1, $2, $3, $4, $5, $6, $7, $8, $9) as made',
    [
      ledgerId,
      peer.peerId,
      peer.name,
      peer.agentId,
      peer.tokenHash,
      peer.expiresAt,
      peer.inviter,
      limits.openMax,
      limits.peersMax,
    ],
  )
  return rows[0]!.made
}

/**
 * Accepts an invitation. Returns false if the ledger has too many peerings. If the peering exists already, throws the
 * error of the constraint peers_pkey or peers_remote.
 */
export async function acceptPeer(
  db: Db,
  ledgerId: Uuid,
  peer: {
    readonly peerId: Uuid
    readonly name: string
    readonly agentId: Uuid
    readonly tokenHash: Uint8Array
    readonly expiresAt: Date
    readonly sealedToken: Uint8Array
    readonly inviter: string
    readonly remoteLedgerId: Uuid
    readonly remoteUrl: string
    readonly ownKid: Uint8Array
  },
  peersMax: number,
): Promise<boolean> {
  const { rows } = await db.query<{ made: boolean }>(
    'select tallystick.accept_peer($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as made',
    [
      ledgerId,
      peer.peerId,
      peer.name,
      peer.agentId,
      peer.tokenHash,
      peer.expiresAt,
      peer.sealedToken,
      peer.inviter,
      peer.remoteLedgerId,
      peer.remoteUrl,
      peer.ownKid,
      peersMax,
    ],
  )
  return rows[0]!.made
}

/** Withdraws an invitation. Returns false if the peering already has an entry or was withdrawn before. */
export async function withdrawPeer(db: Db, ledgerId: Uuid, peerId: Uuid): Promise<boolean> {
  const { rows } = await db.query<{ done: boolean }>('select tallystick.withdraw_peer($1, $2) as done', [
    ledgerId,
    peerId,
  ])
  return rows[0]!.done
}
