import type { FastifyReply, FastifyRequest } from 'fastify'
import { listVersions, type RecordOrigin } from '../../db/records/record-versions.ts'
import { Slots } from '../../load/slots.ts'
import { watchStreams } from '../../observe/metrics/reading.ts'
import { WATCH_TIME_SHARE_MAX } from '../../outside/events/limits.ts'
import { Watch } from '../../outside/events/watch.ts'
import type { Deps } from '../deps.ts'
import { RECORD_POLL_MS, RECORD_WAITS_MAX, RECORD_WAITS_PER_LEDGER_MAX } from '../limits.ts'
import { type WaitDeps, Waits } from './waits.ts'

/**
 * Requests that wait for the next step of a record. All these requests share one query at a time, which reads the
 * versions of their records.
 */
export class RecordWaits {
  readonly #waits: Waits
  readonly #watch: Watch<RecordOrigin, number | null>

  constructor(deps: WaitDeps & Pick<Deps, 'readPool' | 'log' | 'metrics'>) {
    this.#waits = new Waits(deps, new Slots(RECORD_WAITS_PER_LEDGER_MAX, RECORD_WAITS_MAX))
    this.#watch = new Watch({
      noun: 'awaited records',
      keyOf: ({ ledgerId, recordId, peerId }) => `${ledgerId} ${recordId} ${peerId}`,
      read: (places) => listVersions(deps.readPool, places),
      pollMs: RECORD_POLL_MS,
      timeShareMax: WATCH_TIME_SHARE_MAX,
      log: deps.log,
    })
    watchStreams(deps.metrics, 'waits', this.#waits.slots)
  }

  /** Ends all waits. Later waits end at once. The requests are answered with the current record. */
  close(): void {
    this.#waits.close()
  }

  /**
   * Returns true when the record has another version. Returns false when `msMax` have passed, the server closes, or the
   * client has disconnected. Throws the errors of `Waits.during`.
   */
  async untilMoved(
    request: FastifyRequest,
    reply: FastifyReply,
    { version, ...place }: RecordOrigin & { readonly version: number },
    msMax: number,
  ): Promise<boolean> {
    const isNext = (seen: number | null) => seen !== null && seen !== version
    const seen = await this.#waits.during(request, reply, (signal) =>
      this.#watch.until(place, isNext, { msMax, signal }),
    )
    return seen !== null
  }
}
