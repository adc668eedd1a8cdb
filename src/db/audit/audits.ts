import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

type AuditState = 'queued' | 'running' | 'done' | 'failed'

/**
 * Reasons why an attempt ended without a report. Tenants read these texts, so they contain no host name and no error
 * message.
 */
export const AUDIT_ERRORS = {
  unavailable: 'the worker could not reach or read the database',
  denied: 'the database refused the worker’s login',
  not_a_ledger: 'the database has the schema of another Tallystick version',
  io: 'a disk of the worker failed',
  archive_unavailable: 'the archive, which stores part of the ledger, could not be read',
  worker_lost: 'the worker that ran the audit ended or stopped answering',
  internal: 'the worker failed',
} as const
export type AuditErrorCode = keyof typeof AUDIT_ERRORS

export type AuditError = { readonly code: AuditErrorCode; readonly reason: string }

/** Error of an audit whose job was given up and left no error. */
export const WORKER_LOST: AuditError = { code: 'worker_lost', reason: AUDIT_ERRORS['worker_lost'] }

/** Report of an audit, as stored. `entries` and `records` are the numbers of verified entries and records. */
export type AuditReport = {
  readonly entries: number
  readonly records: number
  readonly keys: string
  readonly firstKid: string | null
  readonly checkpoint: string
  readonly covered: number
  /** The first finding of the audit. `seq` is null if the finding is about the whole ledger. */
  readonly failure: { readonly seq: number | null; readonly code: string; readonly reason: string } | null
  readonly notices: readonly string[]
}

export type AuditRow = {
  readonly auditId: Uuid
  /** The agent that requested the audit. null if the schedule requested it. */
  readonly requestedBy: Uuid | null
  readonly requestedAt: Date
  readonly state: AuditState
  readonly entriesTotal: number | null
  readonly entriesDone: number
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly ok: boolean | null
  readonly report: AuditReport | null
  /** Error of the last attempt. null if no attempt failed, or if the audit is done. */
  readonly error: AuditError | null
}

const COLUMNS = `audit_id, requested_by, requested_at, state, entries_total, entries_done, started_at, finished_at,
  ok, report, error`

/**
 * Requests an audit and returns its id. If the ledger already has an open audit, returns the id of the open audit.
 * `agentId` is null if the schedule requests the audit.
 */
export async function requestAudit(
  db: Db,
  ledgerId: Uuid,
  auditId: Uuid,
  agentId: Uuid | null,
): Promise<Uuid> {
  const { rows } = await db.query<{ id: Uuid }>('select tallystick.request_audit($1, $2, $3) as id', [
    ledgerId,
    auditId,
    agentId,
  ])
  return rows[0]!.id
}

export async function findAudit(db: Db, ledgerId: Uuid, auditId: Uuid): Promise<AuditRow | null> {
  const { rows } = await db.query<AuditRow>({
    name: 'find_audit',
    text: `select ${COLUMNS} from tallystick.audits where ledger_id = $1 and audit_id = $2`,
    values: [ledgerId, auditId],
  })
  return rows[0] ?? null
}

export async function listAudits(
  db: Db,
  ledgerId: Uuid,
  page: { after: Uuid | null; limit: number },
): Promise<AuditRow[]> {
  // The rows are ordered by id. An id is a UUIDv7 of the server that accepted the request, so this order is stable and
  // close to the order of requests.
  const { rows } = await db.query<AuditRow>({
    name: 'list_audits',
    text: `select ${COLUMNS} from tallystick.audits
      where ledger_id = $1 and ($2::uuid is null or audit_id < $2) order by audit_id desc limit $3`,
    values: [ledgerId, page.after, page.limit],
  })
  return rows
}
