import { compareRows } from '../db/evidence/compare.ts'
import type { GatedColumns } from '../db/evidence/gated-records.ts'
import { agentUuid } from '../db/evidence/signed.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { OnGated } from '../proof/ledger/records.ts'
import { parseRemoteAgent } from '../proof/statement/remote-agents.ts'

/**
 * Rows of gated records against the records as a verifier has rebuilt them: each at its last entry, where the verifier has come to
 * what the row says. Rows are read ahead of the verifier by a few portions, and no more are held.
 */
export class GatedStandings {
  readonly #rows = new Map<number, GatedColumns>()
  readonly #sha256: Sha256
  #count = 0

  constructor(sha256: Sha256) {
    this.#sha256 = sha256
  }

  /** How many rows stand where an entry of theirs is. */
  get count(): number {
    return this.#count
  }

  /** The rows of the record that the entry at `seq` is about: one, as verifyGatedColumns finds. */
  expect(seq: number, rows: readonly GatedColumns[]): void {
    const row = rows.find(({ lastSeq }) => lastSeq === seq)
    if (!row) return
    this.#rows.set(seq, row)
    this.#count++
  }

  /** Throws `columns_contradict_entries`. */
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
