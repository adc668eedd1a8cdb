import type { LedgerExchange, PeeringExchange, ReceivedFromPeer, SentEntry } from './exchange.ts'

/*
 * Compares two ledgers (docs/formats/federation.md). The verifier must have accepted each ledger. The verifier already
 * refuses an entry that was received twice and an offer that was answered twice.
 */

export type ReconcileCode =
  | 'peering_missing'
  | 'handshake_mismatch'
  | 'not_sent'
  | 'leaf_mismatch'
  | 'not_received'
  | 'offer_open'
  | 'state_mismatch'

/**
 * The first difference that was found. `seq`: position of the differing entry in `ledger`, or null if the difference
 * concerns no single entry.
 */
export type Difference = {
  readonly code: ReconcileCode
  readonly ledger: string
  readonly seq: number | null
  readonly detail: string
}

export type ReconcileCounts = {
  /** Number of records that either ledger shares with the other. */
  readonly records: number
  /** Number of entries of either side, offers included, that the other side received with the same leaf. */
  readonly entries: number
  readonly offers: number
  /** Number of sent entries that the receiver's chain does not contain yet. Such entries are not a fault. */
  readonly inFlight: number
  /** Number of entries of ended peerings that the other side has not received. They will never be received. */
  readonly dropped: number
  /**
   * Number of received entries whose seq is beyond the end of the given copy of the sender's ledger. A newer copy must
   * contain these entries. If a newer copy lacks such an entry, the difference is `not_sent`.
   */
  readonly beyond: number
}

export type Reconciliation =
  | { readonly ok: true; readonly counts: ReconcileCounts; readonly difference: null }
  | { readonly ok: false; readonly counts: null; readonly difference: Difference }

/**
 * Compares two ledgers, which MUST be verified and different. If there are several faults, the order of the arguments
 * may decide which fault is reported.
 */
export function reconcile(one: LedgerExchange, other: LedgerExchange): Reconciliation {
  try {
    const pairs = pairPeerings(one, other)
    const records = countRecords(other, pairs)
    const counts = { records, entries: 0, offers: 0, inFlight: 0, dropped: 0, beyond: 0 }
    for (const [a, b] of pairs) {
      compare({ ledger: one, peering: a }, { ledger: other, peering: b }, counts)
      compare({ ledger: other, peering: b }, { ledger: one, peering: a }, counts)
    }
    return { ok: true, counts, difference: null }
  } catch (error) {
    if (!(error instanceof Differs)) throw error
    return { ok: false, counts: null, difference: error.difference }
  }
}

class Differs extends Error {
  readonly difference: Difference

  constructor(difference: Difference) {
    super(difference.detail)
    this.difference = difference
  }
}

type Pair = readonly [PeeringExchange, PeeringExchange]

/** Pairs the two sides of each peering. Two ledgers may have had several peerings, one after the other. */
function pairPeerings(one: LedgerExchange, other: LedgerExchange): Pair[] {
  const theirs = new Map(other.with(one.ledger).map((peering) => [peering.peer, peering]))
  const pairs: Pair[] = []
  for (const peering of one.with(other.ledger)) {
    const counterpart = theirs.get(peering.peer)
    theirs.delete(peering.peer)
    if (counterpart) pairs.push(verifyHandshake(other, peering, counterpart))
    else refuseUsed(peering, one, other)
  }
  for (const peering of theirs.values()) refuseUsed(peering, other, one)
  if (pairs.length > 0) return pairs
  throw new Differs({
    code: 'peering_missing',
    ledger: other.ledger,
    seq: null,
    detail: `${one.ledger} and ${other.ledger} have no peering that is known to both`,
  })
}

/**
 * Throws if only `side` has the peering and the peering was used. A peering was used if `side` received an entry that
 * lies within the given copy of the other ledger. An unused peering is legal, because the other ledger may not have
 * answered the handshake yet.
 */
function refuseUsed(peering: PeeringExchange, side: LedgerExchange, other: LedgerExchange): void {
  for (const [seq, { at }] of peering.received) {
    if (seq >= other.size) continue
    throw new Differs({
      code: 'peering_missing',
      ledger: side.ledger,
      seq: at,
      detail: `received by ${peering.peer}, which ${other.ledger} does not know`,
    })
  }
}

function verifyHandshake(
  other: LedgerExchange,
  peering: PeeringExchange,
  counterpart: PeeringExchange,
): Pair {
  const [inviter, invited] = peering.counterpart === null ? [peering, counterpart] : [counterpart, peering]
  if (inviter.handshake === invited.handshake && invited.counterpart === inviter.added.leaf)
    return [peering, counterpart]
  throw new Differs({
    code: 'handshake_mismatch',
    ledger: other.ledger,
    seq: counterpart.added.seq,
    detail: `the two sides of ${peering.peer} contradict each other about their handshake`,
  })
}

type Side = { readonly ledger: LedgerExchange; readonly peering: PeeringExchange }
type Counts = { -readonly [Name in keyof ReconcileCounts]: ReconcileCounts[Name] }

/** Compares the entries that `from` sends with those that `to` received. */
function compare(from: Side, to: Side, counts: Counts): void {
  const sent = [...from.peering.sent()]
  verifySent(new Map(sent.flat().map((entry) => [entry.seq, entry])), from, to, counts)
  const hasEnded = from.peering.endedAt !== null || to.peering.endedAt !== null
  for (const entries of sent) {
    const left = entries.length - countReceived(entries, from, to)
    if (hasEnded) counts.dropped += left
    else counts.inFlight += left
  }
}

/** Verifies that every received entry was sent, with the same leaf. */
function verifySent(sent: ReadonlyMap<number, SentEntry>, from: Side, to: Side, counts: Counts): void {
  for (const [seq, taken] of to.peering.received) {
    if (seq >= from.ledger.size) {
      counts.beyond++
      continue
    }
    const entry = sent.get(seq)
    if (!entry) throw refuseTaken('not_sent', { seq, taken, from, to })
    if (entry.leaf !== taken.leaf) throw refuseTaken('leaf_mismatch', { seq, taken, from, to })
    counts.entries++
    if (entry.kind === 'step-offered') counts.offers++
  }
}

type Refused = {
  readonly seq: number
  readonly taken: ReceivedFromPeer
  readonly from: Side
  readonly to: Side
}

function refuseTaken(code: 'not_sent' | 'leaf_mismatch', { seq, taken, from, to }: Refused): Differs {
  const where = `entry ${seq} of ${from.ledger.ledger}`
  const detail =
    code === 'not_sent'
      ? `received as ${where}, which is not a shared entry`
      : `received as ${where} with the leaf ${taken.leaf}, but that entry has another leaf`
  return new Differs({ code, ledger: to.ledger.ledger, seq: taken.at, detail })
}

/**
 * Returns the number of entries of a list that were received. Entries of a list are received in order. So the function
 * throws if an entry is missing before the last received entry.
 */
function countReceived(entries: readonly SentEntry[], { ledger }: Side, to: Side): number {
  const { received } = to.peering
  const last = entries.findLastIndex(({ seq }) => received.has(seq))
  for (const { seq, kind } of entries.slice(0, last + 1)) {
    if (received.has(seq)) continue
    const isOffer = kind === 'step-offered'
    throw new Differs({
      code: isOffer ? 'offer_open' : 'not_received',
      ledger: ledger.ledger,
      seq,
      detail: `${to.ledger.ledger} has ${isOffer ? 'no answer to' : 'not received'} this ${kind}, but it has a later entry`,
    })
  }
  return last + 1
}

/**
 * Counts records over all peerings together. A record that is shared several times counts once. Throws if both
 * ledgers share the same record, because a record has one home.
 */
function countRecords({ ledger }: LedgerExchange, pairs: readonly Pair[]): number {
  const records = new Set(pairs.flatMap(([peering]) => [...peering.records]))
  const theirs = new Set(pairs.flatMap(([, peering]) => [...peering.records]))
  const twice = [...theirs].find((record) => records.has(record))
  if (twice === undefined) return records.size + theirs.size
  throw new Differs({
    code: 'state_mismatch',
    ledger,
    seq: null,
    detail: `each ledger claims to be the home of ${twice}`,
  })
}
