import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'

/**
 * A hold. `records`: ids of the records that the hold names. null if the hold covers everything. Empty if the hold is
 * limited to a type or an agent.
 */
type Hold = { readonly case: string; readonly records: readonly string[] | null }

/**
 * Retention rules and holds of a ledger, as its entries set them (docs/formats/statements.md).
 *
 * Verifies that an erasure by the server names the rule that allows the erasure. Also verifies that no hold forbids the
 * erasure: neither a hold on everything, nor a hold that names the record. Only the database enforces holds by type or
 * agent, because an erasure's statement names neither.
 */
export class LedgerRetention {
  /**
   * Maps the seq of the entry that set a rule to the rule's days. The value is null if the rule stores documents
   * without end.
   */
  readonly #rules = new Map<number, number | null>()
  /** Maps the seq of the entry that set a hold to the hold. */
  readonly #holds = new Map<number, Hold>()
  /** Seqs of the holds on everything. `#ofRecords` maps a record to the seqs of the holds that name it. */
  readonly #ofAll = new Set<number>()
  readonly #ofRecords = new Map<string, Set<number>>()
  readonly #erasures = new Set<number>()

  setRule(seq: number, predicate: JsonObject): void {
    this.#rules.set(seq, predicate['days'] as number | null)
  }

  setHold(seq: number, predicate: JsonObject): void {
    const { case: of, type, agent, records } = predicate
    const isNarrowed = type !== undefined || agent !== undefined
    const named = isNarrowed ? [] : ((records as string[] | undefined) ?? null)
    this.#holds.set(seq, { case: of as string, records: named })
    if (named === null) this.#ofAll.add(seq)
    for (const record of named ?? []) {
      const seqs = this.#ofRecords.get(record) ?? new Set()
      this.#ofRecords.set(record, seqs.add(seq))
    }
  }

  /** Lifts a hold. Throws if the named entry did not set a hold of that case, or if the hold was already lifted. */
  liftHold(predicate: JsonObject): void {
    const seq = predicate['seq'] as number
    const hold = this.#holds.get(seq)
    if (hold?.case !== predicate['case'])
      throw new ProofError(
        'subject_unknown',
        `entry ${seq} did not set a hold of this case, or the hold was already lifted`,
      )
    this.#holds.delete(seq)
    this.#ofAll.delete(seq)
    for (const record of hold?.records ?? []) {
      const seqs = this.#ofRecords.get(record)!
      seqs.delete(seq)
      if (seqs.size === 0) this.#ofRecords.delete(record)
    }
  }

  /**
   * Verifies that the entry at `by` may erase the document `name`. Throws if a hold covers the document, if the
   * server erases without a rule, or if an agent erases by a rule.
   */
  erase(by: number, actor: string, name: string, predicate: JsonObject): void {
    const rule = predicate['rule'] as number | undefined
    if ((actor === 'system') !== (rule !== undefined))
      throw new ProofError(
        'actor_not_entitled',
        'system may only erase by a retention rule, and agents only without a rule',
      )
    if (rule !== undefined && typeof this.#rules.get(rule) !== 'number')
      throw new ProofError(
        'subject_unknown',
        `entry ${rule} did not set a retention rule with a number of days`,
      )
    const [subject] = name.split('/')
    const [seq] = [...this.#ofAll, ...(this.#ofRecords.get(subject!) ?? [])]
    if (seq !== undefined)
      throw new ProofError(
        'erasure_held',
        `${name} was erased despite the hold of seq ${seq} for the case ${this.#holds.get(seq)!.case}`,
      )
    this.#erasures.add(by)
  }

  /** Throws if a seq in `erased` is not the seq of an earlier erasure. */
  verifyErased(predicate: JsonObject): void {
    const other = (predicate['erased'] as number[]).find((seq) => !this.#erasures.has(seq))
    if (other !== undefined)
      throw new ProofError(
        'erasure_of_nothing',
        `entry ${other}, named as an erasure, is not an earlier entry payload-erased`,
      )
  }
}
