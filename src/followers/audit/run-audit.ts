import {
  type AuditKey,
  finishAudit,
  requeueAudit,
  setAuditError,
  setAuditProgress,
  startAudit,
} from '../../db/audit/audit-work.ts'
import type { AuditReport } from '../../db/audit/audits.ts'
import { Database, type DatabaseOrUrl } from '../../db/connect/connection.ts'
import { isClosedAsRestored } from '../../db/ledgers/ledgers.ts'
import { formatId } from '../../proof/ids.ts'
import type { VerifyReport } from '../../verify/report.ts'
import { findBindingNote } from '../checkpoints/contradictions.ts'
import type { StoredCheckpoints } from '../checkpoints/stored-checkpoints.ts'
import { toAuditError } from './audit-error.ts'
import { cutReason, type FaultDeps, raiseFault } from './faults.ts'
import { type AuditTask, verifyInThread } from './verify-in-thread.ts'

export type AuditDeps = FaultDeps & {
  /** The worker's login. The audit opens its own connection with it. */
  readonly database: DatabaseOrUrl
  readonly storedCheckpoints: Pick<StoredCheckpoints, 'findNote'>
  readonly stopping: AbortSignal
  /** Called after each audit of this process. `ms`: duration of the audit. */
  readonly observeAudit?: (result: AuditResult, ms: number) => void
}

/**
 * How an audit ended.
 *
 * - `failed`: the ledger could not be read.
 * - `interrupted`: the worker stopped. Another worker starts the audit again.
 */
export const AUDIT_RESULTS = ['good', 'bad', 'failed', 'interrupted'] as const
export type AuditResult = (typeof AUDIT_RESULTS)[number]

/**
 * Verifies one ledger in the way of `tallystick verify --database`, and stores the result. After a crash, the audit
 * starts from the beginning. If the ledger cannot be read, the reason is stored, this function throws, and the job is
 * retried.
 */
export async function runAudit(
  deps: AuditDeps,
  audit: AuditKey,
  job: { readonly id: string; readonly signal: AbortSignal },
): Promise<void> {
  if (!(await startAudit(deps.pool, audit, job.id))) return
  const startedAt = performance.now()
  let result: AuditResult = 'failed'
  try {
    result = await verifyAndStore(deps, audit, job.signal)
  } catch (error) {
    // A failure of this call is ignored, because the database may have caused the first error as well.
    await setAuditError(deps.pool, audit, toAuditError(error)).catch(() => {})
    throw error
  } finally {
    deps.observeAudit?.(result, performance.now() - startedAt)
  }
}

async function verifyAndStore(deps: AuditDeps, audit: AuditKey, signal: AbortSignal): Promise<AuditResult> {
  const ledger = formatId('led', audit.ledgerId)
  const note = await findBindingNote(deps.pool, deps.storedCheckpoints, audit.ledgerId)
  const report = await verifyInThread(
    { ...plainly(deps.database), ledger, checkpoints: note === null ? [] : [note] },
    (progress) => void setAuditProgress(deps.pool, audit, progress).catch(() => {}),
    AbortSignal.any([deps.stopping, signal]),
    Database.of(deps.database).archive,
  )
  // An interrupted audit gets a new job, because interruptions during a rolling upgrade must not use up the job's
  // retries.
  if (report === null) {
    await requeueAudit(deps.pool, audit)
    return 'interrupted'
  }
  if (report.failure !== null && !(await isClosedAsRestored(deps.pool, audit.ledgerId))) {
    await raiseFault(deps, audit.ledgerId, { foundBy: 'audit', ...report.failure })
  }
  await finishAudit(deps.pool, audit, report.ok, asStored(report))
  return report.ok ? 'good' : 'bad'
}

/**
 * Converts the database to plain values. The thread opens its own connection, and only plain values can be passed to a
 * thread.
 */
function plainly(database: DatabaseOrUrl): Pick<AuditTask, 'url' | 'options'> {
  const { url, options } = Database.of(database)
  return { url, options }
}

function asStored(report: VerifyReport): AuditReport {
  const { entries, records, keys, firstKid, checkpoint, covered, failure, notices } = report
  return {
    entries,
    records,
    keys,
    firstKid,
    checkpoint,
    covered,
    failure: failure && { seq: failure.seq, code: failure.code, reason: cutReason(failure.reason) },
    notices,
  }
}
