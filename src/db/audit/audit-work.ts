import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { IS_HERE } from '../chain/verified-size.ts'
import type { Db } from '../connect/client.ts'
import { type AuditError, type AuditReport, WORKER_LOST } from './audits.ts'

/* This file has the worker's queries about audits. src/db/audit/audits.ts has the API's queries. */

export type AuditKey = { readonly ledgerId: Uuid; readonly auditId: Uuid }
type NameColumns = { ledgerId: Uuid; auditId: Uuid }

/**
 * Locks queued audits that have no job. Other workers skip them until the transaction ends.
 *
 * Leaves out ledgers that were moved or are being moved to another database. Their rows must not change, so each round
 * would create another job for the same audit.
 */
export async function lockWaitingAudits(client: pg.ClientBase, limit: number): Promise<AuditKey[]> {
  const { rows } = await client.query<NameColumns>(
    `select a.ledger_id, a.audit_id from tallystick.audits a
     join tallystick.chain_heads h on h.ledger_id = a.ledger_id and ${IS_HERE}
     where a.state = 'queued' and a.job_id is null
     order by a.requested_at limit $1 for update of a skip locked`,
    [limit],
  )
  return rows.map(toName)
}

export async function setAuditJobs(
  client: pg.ClientBase,
  jobs: readonly (AuditKey & { readonly jobId: string })[],
): Promise<void> {
  await client.query(
    `update tallystick.audits a set job_id = n.job_id
     from unnest($1::uuid[], $2::uuid[], $3::uuid[]) n (ledger_id, audit_id, job_id)
     where a.ledger_id = n.ledger_id and a.audit_id = n.audit_id`,
    [jobs.map((j) => j.ledgerId), jobs.map((j) => j.auditId), jobs.map((j) => j.jobId)],
  )
}

/**
 * Starts the audit from its beginning. Does so also after an interruption, and if an operator retries the audit.
 *
 * Returns false if the audit is done or does not exist, or if another audit of the ledger is open.
 */
export async function startAudit(db: Db, audit: AuditKey, jobId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update tallystick.audits a set state = 'running', job_id = $3, started_at = clock_timestamp(), finished_at = null,
       entries_done = 0,
       entries_total = (select h.size from tallystick.chain_heads h where h.ledger_id = a.ledger_id)
     where a.ledger_id = $1 and a.audit_id = $2 and a.state <> 'done'
       and not exists (select from tallystick.audits b where b.ledger_id = a.ledger_id and b.audit_id <> a.audit_id
         and b.state in ('queued', 'running'))`,
    [audit.ledgerId, audit.auditId, jobId],
  )
  return rowCount === 1
}

export async function setAuditProgress(
  db: Db,
  audit: AuditKey,
  progress: { readonly entries: number; readonly total: number },
): Promise<void> {
  await db.query(
    `update tallystick.audits set entries_done = $3, entries_total = $4
     where ledger_id = $1 and audit_id = $2 and state = 'running'`,
    [audit.ledgerId, audit.auditId, progress.entries, progress.total],
  )
}

export async function finishAudit(db: Db, audit: AuditKey, ok: boolean, report: AuditReport): Promise<void> {
  await db.query(
    `update tallystick.audits set state = 'done', finished_at = clock_timestamp(), ok = $3, report = $4,
       error = null, entries_done = $5
     where ledger_id = $1 and audit_id = $2 and state = 'running'`,
    [audit.ledgerId, audit.auditId, ok, JSON.stringify(report), report.entries],
  )
}

/** Stores why an attempt failed. The job is then retried or given up. */
export async function setAuditError(db: Db, audit: AuditKey, error: AuditError): Promise<void> {
  await db.query(
    `update tallystick.audits set error = $3 where ledger_id = $1 and audit_id = $2 and state = 'running'`,
    [audit.ledgerId, audit.auditId, JSON.stringify(error)],
  )
}

/** Returns the audit to the queue, because this worker is stopping. */
export async function requeueAudit(db: Db, audit: AuditKey): Promise<void> {
  await db.query(
    `update tallystick.audits set state = 'queued', job_id = null, entries_done = 0, started_at = null
     where ledger_id = $1 and audit_id = $2 and state = 'running'`,
    [audit.ledgerId, audit.auditId],
  )
}

/**
 * Marks an audit as failed if its job was given up, so that new audits can be requested. Returns the failed audits with
 * the reasons of their failure.
 */
export async function failLostAudits(db: Db): Promise<(AuditKey & { readonly reason: string })[]> {
  const { rows } = await db.query<NameColumns & { reason: string }>(
    `update tallystick.audits a set state = 'failed', finished_at = clock_timestamp(),
       error = coalesce(a.error, $1)
     where a.state in ('queued', 'running') and a.job_id is not null
       and not exists (select from tallystick_jobs.job j where j.name = 'audit' and j.id = a.job_id and j.state < 'completed')
     returning a.ledger_id, a.audit_id, a.error ->> 'reason' as reason`,
    [JSON.stringify(WORKER_LOST)],
  )
  return rows.map((row) => ({ ...toName(row), reason: row.reason }))
}

/**
 * Lists at most `limit` ledgers whose daily audit is due. A ledger's id determines the time of day, which spreads the
 * audits over the day.
 *
 * A ledger is left out if it has not grown since its last good audit, has an open audit, or is closed.
 */
export async function listAuditsDue(db: Db, limit: number): Promise<Uuid[]> {
  const { rows } = await db.query<{ ledgerId: Uuid }>(
    `select h.ledger_id from tallystick.chain_heads h
     cross join lateral (
       select (hashtext(h.ledger_id::text)::bigint + 2147483648) % 86400 * interval '1 second' as time_of_day
     ) own
     cross join lateral (
       select date_trunc('day', now() - own.time_of_day, 'UTC') + own.time_of_day as due_at
     ) today
     left join lateral (
       select a.requested_at, a.ok, (a.report ->> 'entries')::bigint as entries, a.state
       from tallystick.audits a where a.ledger_id = h.ledger_id order by a.audit_id desc limit 1
     ) last on true
     where coalesce(h.closed, 'frozen') = 'frozen'
       and (last.requested_at is null or last.requested_at < today.due_at and last.state in ('done', 'failed')
         and not (last.ok is true and last.entries = h.size))
     order by last.requested_at nulls first limit $1`,
    [limit],
  )
  return rows.map((row) => row.ledgerId)
}

type AuditFigures = {
  readonly lastGoodAt: Date | null
  readonly lastBadAt: Date | null
  readonly open: number
}

/**
 * Returns figures over all ledgers. Each figure is read from an index, so that many old audits do not slow this down.
 */
export async function readAuditFigures(db: Db): Promise<AuditFigures> {
  const { rows } = await db.query<{ good: Date | null; bad: Date | null; open: number }>(
    `select
       (select max(finished_at) from tallystick.audits where state = 'done' and ok) as good,
       (select max(finished_at) from tallystick.audits where state = 'done' and not ok) as bad,
       (select count(*) from tallystick.audits where state in ('queued', 'running')) as open`,
  )
  const row = rows[0]!
  return { lastGoodAt: row.good, lastBadAt: row.bad, open: row.open }
}

function toName(row: NameColumns): AuditKey {
  return { ledgerId: row.ledgerId, auditId: row.auditId }
}
