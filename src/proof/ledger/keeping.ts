import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'

/** `records`: null: everything is held; empty if a type or an agent narrows it. */
type Hold = { readonly case: string; readonly records: readonly string[] | null }

/**
 * Rules of retention, and holds, as a ledger's entries set them (docs/formats/statements.md). An erasure by the server names the rule
 * by which it was made. A hold on everything, or on records by their ids, is kept: which records a type or an agent has is not in
 * the statements of erasures, so holds on those are the database's to keep.
 */
export class LedgerKeeping {
  /** Days by the seq of the entry that set them; null: no end. */
  readonly #rules = new Map<number, number | null>()
  /** By the seq of the entry that set it. */
  readonly #holds = new Map<number, Hold>()
  /** Seqs of the holds on everything, and of those on a record by its id. */
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

  /** Throws unless the hold of that case was set, and was not lifted before. */
  liftHold(predicate: JsonObject): void {
    const seq = predicate['seq'] as number
    const hold = this.#holds.get(seq)
    if (hold?.case !== predicate['case'])
      throw new ProofError('subject_unknown', `no hold of this case was set by seq ${seq}, or it was lifted`)
    this.#holds.delete(seq)
    this.#ofAll.delete(seq)
    for (const record of hold?.records ?? []) {
      const seqs = this.#ofRecords.get(record)!
      seqs.delete(seq)
      if (seqs.size === 0) this.#ofRecords.delete(record)
    }
  }

  /**
   * The entry at `by` says that it erased the document `name`. Throws where a hold is on it, and where the server erases without a
   * rule, or an agent by one.
   */
  erase(by: number, actor: string, name: string, predicate: JsonObject): void {
    const rule = predicate['rule'] as number | undefined
    if ((actor === 'system') !== (rule !== undefined))
      throw new ProofError(
        'actor_not_entitled',
        'the server erases by a rule of retention, and nobody else does',
      )
    if (rule !== undefined && typeof this.#rules.get(rule) !== 'number')
      throw new ProofError('subject_unknown', `seq ${rule} set no rule that lets anything end`)
    const [subject] = name.split('/')
    const [seq] = [...this.#ofAll, ...(this.#ofRecords.get(subject!) ?? [])]
    if (seq !== undefined)
      throw new ProofError('erasure_held', `${name} is held by seq ${seq} for ${this.#holds.get(seq)!.case}`)
    this.#erasures.add(by)
  }

  /** Throws unless each of these entries erased something before. */
  verifyErased(predicate: JsonObject): void {
    const other = (predicate['erased'] as number[]).find((seq) => !this.#erasures.has(seq))
    if (other !== undefined)
      throw new ProofError('erasure_of_nothing', `seq ${other} is no erasure before it`)
  }
}
