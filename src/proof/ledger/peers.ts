import { toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import type { EntryStep } from '../entry/entry-step.ts'
import { IdTable } from '../entry/id-table.ts'
import { type ReceivedClaims, type ReceivedEntry, receivedClaimsOf } from '../entry/verify-received.ts'
import { ProofError } from '../error.ts'
import { parseIdBytes } from '../ids.ts'
import { takenOfferOf } from '../statement/federation-statements.ts'
import type { EntryKind, Subject } from '../statement/kinds.ts'
import { type StateOf, stateAfter, statesBefore } from '../statement/machines.ts'
import { parseRemoteAgent } from '../statement/remote-agents.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import type { GatedRecord, RecordEvent } from './gated-record.ts'
import { LedgerOffers, type OnOffer } from './offers.ts'
import { type NamedKey, PeerHistory, type PeerKey } from './peer-history.ts'
import type { LedgerRecords } from './records.ts'

/** Identity of a ledger in a handshake, without its URL and its key. */
type Self = { readonly ledger: string; readonly origin: string; readonly genesis: string }

type Identity = Self & { readonly url: string; readonly envelopeKey: NamedKey }

/**
 * Called for each received event of another ledger's record. `record`: the record's state after the event. The callback
 * must neither store nor change `record`.
 */
export type OnRemote = (seq: number, peer: string, record: Readonly<GatedRecord>) => void

export type PeersObserver = {
  readonly onRemote?: OnRemote | undefined
  readonly onOffer?: OnOffer | undefined
}

export type PeeringState = Readonly<Omit<Peering, 'history' | 'shared'>> & {
  readonly keys: readonly PeerKey[]
}

type PeerAddedPredicate = {
  readonly inviter: Identity
  readonly invited: Identity
  readonly counterpart?: string
}

type Peering = {
  readonly peer: string
  readonly other: Identity
  readonly handshake: string
  readonly addedSeq: number
  readonly addedLeaf: string
  readonly added: ParsedStatement
  /** Leaf of the other side's `peer-added` entry. null until that entry is received. */
  counterpart: string | null
  revokedSeq: number | null
  /**
   * State of the peering. It is `pending` if this side is the inviter and has not yet received the other side's
   * `peer-added`.
   */
  state: StateOf<'peering'>
  readonly history: PeerHistory
  /** Records of this ledger that are shared with the other ledger. */
  readonly shared: IdTable
}

/** Kinds of entries that may be received before the handshake is complete. */
const OF_PENDING: ReadonlySet<EntryKind> = new Set(['peer-added', 'peer-revoked', 'server-key-rotated'])

/**
 * The peers of a ledger, rebuilt from the ledger's own entries (docs/formats/federation.md). For each peer this class
 * knows the shared records and the received entries. It verifies that the peer signed the received entries.
 *
 * A dishonest operator can write anything into its own ledger, because the chain accepts whatever the operator signs.
 * But the operator must not be able to invent entries of other ledgers. So each received envelope is verified with the
 * other ledger's key. The handshake and the rotations in the other chain name that key.
 */
export class LedgerPeers {
  readonly #providers: ProofProviders
  readonly #records: LedgerRecords
  readonly #idSeed: number
  readonly #peerings = new Map<string, Peering>()
  /** Maps another ledger to the newest peering with it. All earlier peerings with that ledger are revoked. */
  readonly #newestWith = new Map<string, Peering>()
  readonly #offers: LedgerOffers
  readonly #observer: PeersObserver
  #self: Self | null = null

  constructor(
    providers: ProofProviders,
    records: LedgerRecords,
    idSeed: number,
    observer: PeersObserver = {},
  ) {
    this.#providers = providers
    this.#records = records
    this.#idSeed = idSeed
    this.#observer = observer
    this.#offers = new LedgerOffers(observer.onOffer)
  }

  /** Yields all peerings, revoked ones included, in the order of their `peer-added`. */
  *states(): Generator<PeeringState> {
    for (const { history, ...standing } of this.#peerings.values()) yield { ...standing, keys: history.keys }
  }

  begin(self: Self): void {
    this.#self = self
  }

  /** Adds the peering of a `peer-added` entry of this ledger. `kid`: kid of the ledger's current key. */
  add(step: EntryStep, statement: ParsedStatement, kid: string): void {
    const [{ name: peer, sha256: handshake }] = statement.subjects
    const { inviter, invited, counterpart = null } = statement.predicate as unknown as PeerAddedPredicate
    const isInviter = inviter.ledger === step.ledger
    const [own, other] = isInviter ? [inviter, invited] : [invited, inviter]
    this.#verifySelf(own, kid)
    this.#verifyNew(peer, other.ledger)
    const peering: Peering = {
      peer,
      other,
      handshake,
      addedSeq: step.seq,
      addedLeaf: toHex(step.leaf),
      added: statement,
      counterpart,
      revokedSeq: null,
      state: stateAfter('peering', null, statement.kind, isInviter ? 'inviter' : 'invited')!,
      history: new PeerHistory(this.#providers.sha256, other.envelopeKey, this.#idSeed),
      shared: new IdTable(this.#idSeed),
    }
    this.#peerings.set(peer, peering)
    this.#newestWith.set(other.ledger, peering)
  }

  /**
   * Applies a change of the peering's state. `seq`: the entry of this ledger that makes the change, or that receives
   * the change from the peer.
   */
  change(subject: Subject, kind: EntryKind, seq: number): void {
    const peering = this.#change(subject, kind)
    if (peering.state === 'revoked') peering.revokedSeq = seq
  }

  /**
   * Stores with which peers a `record-created` or `record-shared` entry shares its record. Throws `not_shared` if a
   * remote agent performs the record, but the record is not shared with that agent's ledger.
   */
  share(seq: number, { subjects, predicate }: ParsedStatement): void {
    const share = (predicate['share'] ?? []) as readonly { readonly peer: string }[]
    const performer = parseRemoteAgent((predicate['performer'] ?? '') as string)
    const ledgers = share.map(({ peer }) => this.#shareWith(peer, subjects[0].name, seq))
    if (performer && !ledgers.includes(performer.ledger))
      throw new ProofError(
        'not_shared',
        `the record's performer is an agent of ${performer.ledger}, but the record is not shared with that ledger`,
      )
  }

  /**
   * Applies a `step-offered` of this ledger. If the record has changed in the other ledger meanwhile, the other ledger
   * refuses the offer.
   */
  offer(step: EntryStep, statement: ParsedStatement): void {
    const [{ name, sha256 }] = statement.subjects
    const peering = this.#find(statement.predicate['peer'] as string)
    if (peering.state !== 'active') throw notActive(peering)
    peering.history.verifyRecord(name, sha256)
    this.#offers.offer(step.seq, toHex(step.leaf), statement)
  }

  /**
   * Verifies and applies an entry of the other ledger. `step`: the entry of this ledger that received it. If `step`
   * takes an offer, the caller must change the state of the record.
   */
  receive(step: EntryStep, received: ReceivedEntry): void {
    const statement = step.statement!
    const claims = receivedClaimsOf(statement)! // verifyReceived has checked that the claims exist.
    const peering = this.#find(claims.peer)
    if (claims.ledger !== peering.other.ledger)
      throw new ProofError(
        'ledger_foreign',
        `an entry of ${claims.ledger} was received through the peering with another ledger, ${peering.other.ledger}`,
      )
    if (statement.kind === 'peer-key-rotated') verifyAbout(peering, statement.subjects[0])
    peering.history.verifySigner(claims.seq, received, this.#providers.verifySignature)
    if (peering.state !== 'active' && !(peering.state === 'pending' && OF_PENDING.has(claims.kind)))
      throw notActive(peering)
    if (!peering.history.addEntry(claims.seq, received.statement, step.seq)) {
      const code = claims.kind === 'step-offered' ? 'offer_answered_twice' : 'received_twice'
      throw new ProofError(code, `entry ${claims.seq} of ${claims.ledger}`)
    }
    this.#follow(peering, claims, received, step)
  }

  #follow(
    peering: Peering,
    claims: ReceivedClaims,
    { leaf, statement }: ReceivedEntry,
    step: EntryStep,
  ): void {
    const { history } = peering
    switch (claims.kind) {
      case 'peer-added':
        this.#greet(peering, leaf, statement)
        break
      case 'peer-revoked':
        this.change(statement.subjects[0], statement.kind, step.seq)
        break
      case 'server-key-rotated':
        history.rotate(statement.predicate['newKey'] as NamedKey, claims.seq)
        break
      case 'step-offered':
        if (step.kind !== 'offer-refused') verifyShared(peering, claims.record!)
        break
      case 'offer-refused':
        this.#refuseOffer(statement, step.seq)
        break
      case 'record-shared':
        this.#verifyHome(claims.record!)
        history.share(claims.record!)
        break
      case 'payload-erased': {
        history.verifyDigested(statement.predicate['seq'] as number, statement.subjects[0])
        break
      }
      default:
        this.#moveRecord(peering, step.seq, {
          seq: claims.seq,
          leaf,
          atMs: statement.recordedAtMs,
          statement,
        })
    }
  }

  #moveRecord({ peer, history }: Peering, at: number, event: RecordEvent): void {
    const { kind, subjects, predicate } = event.statement
    this.#verifyHome(subjects[0].name)
    const record = kind === 'record-created' ? history.create(event, peer, at) : history.step(event)
    this.#observer.onRemote?.(at, peer, record)
    const offer = takenOfferOf(predicate)
    if (offer?.ledger !== this.#self!.ledger) return
    if (offer.peer !== peer)
      throw new ProofError(
        'offer_mismatch',
        `the offer was made to ${offer.peer}, but its answer came from ${peer}`,
      )
    this.#offers.take(offer, event.statement, at)
  }

  #verifyHome(record: string): void {
    if (this.#records.has(record))
      throw new ProofError(
        'not_home',
        `the home of ${record} is this ledger, so no peer can send steps of the record`,
      )
  }

  #refuseOffer(statement: ParsedStatement, at: number): void {
    const offer = receivedClaimsOf(statement)!
    if (offer.ledger !== this.#self!.ledger)
      throw new ProofError(
        'offer_mismatch',
        `the refused offer was made by ${offer.ledger}, not by this ledger`,
      )
    this.#offers.refuse(offer, statement, at)
  }

  /** Applies the `peer-added` of the invited side. That entry must name the leaf of the inviter's `peer-added`. */
  #greet(peering: Peering, leaf: string, { kind, subjects, predicate }: ParsedStatement): void {
    verifyAbout(peering, subjects[0])
    if (predicate['counterpart'] !== peering.addedLeaf)
      throw new ProofError(
        'handshake_mismatch',
        `the counterpart is not ${peering.addedLeaf}, the leaf of the entry that added the peering`,
      )
    this.#change(subjects[0], kind, 'answer')
    peering.counterpart = leaf
  }

  #verifySelf(own: Identity, kid: string): void {
    if (own.envelopeKey.kid !== kid)
      throw new ProofError(
        'definition_mismatch',
        `the handshake names the key ${own.envelopeKey.kid} of this ledger, but the ledger signs with ${kid}`,
      )
    for (const name of ['ledger', 'origin', 'genesis'] as const) {
      if (own[name] !== this.#self![name])
        throw new ProofError(
          'definition_mismatch',
          `the handshake names the ${name} ${own[name]} of this ledger, but the ledger has ${this.#self![name]}`,
        )
    }
  }

  /** Throws if the peering already exists, or if another peering with the same ledger is not revoked. */
  #verifyNew(peer: string, ledger: string): void {
    if (this.#peerings.has(peer)) throw new ProofError('duplicate_subject', `${peer} is added twice`)
    const before = this.#newestWith.get(ledger)
    if (before && before.state !== 'revoked')
      throw new ProofError('duplicate_subject', `${before.peer} is already a peering with ${ledger}`)
  }

  #shareWith(peer: string, record: string, seq: number): string {
    const peering = this.#find(peer)
    if (peering.state !== 'active' && peering.state !== 'suspended') throw notActive(peering)
    if (!peering.shared.add(parseIdBytes('rec', record), 0, seq, 0))
      throw new ProofError('duplicate_subject', `${record} is shared with ${peer} twice`)
    return peering.other.ledger
  }

  #find(peer: string): Peering {
    const peering = this.#peerings.get(peer)
    if (!peering) throw new ProofError('peer_unknown', `no earlier entry adds the peering ${peer}`)
    return peering
  }

  #change(subject: Subject, kind: EntryKind, outcome?: string): Peering {
    const peering = this.#find(subject.name)
    verifyAbout(peering, subject)
    const to = stateAfter('peering', peering.state, kind, outcome)
    if (to === null) {
      const from = statesBefore('peering', kind, outcome).join(' or ')
      throw new ProofError(
        'transition_refused',
        `${kind} is not possible, because ${subject.name} is ${peering.state}, not ${from}`,
      )
    }
    peering.state = to
    return peering
  }
}

function verifyAbout({ peer, handshake }: Peering, { name, sha256 }: Subject): void {
  if (name !== peer || sha256 !== handshake)
    throw new ProofError(
      'handshake_mismatch',
      `the entry names ${name} with the handshake ${sha256}, but ${peer} was added with the handshake ${handshake}`,
    )
}

function verifyShared({ peer, shared }: Peering, record: string): void {
  if (!shared.get(parseIdBytes('rec', record)))
    throw new ProofError('not_shared', `${record} is not shared with ${peer}, which took a step of it`)
}

function notActive({ peer, state }: Peering): ProofError {
  return new ProofError('peer_not_active', `the peering ${peer} is ${state}, so this entry is not possible`)
}
