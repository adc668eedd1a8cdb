import { toHex } from '../bytes.ts'
import type { EntryStep } from '../entry/entry-step.ts'
import { receivedClaimsOf } from '../entry/verify-received.ts'
import { ENTRY_KINDS, type EntryKind } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'

/** An entry that this ledger sends to another ledger. `leaf` is in lower-case hex. */
export type SentEntry = { readonly seq: number; readonly leaf: string; readonly kind: EntryKind }

/**
 * An entry of another ledger that this ledger received. `at`: seq of this ledger's entry that records the reception.
 */
export type ReceivedFromPeer = { readonly at: number; readonly leaf: string; readonly kind: EntryKind }

/**
 * A gated record of this ledger. `past`: entries of the record's steps, and entries that erased documents of these
 * steps, in order.
 */
type OwnRecord = { readonly past: SentEntry[] }

/**
 * A record of this ledger that is shared through one peering. `share`: the entry that shares the record, or null if
 * `record-created` itself shares it.
 */
type SharedRecord = {
  readonly own: OwnRecord
  readonly share: SentEntry | null
  readonly refusals: SentEntry[]
}

/** One peering, as the chain of one of its two sides describes it. */
export class PeeringExchange {
  readonly peer: string
  /** Id of the other side's ledger. */
  readonly ledger: string
  readonly handshake: string
  readonly added: SentEntry
  /** Leaf of the inviter's `peer-added`, if this side is the invited side. null if this side is the inviter. */
  readonly counterpart: string | null
  /**
   * Seq of the entry that ended the peering on this side. null if the peering has not ended. Entries after this seq are
   * not sent.
   */
  endedAt: number | null = null
  readonly #shared = new Map<string, SharedRecord>()
  readonly #offers = new Map<string, SentEntry[]>()
  /** Entries that change the peering itself. `#rotations`: entries that rotate the ledger's envelope keys. */
  readonly #changes: SentEntry[] = []
  readonly #rotations: SentEntry[] = []
  readonly #received = new Map<number, ReceivedFromPeer>()

  constructor(added: SentEntry, { subjects, predicate, ledger }: ParsedStatement) {
    const { inviter, invited, counterpart } = predicate as {
      inviter: { ledger: string }
      invited: { ledger: string }
      counterpart?: string
    }
    this.peer = subjects[0].name
    this.handshake = subjects[0].sha256
    this.ledger = inviter.ledger === ledger ? invited.ledger : inviter.ledger
    this.added = added
    this.counterpart = counterpart ?? null
    // The `peer-added` of the invited side completes the handshake, so this entry is sent to the inviter.
    if (this.counterpart !== null) this.#changes.push(added)
  }

  /** Maps the seq of an entry in the other ledger to the received entry, in the order of reception. */
  get received(): ReadonlyMap<number, ReceivedFromPeer> {
    return this.#received
  }

  /** Records of this side that are sent to the other side. */
  get records(): ReadonlySet<string> {
    return new Set(this.#shared.keys())
  }

  /**
   * Yields lists of entries for the other side. The entries of one list are sent in order. Different lists do not
   * depend on each other.
   */
  *sent(): Generator<readonly SentEntry[]> {
    yield this.#changes
    yield this.#rotations
    for (const { own, share, refusals } of this.#shared.values()) {
      const past = own.past.filter(({ seq }) => this.endedAt === null || seq <= this.endedAt)
      const inOrder = refusals.length === 0 ? past : [...past, ...refusals].sort((a, b) => a.seq - b.seq)
      // The entry `share` is sent first, then the record's entries, even those that precede `share` in the chain.
      yield share === null ? inOrder : [share, ...inOrder]
    }
    yield* this.#offers.values()
  }

  receive(seq: number, entry: ReceivedFromPeer): void {
    this.#received.set(seq, entry)
    if (entry.kind === 'peer-revoked') this.endedAt ??= entry.at
  }

  revoke(entry: SentEntry): void {
    this.#changes.push(entry)
    this.endedAt ??= entry.seq
  }

  rotate(entry: SentEntry): void {
    if (this.endedAt === null) this.#rotations.push(entry)
  }

  share(record: string, own: OwnRecord, share: SentEntry | null): void {
    this.#shared.set(record, { own, share, refusals: [] })
  }

  refuse(record: string, entry: SentEntry): void {
    this.#shared.get(record)?.refusals.push(entry)
  }

  offer(record: string, entry: SentEntry): void {
    const offers = this.#offers.get(record)
    if (offers) offers.push(entry)
    else this.#offers.set(record, [entry])
  }
}

/** Thrown if a ledger shares a record that is missing from `sharedLater`. */
export class UnforeseenShare extends Error {}

/**
 * Collects what a ledger exchanges with its peers. The input is the ledger's verified entries, in order (`onEntry` of
 * LedgerVerifier). Takes about 500 bytes of memory for each sent entry and 170 bytes for each received entry.
 *
 * `sharedLater`: the records that any `record-shared` of the ledger names. With this set, only shared records take
 * memory. Throws UnforeseenShare if a shared record is not in the set. Without the set, the entries of all records are
 * stored, because any record could still be shared.
 */
export class LedgerExchange {
  readonly #sharedLater: ReadonlySet<string> | null
  readonly #records = new Map<string, OwnRecord>()
  /** Maps the seq of an entry to the entry's record, if a document of the entry may be erased. */
  readonly #recordOf = new Map<number, OwnRecord>()
  readonly #peerings = new Map<string, PeeringExchange>()
  #ledger = ''
  #size = 0

  constructor(sharedLater: ReadonlySet<string> | null = null) {
    this.#sharedLater = sharedLater
  }

  get ledger(): string {
    return this.#ledger
  }

  get size(): number {
    return this.#size
  }

  /** Returns the peerings with a ledger, in the order of their creation. */
  with(ledger: string): PeeringExchange[] {
    return [...this.#peerings.values()].filter((one) => one.ledger === ledger)
  }

  follow(step: EntryStep): void {
    this.#ledger = step.ledger
    this.#size = step.seq + 1
    const { statement } = step
    if (!statement) return
    const entry = { seq: step.seq, leaf: hexOf(step.leaf), kind: statement.kind }
    const claims = receivedClaimsOf(statement)
    if (claims)
      this.#peering(claims.peer).receive(claims.seq, { at: step.seq, leaf: claims.leaf, kind: claims.kind })
    this.#send(entry, statement)
  }

  #send(entry: SentEntry, statement: ParsedStatement): void {
    const { kind, subjects, predicate } = statement
    const record = predicate['record'] as string
    switch (kind) {
      case 'peer-added':
        this.#peerings.set(subjects[0].name, new PeeringExchange(entry, statement))
        break
      case 'peer-revoked':
        this.#peering(subjects[0].name).revoke(entry)
        break
      case 'server-key-rotated':
        for (const peering of this.#peerings.values()) peering.rotate(entry)
        break
      case 'record-created':
        this.#create(record, entry, statement)
        break
      case 'record-shared':
        this.#share(record, entry, statement)
        break
      case 'step-offered':
        this.#peering(predicate['peer'] as string).offer(record, entry)
        break
      case 'offer-refused':
        this.#peering(predicate['peer'] as string).refuse(record, entry)
        break
      case 'payload-erased':
        this.#recordOf.get(predicate['seq'] as number)?.past.push(entry)
        break
      default:
        if (ENTRY_KINDS[kind].movesRecord) this.#move(record, entry)
    }
  }

  #peering(peer: string): PeeringExchange {
    return this.#peerings.get(peer)! // LedgerVerifier has checked that the peering exists.
  }

  #create(record: string, entry: SentEntry, { predicate }: ParsedStatement): void {
    const share = (predicate['share'] ?? []) as Share
    if (share.length === 0 && this.#sharedLater !== null && !this.#sharedLater.has(record)) return
    const own: OwnRecord = { past: [] }
    this.#records.set(record, own)
    this.#move(record, entry)
    for (const { peer } of share) this.#peering(peer).share(record, own, null)
  }

  #share(record: string, entry: SentEntry, { predicate }: ParsedStatement): void {
    const own = this.#records.get(record)
    if (!own)
      throw new UnforeseenShare(`${record} is shared at seq ${entry.seq}, which a first look did not find`)
    for (const { peer } of predicate['share'] as Share) this.#peering(peer).share(record, own, entry)
  }

  #move(record: string, entry: SentEntry): void {
    const own = this.#records.get(record)
    if (!own) return
    own.past.push(entry)
    this.#recordOf.set(entry.seq, own)
  }
}

/**
 * Returns hex for long-term storage. V8 stores a string that was concatenated byte by byte in about a kilobyte, until
 * somebody reads a character of the string. So one character is read here.
 */
function hexOf(leaf: Uint8Array): string {
  const hex = toHex(leaf)
  hex.charCodeAt(0)
  return hex
}

type Share = readonly { readonly peer: string }[]
