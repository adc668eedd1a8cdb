import type { Span } from '@opentelemetry/api'
import type { Follower } from '../src/followers/loop.ts'
import type { VerificationObserver } from '../src/followers/verification/verify-completions.ts'
import { failSpan } from '../src/observe/tracing/fail-span.ts'
import type { Tracing } from '../src/observe/tracing/tracing.ts'
import type { Uuid } from '../src/proof/ids.ts'
import type { JobOutcome, QueueWork } from './work-queues.ts'

/*
 * Makes spans of background work: one span for each batch of jobs, and one span for each round that did work or failed.
 * Idle rounds have no span, because there are fifty of them a second.
 */

/** Callbacks that a round calls when it does work. */
type RoundCallbacks = {
  readonly observeCheckpoint: (ledgerId: Uuid) => void
  readonly observeErasure: (documents: number) => void
  readonly observeRetention: (documents: number) => void
  readonly observeEntries: (entries: number) => void
  readonly observeExpiry: () => void
  readonly observeVerification: VerificationObserver
  readonly loadSigners: () => Promise<unknown>
  readonly wakeVerification: () => void
  readonly wakeDelivery: () => void
  readonly wakeDrain: () => void
}

const ROUND_CALLBACKS = [
  'observeCheckpoint',
  'observeErasure',
  'observeRetention',
  'observeEntries',
  'observeExpiry',
  'observeVerification',
  'loadSigners',
  'wakeVerification',
  'wakeDelivery',
  'wakeDrain',
] as const satisfies (keyof RoundCallbacks)[]

/** Registers followers whose rounds are spans. `register` makes the followers from their dependencies. */
export function traceFollowers<Deps extends RoundCallbacks>(
  tracing: Tracing | null,
  deps: Deps,
  register: (deps: Deps) => Follower[],
): Follower[] {
  if (tracing === null) return register(deps)
  const busy = new WeakSet<Span>()
  const marking =
    (told: (...given: never[]) => unknown) =>
    (...given: never[]) => {
      if (tracing.current) busy.add(tracing.current)
      return told(...given)
    }
  const noted = Object.fromEntries(ROUND_CALLBACKS.map((name) => [name, marking(deps[name])]))
  return register({ ...deps, ...noted }).map((follower) => ({
    ...follower,
    step: () => traceRound(tracing, follower, busy),
  }))
}

/** Runs a round in a span. The span of an idle round is never ended, so it is never sent. */
async function traceRound(tracing: Tracing, { name, step }: Follower, busy: WeakSet<Span>): Promise<boolean> {
  const attributes = { 'tallystick.follower': name }
  const span = tracing.start(`round ${name}`, { kind: 'internal', parent: null, attributes })
  if (span === null) return step()
  try {
    const more = await tracing.with(span, step)
    if (more || busy.has(span)) span.end()
    return more
  } catch (error) {
    failSpan(span, nameOf(error)).end()
    throw error
  }
}

/** Returns the rows with handlers that run within a span. */
export function traceQueues(tracing: Tracing | null, rows: readonly QueueWork[]): readonly QueueWork[] {
  if (tracing === null) return rows
  return rows.map((row): QueueWork => {
    if ('handleInSlot' in row) {
      const { handleInSlot } = row
      return {
        ...row,
        handleInSlot: (...job) => traceJobs(tracing, row.queue, 1, () => handleInSlot(...job)),
      }
    }
    if ('handleBatch' in row) {
      const { handleBatch } = row
      return {
        ...row,
        handleBatch: (jobs) => traceJobs(tracing, row.queue, jobs.length, () => handleBatch(jobs)),
      }
    }
    const { handle } = row
    return { ...row, handle: (...job) => traceJobs(tracing, row.queue, 1, () => handle(...job)) }
  })
}

async function traceJobs<T>(
  tracing: Tracing,
  queue: string,
  jobs: number,
  work: () => Promise<T>,
): Promise<T> {
  const span = tracing.start(`job ${queue}`, {
    kind: 'consumer',
    parent: null,
    attributes: { 'tallystick.queue': queue, 'tallystick.jobs': jobs },
  })
  if (span === null) return work()
  try {
    const result = await tracing.with(span, work)
    const failed = Array.isArray(result) ? countFailed(result) : 0
    if (failed > 0) failSpan(span.setAttribute('tallystick.jobs.failed', failed), 'jobs_failed')
    return result
  } catch (error) {
    failSpan(span, nameOf(error))
    throw error
  } finally {
    span.end()
  }
}

function countFailed(outcomes: readonly JobOutcome[]): number {
  return outcomes.filter(({ status }) => status !== 'completed').length
}

/** Returns the error's name. The message is left out, because it may contain text of a client. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}
