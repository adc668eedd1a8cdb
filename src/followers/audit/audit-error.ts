import { AUDIT_ERRORS, type AuditError, type AuditErrorCode } from '../../db/audit/audits.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { ApiError } from '../../errors.ts'

/**
 * Matches codes of the system or of Postgres, such as EACCES or 57014. Of an unknown error, tenants may read only such
 * a code.
 */
const SYSTEM_CODE = /^[A-Z0-9_]{3,64}$/

/** Describes why an audit failed, in our own words. The error itself is only in the worker's log. */
export function toAuditError(error: unknown): AuditError {
  const code = codeOf(error)
  const systemCode = (error as { code?: unknown }).code
  const isNamed = code === 'internal' && typeof systemCode === 'string' && SYSTEM_CODE.test(systemCode)
  return { code, reason: isNamed ? `${AUDIT_ERRORS.internal} (${systemCode})` : AUDIT_ERRORS[code] }
}

function codeOf(error: unknown): AuditErrorCode {
  // An error of a thread arrives as a copy. The copy has the properties of the error but not its class.
  const { kind } = error as { kind?: unknown }
  if (typeof kind === 'string' && Object.hasOwn(AUDIT_ERRORS, kind)) return kind as AuditErrorCode
  if (error instanceof ApiError) return error.code === 'archive_unavailable' ? error.code : 'unavailable'
  return error instanceof Error && isUnavailable(error) ? 'unavailable' : 'internal'
}
