import type pg from 'pg'
import { listAuditsDue } from '../../db/audit/audit-work.ts'
import { requestAudit } from '../../db/audit/audits.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { AUDITS_PER_SCHEDULE_MAX } from '../limits.ts'

export type ScheduleAuditsDeps = {
  readonly pool: pg.Pool
  readonly entropy: Entropy
  readonly now: () => number
}

/**
 * Requests the daily audits that are due, and returns their number. Requests at most AUDITS_PER_SCHEDULE_MAX audits.
 * The next call requests the rest.
 */
export async function scheduleAudits({ pool, entropy, now }: ScheduleAuditsDeps): Promise<number> {
  const ledgers = await listAuditsDue(pool, AUDITS_PER_SCHEDULE_MAX)
  for (const ledgerId of ledgers) await requestAudit(pool, ledgerId, entropy.uuidv7(now()), null)
  return ledgers.length
}
