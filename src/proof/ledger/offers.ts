import { ProofError } from '../error.ts'
import type { Received, TakenOffer } from '../statement/federation-statements.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import { type OfferedTerms, termsOfOffer, termsOfTaken, verifyTaken } from '../statement/taken-offer.ts'

type Offer = { readonly leaf: string; readonly terms: OfferedTerms }

/** Decision of a record's home ledger about an offer. `code`: reason of a refusal, or null if the offer was taken. */
export type OfferDecision = { readonly state: 'taken' | 'refused'; readonly code: string | null }

/**
 * Called when the home's answer to an offer of this ledger is received. `seq`: seq of the offer. `at`: seq of the
 * entry that received the answer.
 */
export type OnOffer = (seq: number, decision: OfferDecision, at: number) => void

/**
 * Steps that agents of this ledger offered to other ledgers. The home decides about each offer once: it takes the step
 * as offered, or refuses it.
 */
export class LedgerOffers {
  /** Maps the seq of an offer to the offer. The value is null once the home has decided. */
  readonly #offers = new Map<number, Offer | null>()
  readonly #onOffer: OnOffer | undefined

  constructor(onOffer?: OnOffer) {
    this.#onOffer = onOffer
  }

  offer(seq: number, leaf: string, statement: ParsedStatement): void {
    this.#offers.set(seq, { leaf, terms: termsOfOffer(statement) })
  }

  /**
   * Marks an offer as taken by the home. `step`: the home's entry for the step. `at`: seq of this ledger's entry that
   * received `step`. Throws `offer_mismatch` or `offer_answered_twice`.
   */
  take(offer: TakenOffer, step: ParsedStatement, at: number): void {
    verifyTaken(this.#decide(offer), termsOfTaken(step))
    this.#onOffer?.(offer.seq, { state: 'taken', code: null }, at)
  }

  /** Marks an offer as refused by the home. Throws the same codes as `take`. */
  refuse(offer: Received, { predicate }: ParsedStatement, at: number): void {
    const { peer, record } = this.#decide(offer)
    if (peer !== predicate['peer'] || record !== predicate['record'])
      throw new ProofError('offer_mismatch', `the refusal does not match the offer of ${record} to ${peer}`)
    this.#onOffer?.(offer.seq, { state: 'refused', code: predicate['code'] as string }, at)
  }

  #decide({ seq, leaf }: Pick<Received, 'seq' | 'leaf'>): OfferedTerms {
    const offer = this.#offers.get(seq)
    if (offer === null)
      throw new ProofError('offer_answered_twice', `the offer at seq ${seq} was already answered`)
    if (offer?.leaf !== leaf)
      throw new ProofError('offer_mismatch', `the entry at seq ${seq} is not an offer with the leaf ${leaf}`)
    this.#offers.set(seq, null)
    return offer.terms
  }
}
