import type { AuditedPeer, AuditedReceivedType } from '../db/audit/audited-peer-rows.ts'
import { toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { parseId } from '../proof/ids.ts'
import { canonicalize } from '../proof/json/jcs.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import type { OnOffer } from '../proof/ledger/offers.ts'
import type { OnRemote, PeeringStanding } from '../proof/ledger/peers.ts'
import { compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import type { EntryColumns, OfferColumns, RemoteColumns } from './entry-columns.ts'

/**
 * Rows of what came from other ledgers against that as a verifier has rebuilt it, as GatedStandings does for records of the
 * ledger. An offer's row is held until its answer has come.
 */
export class PeerStandings {
  readonly #remote = new Map<number, RemoteColumns>()
  readonly #offers = new Map<number, OfferColumns>()
  #records = 0
  #shares = 0

  /** How many rows the tables have, if there are no others than those of entries. */
  get counts() {
    return { remote_records: this.#records, shared_records: this.#shares }
  }

  /** The rows of the entry at `seq`. */
  expect(
    seq: number,
    { received, offers, shares }: Pick<EntryColumns, 'received' | 'offers' | 'shares'>,
  ): void {
    this.#shares += shares.length
    for (const offer of offers) this.#offers.set(seq, offer)
    const row = received[0]?.remote.find(({ lastSeq }) => lastSeq === seq)
    if (!row) return
    this.#remote.set(seq, row)
    this.#records++
  }

  /** Throws `columns_contradict_entries`. */
  readonly compareRemote: OnRemote = (seq, _peer, record) => {
    const row = this.#remote.get(seq)
    if (!row) return
    this.#remote.delete(seq)
    compare(
      'remote_records',
      'standing',
      canonicalJson(row.standing),
      canonicalize(record as unknown as JsonValue),
    )
  }

  /** Throws `columns_contradict_entries`. */
  readonly compareOffer: OnOffer = (seq, { state, code }, at) => {
    const row = this.#offers.get(seq)
    if (!row) throw contradiction(`offers: no row of the offer at seq ${seq}, which was ${state}`)
    this.#offers.delete(seq)
    compareRows<Partial<OfferColumns>>('offers', [row], [{ state, code, decidedSeq: at }])
  }

  /** An unanswered offer is pending. */
  finish(): void {
    for (const row of this.#offers.values())
      compareRows<Partial<OfferColumns>>(
        'offers',
        [row],
        [{ state: 'pending', code: null, decidedSeq: null }],
      )
  }
}

/** null for what is no JSON. */
function canonicalJson(text: string): string | null {
  try {
    return canonicalize(JSON.parse(text) as JsonValue)
  } catch {
    return null
  }
}

/** States of a peering that has no entry: nothing was signed about it. */
const WITHOUT_ENTRY = ['invited', 'pending', 'revoked']

/** Every peering that was added has its row, as it stands, and nothing else has one. */
export function verifyPeers(rows: readonly AuditedPeer[], standings: Iterable<PeeringStanding>): void {
  const byId = new Map(rows.map((row) => [row.peerId, row]))
  for (const standing of standings) {
    const row = byId.get(parseId('peer', standing.peer))
    if (!row) throw contradiction(`peers: no row of ${standing.peer}`)
    byId.delete(row.peerId)
    compareRows('peers', [peerColumns(row)], [peerRow(standing)])
    compareRows('peer_keys', row.keys ?? [], keyRows(standing))
  }
  for (const { peerId, addedSeq, state, keys } of byId.values()) {
    if (addedSeq !== null || keys !== null || !WITHOUT_ENTRY.includes(state))
      throw contradiction(`peers: ${peerId} is ${state}, added at seq ${addedSeq}, and no entry says so`)
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

function peerRow(standing: PeeringStanding): ReturnType<typeof peerColumns> {
  const { ledger, predicate } = standing.added
  const { inviter, invited } = predicate as Record<string, JsonValue>
  return {
    role: (inviter as { ledger: string }).ledger === ledger ? 'inviter' : 'invited',
    state: standing.state,
    inviter: canonicalize(inviter!),
    invited: canonicalize(invited!),
    remoteLedgerId: parseId('led', standing.other.ledger),
    remoteUrl: standing.other.url,
    handshake: standing.handshake,
    addedSeq: standing.addedSeq,
    addedLeaf: standing.addedLeaf,
    counterpart: standing.counterpart,
    revokedSeq: standing.revokedSeq,
  }
}

/** Each key up to the entry of its chain that names the next one. */
function keyRows({ keys }: PeeringStanding) {
  return keys.map(({ kid, alg, spki }, i) => ({
    kid,
    alg: alg as string,
    spki,
    untilSeq: keys[i + 1]?.since ?? null,
  }))
}

/** A type that came is of its digest and its name, from a peer. Which record has it, the record's entry says. */
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
