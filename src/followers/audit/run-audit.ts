import {
  type AuditName,
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
import type { KeptCheckpoints } from '../checkpoints/kept.ts'
import { toAuditError } from './audit-error.ts'
import { cutReason, type FaultDeps, raiseFault } from './faults.ts'
import { type AuditTask, verifyInThread } from './verify-in-thread.ts'

export type AuditDeps = FaultDeps & {
  /** As the worker's login, for the audit's own connection. */
  readonly database: DatabaseOrUrl
  readonly kept: Pick<KeptCheckpoints, 'findNote'>
  /** Aborts when the process is to stop. */
  readonly stopping: AbortSignal
  /** Hears of each audit that ended here, and how long it took. */
  readonly observeAudit?: (result: AuditResult, ms: number) => void
}

/** `failed`: the ledger could not be read; `interrupted`: another worker begins it anew. */
export const AUDIT_RESULTS = ['good', 'bad', 'failed', 'interrupted'] as const
export type AuditResult = (typeof AUDIT_RESULTS)[number]

/**
 * Verifies one ledger as `tallystick verify --database` does, and stores what it found. Nothing of it depends on what an
 * earlier attempt did: killed at any place, it is taken up again from the beginning. Throws when the ledger could not be
 * read: the reason is stored, and the job is retried.
 */
export async function runAudit(
  deps: AuditDeps,
  audit: AuditName,
  job: { readonly id: string; readonly signal: AbortSignal },
): Promise<void> {
  if (!(await startAudit(deps.pool, audit, job.id))) return
  const startedAt = performance.now()
  let result: AuditResult = 'failed'
  try {
    result = await verifyAndStore(deps, audit, job.signal)
  } catch (error) {
    // The database may be what failed.
    await setAuditError(deps.pool, audit, toAuditError(error)).catch(() => {})
    throw error
  } finally {
    deps.observeAudit?.(result, performance.now() - startedAt)
  }
}

async function verifyAndStore(deps: AuditDeps, audit: AuditName, signal: AbortSignal): Promise<AuditResult> {
  const ledger = formatId('led', audit.ledgerId)
  const note = await findBindingNote(deps.pool, deps.kept, audit.ledgerId)
  const report = await verifyInThread(
    { ...plainly(deps.database), ledger, checkpoints: note === null ? [] : [note] },
    (progress) => void setAuditProgress(deps.pool, audit, progress).catch(() => {}),
    AbortSignal.any([deps.stopping, signal]),
    Database.of(deps.database).archive,
  )
  // Not the fault of the job: it must not use up its retries in a rolling upgrade.
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

/** A thread makes its own connection, and is handed values only. */
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
