import { AUDIT_ERRORS, type AuditError, type AuditErrorCode } from '../../db/audit/audits.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { ApiError } from '../../errors.ts'

/**
 * A code of the system or of Postgres, such as EACCES or 57014. Such a code is all that tenants may read of an
 * unknown error.
 */
const SYSTEM_CODE = /^[A-Z0-9_]{3,64}$/

/** Describes why an audit failed, in texts of ours. The worker's log has the error itself. */
export function toAuditError(error: unknown): AuditError {
  const code = codeOf(error)
  const systemCode = (error as { code?: unknown }).code
  const isNamed = code === 'internal' && typeof systemCode === 'string' && SYSTEM_CODE.test(systemCode)
  return { code, reason: isNamed ? `${AUDIT_ERRORS.internal} (${systemCode})` : AUDIT_ERRORS[code] }
}

function codeOf(error: unknown): AuditErrorCode {
  // A thread's error arrives as a copy that has its properties but not its class.
  const { kind } = error as { kind?: unknown }
  if (typeof kind === 'string' && Object.hasOwn(AUDIT_ERRORS, kind)) return kind as AuditErrorCode
  if (error instanceof ApiError) return error.code === 'archive_unavailable' ? error.code : 'unavailable'
  return error instanceof Error && isUnavailable(error) ? 'unavailable' : 'internal'
}
