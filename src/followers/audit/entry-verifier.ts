import type { AuditedServerKey } from '../../db/evidence/ledgers.ts'
import { keyHint } from '../../verify/database.ts'
import { type EntryPool, openEntryThreads } from '../../verify/entry-pool.ts'
import type { PortionResult, PortionTask } from '../../verify/verify-portion.ts'

/**
 * One thread that verifies entries one by one, for as long as the worker runs. Bytes of an attacker can at worst end the
 * thread, never the worker: the next call starts another one.
 */
export class EntryVerifier {
  #pool: EntryPool | null = null
  #keys = ''
  #cpuMs = 0

  /** `keys`: those that the database publishes. A thread knows the keys that it was started with. */
  async run(task: PortionTask, keys: readonly AuditedServerKey[]): Promise<PortionResult> {
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

  /** CPU that verification has taken so far, in whichever thread. */
  get cpuMs(): number {
    return this.#cpuMs
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = null
    await pool?.close()
  }
}
