import { toHex } from '../bytes.ts'
import type { EntryStep } from '../entry/entry-step.ts'
import { saidOfReceived } from '../entry/verify-received.ts'
import { ENTRY_KINDS, type EntryKind } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'

/** An entry of a ledger that another one is sent. `leaf`: lower-case hex. */
export type SentEntry = { readonly seq: number; readonly leaf: string; readonly kind: EntryKind }

/** An entry of another ledger, by its seq there. `at`: the seq of the entry that received it. */
export type TakenEntry = { readonly at: number; readonly leaf: string; readonly kind: EntryKind }

/** A gated record of the ledger: its events and what was erased of it, in order. */
type OwnRecord = { readonly past: SentEntry[] }

/** How the ledger shares a record of its own by one peering: `share` is the entry that says so, null where its creation did. */
type SharedRecord = {
  readonly own: OwnRecord
  readonly share: SentEntry | null
  readonly refusals: SentEntry[]
}

/** One peering, as the chain of one side has it. */
export class PeeringExchange {
  readonly peer: string
  /** The other side's. */
  readonly ledger: string
  readonly handshake: string
  readonly added: SentEntry
  /** Leaf of the inviter's entry, at the invited side. null: this side invited. */
  readonly counterpart: string | null
  /** The entry with which it ended on this side; null: it has not. Nothing after that is sent. */
  endedAt: number | null = null
  readonly #shared = new Map<string, SharedRecord>()
  readonly #offers = new Map<string, SentEntry[]>()
  /** About the peering itself, and the keys that the ledger's entries are signed with. */
  readonly #changes: SentEntry[] = []
  readonly #rotations: SentEntry[] = []
  readonly #taken = new Map<number, TakenEntry>()

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
    // The inviter's is the answer to the handshake.
    if (this.counterpart !== null) this.#changes.push(added)
  }

  /** In the order in which the other side received them. */
  get taken(): ReadonlyMap<number, TakenEntry> {
    return this.#taken
  }

  /** Records of this side that the other is sent. */
  get records(): ReadonlySet<string> {
    return new Set(this.#shared.keys())
  }

  /** Entries sent to the other side: in each list, each entry after those before it. No list waits for another. */
  *sent(): Generator<readonly SentEntry[]> {
    yield this.#changes
    yield this.#rotations
    for (const { own, share, refusals } of this.#shared.values()) {
      const past = own.past.filter(({ seq }) => this.endedAt === null || seq <= this.endedAt)
      const inOrder = refusals.length === 0 ? past : [...past, ...refusals].sort((a, b) => a.seq - b.seq)
      // Entries before the share are sent after it.
      yield share === null ? inOrder : [share, ...inOrder]
    }
    yield* this.#offers.values()
  }

  take(seq: number, entry: TakenEntry): void {
    this.#taken.set(seq, entry)
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

/** `sharedLater` is of other entries than those that follow. */
export class UnforeseenShare extends Error {}

/**
 * Exchange of a ledger with each of its peers, from its verified entries in order (`onEntry` of LedgerVerifier).
 *
 * Takes about 500 bytes of memory for each entry that is sent, and 170 for each that is received.
 *
 * `sharedLater`: the records that some `record-shared` of the ledger names. With it, memory grows with what is shared; a set
 * that lacks one of them makes the comparison fail. Without it, every event of a record is kept, because it could still be
 * shared.
 */
export class LedgerExchange {
  readonly #sharedLater: ReadonlySet<string> | null
  readonly #records = new Map<string, OwnRecord>()
  /** By the seq of an event, whose document may be erased. */
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

  /** In the order in which they were made. */
  with(ledger: string): PeeringExchange[] {
    return [...this.#peerings.values()].filter((one) => one.ledger === ledger)
  }

  follow(step: EntryStep): void {
    this.#ledger = step.ledger
    this.#size = step.seq + 1
    const { statement } = step
    if (!statement) return
    const entry = { seq: step.seq, leaf: hexOf(step.leaf), kind: statement.kind }
    const said = saidOfReceived(statement)
    if (said) this.#peering(said.peer).take(said.seq, { at: step.seq, leaf: said.leaf, kind: said.kind })
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
    return this.#peerings.get(peer)! // LedgerVerifier knows it
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

/** To be kept. A text that was put together byte by byte takes a kilobyte until somebody reads it. */
function hexOf(leaf: Uint8Array): string {
  const hex = toHex(leaf)
  hex.charCodeAt(0)
  return hex
}

type Share = readonly { readonly peer: string }[]
