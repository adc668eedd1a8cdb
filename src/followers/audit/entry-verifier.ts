import type { AuditedServerKey } from '../../db/evidence/ledgers.ts'
import { keyHint } from '../../verify/database.ts'
import { type EntryPool, openEntryThreads } from '../../verify/entry-pool.ts'
import type { RangeResult, RangeTask } from '../../verify/verify-range.ts'

/**
 * A thread that verifies single entries while the worker runs. An attacker's bytes can at worst end the thread; the
 * next call starts another.
 */
export class EntryVerifier {
  #pool: EntryPool | null = null
  #keys = ''
  #cpuMs = 0

  /** Verifies a range. `keys`: published keys of the database. When the keys change, the thread is restarted. */
  async run(task: RangeTask, keys: readonly AuditedServerKey[]): Promise<RangeResult> {
    const hints = keys.filter((key) => key.use === 'envelope').map(keyHint)
    const known = JSON.stringify(hints)
    if (known !== this.#keys) await this.close()
    this.#keys = known
    this.#pool ??= openEntryThreads({ keys: hints, documents: 'all' }, 1)
    try {
      const result = await this.#pool.run(task)
      this.#cpuMs += result.cpuMs ?? 0
      return result
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** CPU time that verification has used so far, in all threads. */
  get cpuMs(): number {
    return this.#cpuMs
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = null
    await pool?.close()
  }
}
