import type { AuditedServerKey } from '../../db/evidence/ledgers.ts'
import { keyHint } from '../../verify/database.ts'
import { type EntryPool, openEntryThreads } from '../../verify/entry-pool.ts'
import type { RangeResult, RangeTask } from '../../verify/verify-range.ts'

/**
 * Verifies single entries in a thread while the worker runs. Bytes from an attacker can at worst end the thread. The
 * next call then starts a new thread.
 */
export class EntryVerifier {
  #pool: EntryPool | null = null
  #keys = ''
  #cpuMs = 0

  /**
   * Verifies a range of entries. `keys`: the public keys in the database. If they have changed since the last call, the
   * thread is restarted.
   */
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

  /** CPU time in ms that verification has used so far, in all threads. */
  get cpuMs(): number {
    return this.#cpuMs
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = null
    await pool?.close()
  }
}
