import { fromHex, toHex } from '../bytes.ts'
import { wordAt } from '../entry/id-table.ts'
import { ProofError } from '../error.ts'
import { parseIdBytes } from '../ids.ts'
import { LedgerRecords } from '../ledger/records.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import type { OwnEntry } from './bundle-entry.ts'

type Made = { readonly record: string; readonly sha256: string; readonly parent: string | undefined }

/**
 * Verifies the records of a selection, which is one record or a run. Each shown record must belong to the selection. A
 * gated record must have every step up to the last step that is shown. Each step names the leaf of the previous step.
 */
export class Selection {
  readonly #root: string
  readonly #isRun: boolean
  readonly #known = new Set<string>()
  readonly #records: LedgerRecords

  constructor(of: { readonly record: string } | { readonly run: string }, idSeed: number) {
    this.#isRun = 'run' in of
    this.#root = 'run' in of ? of.run : of.record
    this.#records = new LedgerRecords(idSeed)
  }

  get count(): number {
    return this.#known.size
  }

  /**
   * Verifies the next entry about a record. Throws `entry_unrelated`, `parent_absent` and the errors of LedgerRecords.
   */
  take(entry: OwnEntry): void {
    const { statement, seq, leaf } = entry
    const event = { seq, leaf: toHex(leaf), atMs: statement.recordedAtMs, statement }
    const made = madeBy(entry)
    this.#admit(made)
    if (statement.kind === 'record-created') this.#records.create(event)
    else if (made.length === 0) this.#records.step(event)
    else for (const { record, sha256 } of made) this.#notarize(record, sha256, seq)
  }

  finish(): void {
    if (this.#known.size === 0)
      throw new ProofError('bundle_incomplete', `the record ${this.#root} is not in the bundle`)
  }

  #notarize(record: string, sha256: string, seq: number): void {
    const digestWord = Uint32Array.of(wordAt(fromHex(sha256.slice(0, 8)), 0))
    this.#records.notarize(parseIdBytes('rec', record), digestWord, seq)
  }

  /**
   * Admits the records of an entry. A parent may be in the same batch as its children. So each admitted record also
   * admits the records below it. Throws `parent_absent` or `entry_unrelated` if a record is not admitted.
   */
  #admit(made: readonly Made[]): void {
    const below = new Map<string | undefined, Made[]>()
    const admitted: Made[] = []
    for (const one of made) {
      const isBelow = this.#isRun && one.parent !== undefined && this.#known.has(one.parent)
      if (isBelow || one.record === this.#root) admitted.push(one)
      else {
        const siblings = below.get(one.parent)
        if (siblings) siblings.push(one)
        else below.set(one.parent, [one])
      }
    }
    for (const { record } of admitted) {
      this.#known.add(record)
      if (!this.#isRun) continue
      admitted.push(...(below.get(record) ?? []))
      below.delete(record)
    }
    const [stranger] = [...below.values()].flat()
    if (!stranger) return
    const { record, parent = 'none' } = stranger
    throw this.#isRun
      ? new ProofError('parent_absent', `${record} has the parent ${parent}, which is not in the run`)
      : new ProofError(
          'entry_unrelated',
          `the bundle is of the record ${this.#root}, but also has the record ${record}`,
        )
  }
}

function madeBy({ statement, items }: OwnEntry): Made[] {
  if (items !== null) return items.map(({ record, digest, parent }) => ({ record, sha256: digest, parent }))
  const { kind, subjects, predicate } = statement
  if (ENTRY_KINDS[kind].records !== 'makes') return []
  const [{ name, sha256 }] = subjects
  return [{ record: name, sha256, parent: predicate['parent'] as string | undefined }]
}
