import { z } from 'zod'
import { isId } from '../../proof/ids.ts'

/*
 * Defines the pg-boss queues and their payloads, for all code that creates jobs or works on them.
 *
 * Payloads contain ids and never content, because no signature covers a queue, and erasures do not change queues.
 * `migrate` creates the queues (src/db/jobs/job-queues.ts). worker/register.ts lists the handlers of the queues.
 */

/**
 * Queue of jobs that were given up. No worker works on this queue. An operator reads its jobs and retries them
 * (docs/runbooks/worker.md#jobs-were-given-up).
 */
export const DEAD_LETTER_QUEUE = 'dead-letters'
export const DEAD_LETTER_SECONDS = 30 * 86_400

/**
 * Options of pg-boss. The pause before a retry starts at `retryDelay` and doubles each time, with jitter, up to
 * `retryDelayMax`.
 */
export type QueueRules = {
  readonly retryLimit: number
  readonly retryDelay: number
  readonly retryBackoff: true
  readonly retryDelayMax: number
  /** Time in seconds after which a running job is considered lost. */
  readonly expireInSeconds: number
  /**
   * Time in seconds without a heartbeat after which a job is considered lost, because its worker was probably killed.
   * Absent if the jobs have no heartbeat.
   */
  readonly heartbeatSeconds?: number
  /**
   * Time in seconds for which jobs that never started are stored. `deleteAfterSeconds` is the time for finished jobs.
   */
  readonly retentionSeconds: number
  readonly deleteAfterSeconds: number
  /**
   * Set to null for a queue whose lost jobs do not become dead letters, because a follower creates these jobs again.
   */
  readonly deadLetter?: null
}

const RULES: QueueRules = {
  retryLimit: 5,
  retryDelay: 10,
  retryBackoff: true,
  retryDelayMax: 600,
  expireInSeconds: 900,
  heartbeatSeconds: 30,
  retentionSeconds: 7 * 86_400,
  deleteAfterSeconds: 86_400,
}

/**
 * Rules of jobs with a lease. A failed or lost job is not retried, because the listener gets another job when the lease
 * ends.
 */
const LEASE = {
  retryLimit: 0,
  retryDelay: 0,
  retryBackoff: true,
  retryDelayMax: 1,
  expireInSeconds: 300,
  retentionSeconds: 3_600,
  deleteAfterSeconds: 120,
  deadLetter: null,
} as const satisfies QueueRules

export const QUEUES = {
  /** Verifies one ledger. A ledger of hundreds of millions of entries takes hours. */
  audit: { ...RULES, expireInSeconds: 86_399 },
  /** Requests due audits, on a schedule. If a run is missed, the next run requests them. */
  'audit-schedule': { ...RULES, retryLimit: 1, retentionSeconds: 3_600 },
  /**
   * Verifies one completion.
   *
   * There may be hundreds of jobs per second, so finished jobs are deleted soon. The first retry comes after seconds,
   * because somebody is waiting. The last retry comes ten minutes later, when an unreachable database may be back.
   */
  'verify-completion': {
    ...RULES,
    retryLimit: 8,
    retryDelay: 2,
    retryDelayMax: 240,
    expireInSeconds: 120,
    deleteAfterSeconds: 120,
  },
  /** Delivers to an endpoint under a lease (src/outside/webhooks/enqueue.ts). Deliveries have their own retries. */
  'deliver-webhook': LEASE,
  /** Sends to a peer under a lease. Requests have their own retries. */
  'drain-peer': { ...LEASE, expireInSeconds: 86_399 },
} as const satisfies Record<string, QueueRules>

export type QueueName = keyof typeof QUEUES

const ledgerId = z.string().refine((text) => isId('led', text))
const recordId = z.string().refine((text) => isId('rec', text))
const webhookId = z.string().refine((text) => isId('whk', text))
const peerId = z.string().refine((text) => isId('peer', text))
const auditId = z.string().refine((text) => isId('aud', text))

export const PAYLOADS = {
  audit: z.strictObject({ ledger: ledgerId, audit: auditId }),
  'audit-schedule': z.strictObject({}),
  'verify-completion': z.strictObject({ ledger: ledgerId, record: recordId }),
  'deliver-webhook': z.strictObject({ ledger: ledgerId, webhook: webhookId }),
  'drain-peer': z.strictObject({ ledger: ledgerId, peer: peerId }),
} as const satisfies Record<QueueName, z.ZodType>

export type Payload<Q extends QueueName> = z.infer<(typeof PAYLOADS)[Q]>
