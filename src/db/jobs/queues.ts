import { z } from 'zod'
import { isId } from '../../proof/ids.ts'

/*
 * The queues of pg-boss, and what their jobs hold: all that those who enqueue and those who work share. A job holds ids, never
 * bodies: a queue is not covered by any signature, and an erasure does not reach into it.
 *
 * `migrate` makes the queues (src/db/jobs/job-queues.ts); worker/register.ts says who works on them.
 */

/** Where jobs go that were given up. Nobody works on it: an operator looks, and puts them back (docs/runbooks/dead-letters.md). */
export const DEAD_LETTER_QUEUE = 'dead-letters'
export const DEAD_LETTER_SECONDS = 30 * 86_400

/** As pg-boss takes them. Retries wait `retryDelay` doubled each time, jittered, `retryDelayMax` at most. */
export type QueueRules = {
  readonly retryLimit: number
  readonly retryDelay: number
  readonly retryBackoff: true
  readonly retryDelayMax: number
  /** A job that is at work for longer is taken for lost. */
  readonly expireInSeconds: number
  /** One whose worker says nothing for so long, too: it was killed. Absent: nobody asks. */
  readonly heartbeatSeconds?: number
  /** How long one that nobody takes, and one that is done, are kept. */
  readonly retentionSeconds: number
  readonly deleteAfterSeconds: number
  /** null: it is not put aside when it is given up, because what it would have done comes again by itself. */
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

/** A lease whose job fails, or is lost with its worker, is not retried: its owner gets another one when the lease ends. */
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
  /** Verify one ledger. A ledger of hundreds of millions of entries takes hours. */
  audit: { ...RULES, expireInSeconds: 86_399 },
  /** Ask for the audits that are due; enqueued by the clock. The next one makes up for one that is missed. */
  'audit-schedule': { ...RULES, retryLimit: 1, retentionSeconds: 3_600 },
  /**
   * Verify one completion. Hundreds a second, so jobs that are done are deleted soon. The first retry comes after
   * seconds, because somebody waits; the last one ten minutes later, when a database that was away is back.
   */
  'verify-completion': {
    ...RULES,
    retryLimit: 8,
    retryDelay: 2,
    retryDelayMax: 240,
    expireInSeconds: 120,
    deleteAfterSeconds: 120,
  },
  /**
   * An endpoint's lease, to be delivered to. One that fails, or is lost with its worker, is not retried: the endpoint gets another
   * one when its lease ends (src/outside/webhooks/enqueue.ts). Deliveries have their own retries.
   */
  'deliver-webhook': LEASE,
  /** A peering's lease, to be drained to. The requests have retries of their own. */
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
