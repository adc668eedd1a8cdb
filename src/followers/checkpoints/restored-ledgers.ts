import type pg from 'pg'
import { closeRestoredLedgers } from '../../db/chain/closures.ts'
import { formatId } from '../../proof/ids.ts'
import { RESTORED_NEWEST_PER_ROUND, RESTORED_OTHERS_PER_ROUND, RESTORED_PER_QUERY } from '../limits.ts'
import { type Contradiction, ContradictionError, listContradictions } from './contradictions.ts'
import type { StoredCheckpoint, StoredCheckpoints } from './stored-checkpoints.ts'

type Deps = {
  readonly pool: pg.Pool
  readonly storedCheckpoints: StoredCheckpoints
  readonly log: { error(details: object, message: string): void }
}

/**
 * A ledger that does not extend its stored checkpoint.
 *
 * - `closed`: the ledger was closed until an operator acknowledges the contradiction.
 * - `gone`: the ledger is missing, so there is nothing to close.
 */
type Finding = 'closed' | 'gone'

/**
 * Compares the checkpoints stored outside Postgres with the chains. Closes each ledger that does not extend its
 * checkpoint. Otherwise agents would continue on an older backup, and entries that were acknowledged after the backup
 * would be lost without notice.
 */
export class RestoredLedgers {
  readonly #deps: Deps
  readonly #findings = new Map<string, Finding>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  count(finding: Finding): number {
    let count = 0
    for (const found of this.#findings.values()) if (found === finding) count++
    return count
  }

  /**
   * Checks some ledgers. If this finds a new contradiction, all ledgers are checked, because a backup contains the
   * whole database. Always returns false, because the step is never repeated at once.
   */
  async step(): Promise<boolean> {
    const found = await this.#check(
      this.#deps.storedCheckpoints.nextToCheck(RESTORED_NEWEST_PER_ROUND, RESTORED_OTHERS_PER_ROUND),
    )
    if (found > 0) await this.checkAll()
    return false
  }

  /**
   * Checks all ledgers. Must be called before any checkpoint is published, and before a server in the same process
   * listens.
   */
  async checkAll(): Promise<void> {
    const all = this.#deps.storedCheckpoints.all
    for (let at = 0; at < all.length; at += RESTORED_PER_QUERY) {
      await this.#check(all.slice(at, at + RESTORED_PER_QUERY))
    }
  }

  /** Checks some ledgers and returns the number of new findings. */
  async #check(checkpoints: readonly StoredCheckpoint[]): Promise<number> {
    const contradictions = await this.#listUnacknowledged(checkpoints)
    const closed = await this.#close(contradictions)
    const found = contradictions.filter(({ ledger }) => closed.has(ledger) || !this.#findings.has(ledger))
    for (const { ledger } of checkpoints) this.#findings.delete(ledger)
    for (const contradiction of contradictions) {
      this.#findings.set(contradiction.ledger, contradiction.found ? 'closed' : 'gone')
    }
    this.#report(found)
    return found.length
  }

  /**
   * Returns the contradictions that are not acknowledged. Another worker that shares the folder may have stored a later
   * checkpoint that the ledger does extend, or that was acknowledged. So the checkpoint is read from its file again. If
   * the file is unreadable, the cached checkpoint is used.
   */
  async #listUnacknowledged(checkpoints: readonly StoredCheckpoint[]): Promise<Contradiction[]> {
    const { pool } = this.#deps
    const remembered = (await listContradictions(pool, checkpoints)).filter(isUnacknowledged)
    if (remembered.length === 0) return []
    const inFiles = await Promise.all(
      remembered.map(async ({ ledger, ledgerId, checkpoint }) => {
        const inFile = await this.#deps.storedCheckpoints.find(ledger).catch(() => null)
        return { ledger, ledgerId, checkpoint: inFile ?? checkpoint }
      }),
    )
    return (await listContradictions(pool, inFiles)).filter(isUnacknowledged)
  }

  async #close(contradictions: readonly Contradiction[]): Promise<ReadonlySet<string>> {
    const open = contradictions.filter(({ found }) => found && found.closed !== 'restored')
    if (open.length === 0) return new Set()
    const closed = await closeRestoredLedgers(
      this.#deps.pool,
      open.map(({ ledgerId, checkpoint: { size, chain }, refusedSeq }) => ({
        ledgerId,
        size,
        chain,
        refusedSeq,
      })),
    )
    return new Set(closed.map((ledgerId) => formatId('led', ledgerId)))
  }

  #report(contradictions: readonly Contradiction[]): void {
    for (const contradiction of contradictions) {
      const { ledger, found, refusedSeq } = contradiction
      const state = found ? 'it is closed to appends' : 'it is gone and cannot be closed'
      this.#deps.log.error(
        { err: new ContradictionError(contradiction), ledger, ...(refusedSeq !== null && { refusedSeq }) },
        `a ledger differs from what was published of it: ${state}`,
      )
    }
  }
}

function isUnacknowledged({ isAcknowledged }: Contradiction): boolean {
  return !isAcknowledged
}
