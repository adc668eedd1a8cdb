import type { Payload } from '../../src/db/jobs/queues.ts'
import { type AuditDeps, runAudit } from '../../src/followers/audit/run-audit.ts'
import { parseId } from '../../src/proof/ids.ts'
import type { HandledJob } from '../work-queues.ts'

export function auditJob(deps: AuditDeps) {
  return ({ ledger, audit }: Payload<'audit'>, job: HandledJob) =>
    runAudit(deps, { ledgerId: parseId('led', ledger), auditId: parseId('aud', audit) }, job)
}
