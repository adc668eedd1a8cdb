import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { Slots } from '../../load/slots.ts'
import { watchStreams } from '../../observe/metrics/reading.ts'
import { WATCH_TIME_SHARE_MAX } from '../../outside/events/limits.ts'
import { Watch } from '../../outside/events/watch.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { Deps } from '../deps.ts'
import { CHECKPOINT_POLL_MS, CHECKPOINT_WAITS_MAX, CHECKPOINT_WAITS_PER_LEDGER_MAX } from '../limits.ts'
import { type WaitDeps, Waits } from './waits.ts'

/** Requests that wait for a checkpoint. Requests for the same ledger share each read of its newest checkpoint. */
export class CheckpointWaits {
  readonly #waits: Waits
  readonly #watch: Watch<Uuid, string | null>

  constructor(deps: WaitDeps & Pick<Deps, 'checkpoints' | 'log' | 'metrics'>) {
    this.#waits = new Waits(deps, new Slots(CHECKPOINT_WAITS_PER_LEDGER_MAX, CHECKPOINT_WAITS_MAX))
    this.#watch = new Watch({
      noun: 'awaited checkpoints',
      keyOf: (ledgerId) => ledgerId,
      read: (ledgerIds) => Promise.all(ledgerIds.map((ledgerId) => deps.checkpoints.newest(ledgerId))),
      pollMs: CHECKPOINT_POLL_MS,
      timeShareMax: WATCH_TIME_SHARE_MAX,
      log: deps.log,
    })
    watchStreams(deps.metrics, 'receipts', this.#waits.slots)
  }

  /** Ends all waits. Later waits end at once. The requests are answered as if they had not waited. */
  close(): void {
    this.#waits.close()
  }

  /**
   * Returns the result of `read`. If `read` throws `checkpoint_pending`, calls `read` again after each new checkpoint.
   * Stops when `waitMs` have passed, the client has disconnected or the server closes. Then throws the last error of
   * `read`. Also throws the errors of `Waits.during`.
   */
  async until<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    waitMs: number,
    read: () => Promise<T>,
  ): Promise<T> {
    const endsAtMs = performance.now() + waitMs
    let seen: string | null = null
    for (;;) {
      try {
        return await read()
      } catch (error) {
        const msMax = endsAtMs - performance.now()
        if (!(error instanceof ApiError && error.code === 'checkpoint_pending') || msMax <= 0) throw error
        const isNew = (note: string | null) => note !== seen
        const note: string | null = await this.#waits.during(request, reply, (signal) =>
          this.#watch.until(request.caller.ledgerId, isNew, { msMax, signal }),
        )
        if (note === null) throw error
        seen = note
      }
    }
  }
}

export function openCheckpointWaits(
  app: FastifyInstance,
  deps: ConstructorParameters<typeof CheckpointWaits>[0],
): CheckpointWaits {
  const waits = new CheckpointWaits(deps)
  app.addHook('preClose', async () => waits.close())
  return waits
}
