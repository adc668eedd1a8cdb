import { fromHex, toHex } from '../bytes.ts'
import { wordAt } from '../entry/id-table.ts'
import { ProofError } from '../error.ts'
import { parseIdBytes } from '../ids.ts'
import { LedgerRecords } from '../ledger/records.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import type { OwnEntry } from './bundle-entry.ts'
import { type BundleFilter, type Filtered, isFiltered } from './is-filtered.ts'

/**
 * Verifies the records of a filtered selection. Each record must match the filter. A gated record must have every step
 * up to the last step that is shown. Nothing proves that all matching records are shown: whoever made the file may have
 * left some out.
 */
export class FilteredRecords {
  readonly #filter: BundleFilter
  readonly #records: LedgerRecords
  #count = 0

  constructor(filter: BundleFilter, idSeed: number) {
    this.#filter = filter
    this.#records = new LedgerRecords(idSeed)
  }

  get count(): number {
    return this.#count
  }

  /** Verifies the next entry about a record. Throws `entry_unrelated`, and the errors of LedgerRecords. */
  take(entry: OwnEntry): void {
    const { statement, seq, leaf, items } = entry
    const { kind, actor, onBehalfOf, predicate, subjects } = statement
    const { from, to } = this.#filter
    if (seq < from || seq > to)
      throw new ProofError('entry_unrelated', `entry ${seq} is not in the range ${from} to ${to}`)
    if (items !== null) {
      for (const item of items) {
        const agents = [actor, item.onBehalfOf]
        this.#admit(item.record, { type: item.type, agents, traceparent: item.traceparent })
        this.#notarize(item.record, item.digest, seq)
      }
      return
    }
    const event = { seq, leaf: toHex(leaf), atMs: statement.recordedAtMs, statement }
    if (ENTRY_KINDS[kind].records === 'moves') {
      this.#records.step(event)
      return
    }
    const { type, performer, traceparent } = predicate as Record<string, string>
    const [{ name, sha256 }] = subjects
    this.#admit(name, { type: type!, agents: [actor, onBehalfOf, performer], traceparent })
    if (kind === 'record-created') this.#records.create(event)
    else this.#notarize(name, sha256, seq)
  }

  /** Accepts an empty selection, because a filter may match nothing. */
  finish(): void {}

  #admit(record: string, facts: Filtered): void {
    if (!isFiltered(this.#filter, facts))
      throw new ProofError('entry_unrelated', `${record} does not match the filter`)
    this.#count++
  }

  #notarize(record: string, sha256: string, seq: number): void {
    const digestWord = Uint32Array.of(wordAt(fromHex(sha256.slice(0, 8)), 0))
    this.#records.notarize(parseIdBytes('rec', record), digestWord, seq)
  }
}
