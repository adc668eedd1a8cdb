import type { Db } from '../connect/client.ts'
import { fromUuid, toUuid } from '../connect/uuid.ts'

type AuditState = 'queued' | 'running' | 'done' | 'failed'

/** Report of an audit, as it is stored. `entries` and `records` are the verified ones. */
export type AuditReport = {
  readonly entries: number
  readonly records: number
  readonly keys: string
  readonly firstKid: string | null
  readonly checkpoint: string
  readonly covered: number
  /** `seq` is null where the finding is about the ledger as a whole. */
  readonly failure: { readonly seq: number | null; readonly code: string; readonly reason: string } | null
  readonly notices: readonly string[]
}

export type AuditRow = {
  readonly auditId: Uint8Array
  /** An agent; null: the schedule. */
  readonly requestedBy: Uint8Array | null
  readonly requestedAt: Date
  readonly state: AuditState
  readonly entriesTotal: number | null
  readonly entriesDone: number
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly ok: boolean | null
  readonly report: AuditReport | null
}

type AuditColumns = {
  auditId: string
  requestedBy: string | null
  requestedAt: Date
  state: AuditState
  entriesTotal: number | null
  entriesDone: number
  startedAt: Date | null
  finishedAt: Date | null
  ok: boolean | null
  report: AuditReport | null
}

const COLUMNS = `audit_id, requested_by, requested_at, state, entries_total, entries_done, started_at, finished_at,
  ok, report`

/** The audit of the ledger that is open, or this new one; its id. `agentId`: null for the schedule. */
export async function requestAudit(
  db: Db,
  ledgerId: Uint8Array,
  auditId: Uint8Array,
  agentId: Uint8Array | null,
): Promise<Uint8Array> {
  const { rows } = await db.query<{ id: string }>('select tallystick.request_audit($1, $2, $3) as id', [
    toUuid(ledgerId),
    toUuid(auditId),
    agentId && toUuid(agentId),
  ])
  return fromUuid(rows[0]!.id)
}

export async function findAudit(db: Db, ledgerId: Uint8Array, auditId: Uint8Array): Promise<AuditRow | null> {
  const { rows } = await db.query<AuditColumns>({
    name: 'find_audit',
    text: `select ${COLUMNS} from tallystick.audits where ledger_id = $1 and audit_id = $2`,
    values: [toUuid(ledgerId), toUuid(auditId)],
  })
  return rows[0] ? toAudit(rows[0]) : null
}

/** Newest first, after the one with the id `after`. */
export async function listAudits(
  db: Db,
  ledgerId: Uint8Array,
  page: { after: Uint8Array | null; limit: number },
): Promise<AuditRow[]> {
  // By id, which is a UUIDv7 of the server that was asked: close enough to the order of requests, and stable.
  const { rows } = await db.query<AuditColumns>({
    name: 'list_audits',
    text: `select ${COLUMNS} from tallystick.audits
      where ledger_id = $1 and ($2::uuid is null or audit_id < $2) order by audit_id desc limit $3`,
    values: [toUuid(ledgerId), page.after && toUuid(page.after), page.limit],
  })
  return rows.map(toAudit)
}

function toAudit(row: AuditColumns): AuditRow {
  return {
    auditId: fromUuid(row.auditId),
    requestedBy: row.requestedBy === null ? null : fromUuid(row.requestedBy),
    requestedAt: row.requestedAt,
    state: row.state,
    entriesTotal: row.entriesTotal,
    entriesDone: row.entriesDone,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    ok: row.ok,
    report: row.report,
  }
}
