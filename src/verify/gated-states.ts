import { compareRows } from '../db/evidence/compare.ts'
import type { GatedColumns } from '../db/evidence/gated-records.ts'
import { agentUuid } from '../db/evidence/signed.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { OnGated } from '../proof/ledger/records.ts'
import { parseRemoteAgent } from '../proof/statement/remote-agents.ts'

/**
 * Compares rows of gated records with the records that a verifier rebuilds. The row of a record is compared at the
 * record's last entry.
 *
 * Rows are read a few ranges ahead of the verifier. Only these rows are in memory.
 */
export class GatedStates {
  readonly #rows = new Map<number, GatedColumns>()
  readonly #sha256: Sha256
  #count = 0

  constructor(sha256: Sha256) {
    this.#sha256 = sha256
  }

  /** Number of rows that were added. */
  get count(): number {
    return this.#count
  }

  /**
   * Adds the row of a record whose last entry is at `seq`. verifyGatedRows checks that `rows` contains exactly one row.
   */
  expect(seq: number, rows: readonly GatedColumns[]): void {
    const row = rows.find(({ lastSeq }) => lastSeq === seq)
    if (!row) return
    this.#rows.set(seq, row)
    this.#count++
  }

  /** Compares a rebuilt record with its row. Throws `columns_contradict_entries`. */
  readonly compare: OnGated = (seq, { state, version, performer, revisions }) => {
    const row = this.#rows.get(seq)
    if (!row) return
    this.#rows.delete(seq)
    const expected = {
      state,
      version,
      performerId: performer === null ? null : agentUuid(performer, this.#sha256),
      performerRemote: performer !== null && parseRemoteAgent(performer) ? performer : null,
      revisions,
    }
    compareRows<Partial<GatedColumns>>('gated_records', [row], [expected])
  }
}
