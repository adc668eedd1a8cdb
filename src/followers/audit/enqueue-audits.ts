import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { failLostAudits, lockWaitingAudits, setAuditJobs } from '../../db/audit/audit-work.ts'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import { asJobsDatabase } from '../../db/jobs/job-queues.ts'
import type { Payload } from '../../db/jobs/queues.ts'
import { formatId } from '../../proof/ids.ts'
import { AUDITS_PER_ROUND } from '../limits.ts'

export type EnqueueAuditsDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  readonly log: { error(details: object, message: string): void }
}

/**
 * Makes a job for each requested audit, in the transaction that marks the request. Servers cannot make jobs with their
 * login, so they write requests to a table, at most one for each ledger. Returns true if the caller should call again
 * at once.
 */
export async function enqueueAudits(deps: EnqueueAuditsDeps): Promise<boolean> {
  const enqueued = await withPooledTransaction(deps.pool, async (client) => {
    const audits = await lockWaitingAudits(client, AUDITS_PER_ROUND)
    const jobs = audits.map((audit) => ({ ...audit, jobId: randomUUID() }))
    if (jobs.length === 0) return 0
    await deps.boss.insert(
      'audit',
      jobs.map(({ ledgerId, auditId, jobId }) => ({
        id: jobId,
        data: {
          ledger: formatId('led', ledgerId),
          audit: formatId('aud', auditId),
        } satisfies Payload<'audit'>,
      })),
      { db: asJobsDatabase(client) },
    )
    await setAuditJobs(client, jobs)
    return jobs.length
  })
  for (const { ledgerId, auditId, reason } of await failLostAudits(deps.pool)) {
    const about = { ledger: formatId('led', ledgerId), audit: formatId('aud', auditId), reason }
    deps.log.error(about, 'an audit was given up: its job is a dead letter')
  }
  return enqueued === AUDITS_PER_ROUND
}
