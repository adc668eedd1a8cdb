import type { ReceivedConsequences } from '../../db/chain/entry-details.ts'
import type { PeerContact } from '../../db/peers/peers.ts'
import type { KnownRecord, OwnOffer, StoredEntry } from '../../db/peers/received.ts'
import { BUILT_IN_TYPES } from '../../ledgers/types/built-in.ts'
import { toHex } from '../../proof/bytes.ts'
import { signedDocuments } from '../../proof/entry/verify-entry.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import type { Uuid } from '../../proof/ids.ts'
import { beginGated, type GatedRecord, stepGated } from '../../proof/ledger/gated-record.ts'
import type { EntryKind } from '../../proof/statement/kinds.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { type ParsedStatement, parseStatement } from '../../proof/statement/statement.ts'
import { termsOfOffer, termsOfTaken, verifyTaken } from '../../proof/statement/taken-offer.ts'
import type { PeeringIds } from './authenticate.ts'
import { PEER_OFFERS_MAX } from './limits.ts'
import { EntryRefused, eventOf, type ProposedEntry, type SentTypes } from './proposed.ts'

/** Stored state on which decisions about a request depend. Each accepted entry of the request changes this state. */
export type StoredState = {
  readonly ids: PeeringIds
  readonly contact: PeerContact
  state: PeerContact['state']
  /** Maps a seq to the stored entry of the peer. `envelope` is read only if an erasure names the entry. */
  readonly storedEntries: Map<number, Pick<StoredEntry, 'leaf' | 'receipt' | 'envelope'>>
  /** Maps `recordId version` to the leaf hash of the stored entry. */
  readonly versions: Map<string, string>
  readonly records: Map<string, KnownRecord>
  readonly offers: Map<number, OwnOffer>
  readonly types: SentTypes
  readonly receivedTypes: ReadonlySet<string>
}

/**
 * Decision about an entry of a peer.
 *
 * - `stored`: the entry is already stored.
 * - `missing`: earlier entries of the record have to come first.
 * - `receive`: an `entry-received` is appended, with the `consequences` in its detail
 *   (migrations/functions/append-received.sql).
 * - `offer`: the entry is an offer, and this ledger decides about it as the record's home.
 */
export type Decision =
  | { readonly todo: 'stored'; readonly receipt: Uint8Array }
  | { readonly todo: 'missing'; readonly record: string; readonly version: number }
  | { readonly todo: 'receive'; readonly consequences: ReceivedConsequences }
  | { readonly todo: 'offer' }

/**
 * Decides about an entry of a peer that is valid by itself. Throws EntryRefused or ProofError if the entry is refused
 * for good.
 */
export function decide(known: StoredState, entry: ProposedEntry): Decision {
  const stored = known.storedEntries.get(entry.seq)
  if (stored?.leaf === entry.leaf) return { todo: 'stored', receipt: stored.receipt }
  if (stored) throw forked(entry, stored.leaf)
  const { kind } = entry.statement
  refuseInactive(known, kind)
  switch (kind) {
    case 'peer-added':
      return decideAdded(known, entry)
    case 'peer-revoked':
      return decideRevoked(known, entry)
    case 'record-shared':
      return decideShared(known, entry)
    case 'payload-erased':
      return decideErasure(known, entry)
    case 'offer-refused':
      return decideRefusal(known, entry)
    case 'step-offered':
      return decideOffer(known, entry)
    default:
      return decideEvent(known, entry)
  }
}

/**
 * Throws EntryRefused if the peering does not accept the entry now. Earlier entries, even of the same request, may have
 * changed the peering.
 */
function refuseInactive({ state }: StoredState, kind: EntryKind): void {
  const isOfHandshake = kind === 'peer-added' || kind === 'peer-revoked'
  const isTimely = state === 'active' || (state === 'pending' && isOfHandshake)
  if (!isTimely) throw new EntryRefused('peer_not_active', `${kind} while the peering is ${state}`)
}

function receive(consequences: ReceivedConsequences): Decision {
  return { todo: 'receive', consequences }
}

function forked(entry: ProposedEntry, storedLeaf: string): EntryRefused {
  return new EntryRefused('fork', `another entry is stored at the position of ${entry.leaf}`, storedLeaf)
}

function predicateOf({ statement }: ProposedEntry): Readonly<Record<string, unknown>> {
  return statement.predicate
}

function requireHandshake({ ids, contact }: StoredState, { statement }: ProposedEntry): void {
  const [{ name, sha256 }] = statement.subjects
  if (contact.handshake === null || name !== ids.peer || sha256 !== toHex(contact.handshake))
    throw new EntryRefused('handshake_mismatch', 'the entry is about another handshake')
}

/** Decides about the `peer-added` of the other side. That entry must name our own `peer-added` by its leaf hash. */
function decideAdded(known: StoredState, entry: ProposedEntry): Decision {
  if (known.state !== 'pending')
    throw new EntryRefused('handshake_mismatch', 'a peer-added entry was received before')
  const { counterpart } = predicateOf(entry)
  const { addedLeaf } = known.contact
  if (addedLeaf === null || counterpart !== addedLeaf)
    throw new EntryRefused('handshake_mismatch', `the counterpart of the entry is not ${addedLeaf}`)
  return changePeering(known, entry, { state: 'active', counterpart: entry.leaf })
}

function decideRevoked(known: StoredState, entry: ProposedEntry): Decision {
  return changePeering(known, entry, { state: 'revoked' })
}

function changePeering(
  known: StoredState,
  entry: ProposedEntry,
  change: { readonly state: 'active' | 'revoked'; readonly counterpart?: string },
): Decision {
  requireHandshake(known, entry)
  known.state = change.state
  return receive({ peer: { peerId: known.ids.peerId, ...change } })
}

type SharedWith = readonly { readonly peer: string; readonly documents: 'whole' | 'digests' }[]

function modeOf(known: StoredState, share: unknown): 'whole' | 'digests' | null {
  return ((share ?? []) as SharedWith).find(({ peer }) => peer === known.ids.peer)?.documents ?? null
}

function decideShared(known: StoredState, entry: ProposedEntry): Decision {
  const record = recordOf(known, entry)
  if (modeOf(known, predicateOf(entry)['share']) === null)
    throw new EntryRefused('not_shared', `the entry shares ${entry.record!.name} with other peers`)
  const shares = [...record.shares, Buffer.from(entry.envelope)]
  known.records.set(record.recordId, { ...record, shares })
  return receive({})
}

/** Returns the record of an entry. Throws EntryRefused if the record's home is this ledger. */
function recordOf(known: StoredState, { record, statement }: ProposedEntry): KnownRecord {
  const found = known.records.get(record!.id)!
  if (!found.isOwn) return found
  throw new EntryRefused(
    'not_home',
    `the home of ${record!.name} is ${known.ids.ledger}: ${statement.kind} of another ledger cannot change the record`,
  )
}

/** Decides about an erasure by the home: our copy of the erased document is erased too. */
function decideErasure(known: StoredState, entry: ProposedEntry): Decision {
  const of = known.storedEntries.get(predicateOf(entry)['seq'] as number)
  if (!of) throw new EntryRefused('not_shared', 'the entry of the erased document was not received')
  const [digested] = signedDocuments(parseStatement(parseEnvelope(of.envelope!).payload))
  const [{ name, sha256 }] = entry.statement.subjects
  if (digested?.name !== name || digested.sha256 !== sha256)
    throw new EntryRefused(
      'erasure_of_nothing',
      `the erased entry has no digest of ${name}, or a different digest`,
    )
  return receive({
    erased: { peerId: known.ids.peerId, remoteSeq: predicateOf(entry)['seq'] as number },
  })
}

function decideRefusal(known: StoredState, entry: ProposedEntry): Decision {
  const { received, code, peer } = predicateOf(entry) as {
    received: { ledger: string; seq: number; leaf: string }
    code: string
    peer: string
  }
  if (peer !== known.ids.peer)
    throw new EntryRefused('not_shared', 'the entry answers an offer of another peering')
  decideOwnOffer(known, received, entry.record!.id)
  return receive({ offer: { seq: received.seq, state: 'refused', code } })
}

/**
 * Returns the statement of our offer and marks the offer as answered. Throws EntryRefused if the offer is unknown or
 * was answered before.
 */
function decideOwnOffer(
  known: StoredState,
  { ledger, seq, leaf }: { readonly ledger: string; readonly seq: number; readonly leaf: string },
  recordId: Uuid,
): ParsedStatement {
  const offer = known.offers.get(seq)
  if (ledger !== known.ids.ledger || offer?.leaf !== leaf || offer.recordId !== recordId)
    throw new EntryRefused('offer_unknown', `${ledger} has made no such offer`)
  if (offer.isDecided)
    throw new EntryRefused('offer_answered_twice', `the offer at seq ${seq} was answered before`)
  known.offers.set(seq, { ...offer, isDecided: true })
  return parseStatement(parseEnvelope(offer.envelope).payload)
}

/**
 * Decides about a step that an agent of the peer offers for a record of ours. Here the offer is only checked for its
 * form. The record's lifecycle decides later whether the step is accepted.
 */
function decideOffer(known: StoredState, entry: ProposedEntry): Decision {
  if (predicateOf(entry)['peer'] !== known.ids.peer)
    throw new EntryRefused('not_shared', 'the offer is for another peering')
  const { isShared, offers } = known.records.get(entry.record!.id)!
  if (!isShared) throw new EntryRefused('not_shared', `${entry.record!.name} is not shared with this peer`)
  if (offers >= PEER_OFFERS_MAX)
    throw new EntryRefused(
      'too_many_offers',
      `${entry.record!.name} already has ${offers} answered offers, the most allowed`,
    )
  if (entry.documentState === 'absent')
    throw new EntryRefused('document_presence', 'the offer was sent without its evidence')
  return { todo: 'offer' }
}

/** Decides about a step of the peer's record. The earlier steps of that record determine which step may come next. */
function decideEvent(known: StoredState, entry: ProposedEntry): Decision {
  const record = recordOf(known, entry)
  const version = entry.version!
  const held = known.versions.get(`${record.recordId} ${version}`)
  if (held !== undefined) throw forked(entry, held)
  const before = record.remote
  const next = (before?.standing.version ?? 0) + 1
  if (version > next) return { todo: 'missing', record: entry.record!.name, version: next }
  if (version < next) throw new EntryRefused('version_mismatch', `version ${version} after ${next - 1}`)
  const documents = before?.documents ?? requireShare(known, entry, record)
  verifyDocuments(documents, entry)
  const standing = before === null ? beginGated(eventOf(entry)) : follow(before.standing, entry)
  const offer = takenOffer(known, entry)
  const definition = before === null ? requireType(known, entry) : null
  const type = before?.type ?? (predicateOf(entry)['type'] as string)
  known.records.set(record.recordId, { ...record, remote: { type, documents, standing } })
  known.versions.set(`${record.recordId} ${version}`, entry.leaf)
  return receive({
    ...(definition !== null && { type: { peerId: known.ids.peerId, name: type, definition } }),
    ...(offer !== null && { offer: { seq: offer, state: 'taken' } }),
    standing: {
      peerId: known.ids.peerId,
      recordId: record.recordId,
      type,
      documents,
      state: standing.state,
      version,
      leaf: entry.leaf,
      standing: JSON.stringify(standing),
    },
  })
}

function follow(before: GatedRecord, entry: ProposedEntry): GatedRecord {
  const standing = { ...before }
  stepGated(standing, eventOf(entry))
  return standing
}

/**
 * Returns whether the home shares the record's documents whole or as digests. The record's creation or an earlier
 * `record-shared` entry states this. Throws EntryRefused if the record is not shared.
 */
function requireShare(
  known: StoredState,
  entry: ProposedEntry,
  { shares }: KnownRecord,
): 'whole' | 'digests' {
  const later = shares.map((envelope) => parseStatement(parseEnvelope(envelope).payload).predicate['share'])
  for (const share of [predicateOf(entry)['share'], ...later]) {
    const documents = modeOf(known, share)
    if (documents !== null) return documents
  }
  throw new EntryRefused('not_shared', `${entry.record!.name} is not shared with this ledger`)
}

function verifyDocuments(mode: 'whole' | 'digests', { documentState, statement }: ProposedEntry): void {
  const isShared = mode === 'whole'
  const isThere = documentState === 'given' || documentState === 'erased'
  if (documentState === 'none' || isThere === isShared) return
  throw new EntryRefused(
    'document_presence',
    `a document of ${statement.kind} ${isShared ? 'is missing' : 'is not shared'}`,
  )
}

/**
 * Returns the type's definition from the request. Returns null if the definition is already stored or built in. Throws
 * EntryRefused if the definition is missing.
 */
function requireType(known: StoredState, entry: ProposedEntry): string | null {
  const { type, typeDigest } = predicateOf(entry) as { type: string; typeDigest: string }
  if (BUILT_IN_TYPES.get(type)?.digest === typeDigest || known.receivedTypes.has(typeDigest)) return null
  const sent = known.types.get(typeDigest)
  if (sent?.name !== type)
    throw new EntryRefused('type_missing', `the definition of the type ${type} was not sent`)
  return sent.canonical
}

/**
 * Returns the seq of our agent's offer from which the home made this step. Returns null if the step's actor is not an
 * agent of ours. Throws if the step differs from the offer.
 */
function takenOffer(known: StoredState, entry: ProposedEntry): number | null {
  const { offer, actor } = predicateOf(entry) as {
    offer?: { peer: string; ledger: string; seq: number; leaf: string }
    actor: string
  }
  const remote = parseRemoteAgent(actor)
  if (remote === null || remote.ledger !== known.ids.ledger) return null
  if (offer?.peer !== known.ids.peer)
    throw new EntryRefused('offer_unknown', `this step of ${actor} was not offered through this peering`)
  const offered = decideOwnOffer(known, offer, entry.record!.id)
  verifyTaken(termsOfOffer(offered), termsOfTaken(entry.statement))
  return offer.seq
}
