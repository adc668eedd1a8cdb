import { compare, compareRows } from '../db/evidence/compare.ts'
import { contradiction } from '../db/evidence/contradiction.ts'
import type { OfferColumns } from '../db/evidence/offers.ts'
import type { RemoteColumns } from '../db/evidence/received.ts'
import type { EntryColumns } from '../db/evidence/tables.ts'
import { canonicalize } from '../proof/json/jcs.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import type { OnOffer } from '../proof/ledger/offers.ts'
import type { OnRemote } from '../proof/ledger/peers.ts'

/**
 * Compares rows about other ledgers with the state that a verifier rebuilds. GatedStates does this for records of this
 * ledger.
 *
 * The row of an offer stays in memory until the offer's answer is received.
 */
export class PeerStates {
  readonly #remote = new Map<number, RemoteColumns>()
  readonly #offers = new Map<number, OfferColumns>()
  #records = 0
  #shares = 0

  /** Maps a table's name to the number of rows that it must have. */
  get counts() {
    return { remote_records: this.#records, shared_records: this.#shares }
  }

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

  /** Compares a rebuilt record with its row. Throws `columns_contradict_entries`. */
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

  /** Compares an answered offer with its row. Throws `columns_contradict_entries`. */
  readonly compareOffer: OnOffer = (seq, { state, code }, at) => {
    const row = this.#offers.get(seq)
    if (!row) throw contradiction(`offers: the offer at seq ${seq}, which was ${state}, has no row`)
    this.#offers.delete(seq)
    compareRows<Partial<OfferColumns>>('offers', [row], [{ state, code, decidedSeq: at }])
  }

  /** Compares the offers that were not answered. Each must be pending. */
  finish(): void {
    for (const row of this.#offers.values())
      compareRows<Partial<OfferColumns>>(
        'offers',
        [row],
        [{ state: 'pending', code: null, decidedSeq: null }],
      )
  }
}

/** Returns the canonical form of the JSON. Returns null if the text is not JSON. */
function canonicalJson(text: string): string | null {
  try {
    return canonicalize(JSON.parse(text) as JsonValue)
  } catch {
    return null
  }
}
