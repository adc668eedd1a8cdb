import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import {
  hasOpenFault,
  IS_HERE,
  joinVerifiedSize,
  VERIFIED_SIZE_COLUMNS,
  type VerifiedSizeColumns,
  verifiedSizeOf,
} from '../chain/verified-size.ts'
import type { Db } from '../connect/client.ts'
import type { QueueName } from '../jobs/queues.ts'
import { COMPLETION_CLAIMERS_MAX } from '../limits.ts'
import type { GatedRecordKey } from './gated-cases.ts'

/* Finds completions that wait for the worker. The table waiting_completions contains only such completions. */

/**
 * A job id that pg-boss never assigns. If a ledger is closed or has an open fault, its completions get this id. Polls
 * then skip these completions.
 */
const PUT_ASIDE_JOB = '00000000-0000-0000-0000-000000000000'

const QUEUE: QueueName = 'verify-completion'

/** A ledger with completions that have no job. */
export type WaitingLedger = {
  readonly ledgerId: Uuid
  /** Seq of the newest entry of the record whose completion has waited longest. */
  readonly firstSeq: number
  readonly verifiedSize: number
  /** True if the ledger accepts no entries or has an open fault. */
  readonly isBlocked: boolean
}

/**
 * Lists the ledgers that have completions without a job. Ledgers that are in another database are left out. This
 * function is called all the time, outside of transactions.
 *
 * Each step from one ledger to the next is one access to the index waiting_completions_free, no matter how many
 * completions the ledger has.
 */
export async function listWaitingLedgers(db: Db, cursorMac: CursorMac): Promise<WaitingLedger[]> {
  const { rows } = await db.query<
    VerifiedSizeColumns & { ledgerId: Uuid; firstSeq: number; isBlocked: boolean }
  >({
    name: 'list_waiting_ledgers',
    text: `with recursive ledgers as (
        (select w.ledger_id, w.seq from tallystick.waiting_completions w where w.verification_job is null
          order by w.ledger_id, w.seq limit 1)
        union all
        select n.ledger_id, n.seq from ledgers l
        cross join lateral (
          select w.ledger_id, w.seq from tallystick.waiting_completions w
          where w.verification_job is null and w.ledger_id > l.ledger_id
          order by w.ledger_id, w.seq limit 1
        ) n
      )
      select l.ledger_id, l.seq as first_seq, h.closed is not null or ${hasOpenFault('l.ledger_id')} as is_blocked, ${VERIFIED_SIZE_COLUMNS}
      from ledgers l
      cross join lateral (
        select h.closed from tallystick.chain_heads h where h.ledger_id = l.ledger_id offset 0
      ) h
      ${joinVerifiedSize('l.ledger_id')}
      where ${IS_HERE}`,
  })
  return rows.map((row) => {
    const ledgerId = row.ledgerId
    const verifiedSize = verifiedSizeOf(cursorMac, ledgerId, row)
    return { ledgerId, firstSeq: row.firstSeq, verifiedSize, isBlocked: row.isBlocked }
  })
}

/**
 * Returns true if the worker can handle the ledger's oldest completion now. The worker verifies the completion, or puts
 * it aside if the ledger is blocked.
 */
export function isReady({ firstSeq, verifiedSize, isBlocked }: WaitingLedger): boolean {
  return isBlocked || firstSeq < verifiedSize
}

/** Counts the jobs that could start now. Counts no further than `most`. Jobs that wait for a retry do not count. */
export async function countReadyJobs(client: pg.ClientBase, most: number): Promise<number> {
  const { rows } = await client.query<{ ready: number }>({
    name: 'count_ready_jobs',
    text: `select count(*) as ready from (
      select from tallystick_jobs.job j
      where j.name = $1 and j.state < 'active' and not j.blocked and j.start_after <= now() limit $2
    ) j`,
    values: [QUEUE, most],
  })
  return rows[0]!.ready
}

/** A completion without a job. `isBlocked` means the same as in WaitingLedger. */
type WaitingCompletion = GatedRecordKey & { readonly isBlocked: boolean }

/**
 * Locks the oldest waiting completions of each ledger. In a ledger that is not blocked, only completions below the
 * verified size are locked. All ledgers get equal shares, so that a flood in one ledger does not delay other ledgers.
 *
 * Other workers skip the locked rows until the transaction ends.
 */
export async function lockWaitingCompletions(
  client: pg.ClientBase,
  ledgers: readonly WaitingLedger[],
  limit: number,
): Promise<WaitingCompletion[]> {
  const { rows } = await client.query<NameColumns & { isBlocked: boolean }>({
    name: 'lock_waiting_completions',
    text: `${WAITING_SHARES}
      select w.ledger_id, w.record_id, l.is_blocked from (select * from ledgers order by random() limit $1) l
      cross join lateral (
        select w.ledger_id, w.record_id from tallystick.waiting_completions w
        where w.verification_job is null and w.ledger_id = l.ledger_id and w.seq < l.until
        order by w.ledger_id, w.seq limit (select rows from share)
        for update skip locked
      ) w`,
    values: [limit, ...asColumns(ledgers)],
  })
  return rows.map((row) => ({ ...toName(row), isBlocked: row.isBlocked }))
}

/**
 * SQL of two tables. `ledgers.until`: only completions with a smaller seq are taken from the ledger. `share.rows`:
 * number of completions taken from each ledger. For a blocked ledger `until` has no limit, because all its completions
 * are put aside.
 */
const WAITING_SHARES = `with ledgers as materialized (
    select l.ledger_id, l.is_blocked, case when l.is_blocked then 9223372036854775807 else l.verified_size end as until
    from unnest($2::uuid[], $3::bigint[], $4::boolean[]) l (ledger_id, verified_size, is_blocked)
  ), share as materialized (
    select greatest(1, $1 / greatest(1, count(*))) as rows from ledgers
  )`

function asColumns(ledgers: readonly WaitingLedger[]): unknown[] {
  return [
    ledgers.map(({ ledgerId }) => ledgerId),
    ledgers.map(({ verifiedSize }) => verifiedSize),
    ledgers.map(({ isBlocked }) => isBlocked),
  ]
}

type NameColumns = { ledgerId: Uuid; recordId: Uuid }

function toName({ ledgerId, recordId }: NameColumns): GatedRecordKey {
  return { ledgerId, recordId }
}

/**
 * Claims completions as lockWaitingCompletions does, but with advisory locks. Row locks would block append_entries,
 * which changes the same rows in another transaction.
 *
 * A claim lasts until this transaction ends. Claims only avoid double work: if two workers verify the same completion,
 * the chain accepts only one result. If a worker sends nothing for `claimMsMax`, for example because its machine has
 * failed, the worker loses its claims.
 */
export async function claimWaitingCompletions(
  client: pg.ClientBase,
  ledgers: readonly WaitingLedger[],
  options: { readonly limit: number; readonly claimMsMax: number },
): Promise<GatedRecordKey[]> {
  await client.query(`set local idle_in_transaction_session_timeout = ${Math.trunc(options.claimMsMax)}`)
  const { rows } = await client.query<NameColumns>({
    name: 'claim_waiting_completions',
    text: `${WAITING_SHARES}
      select c.ledger_id, c.record_id from (select * from ledgers order by random() limit $1) l
      cross join lateral (
        select w.ledger_id, w.record_id from (
          select w.ledger_id, w.record_id from tallystick.waiting_completions w
          where w.verification_job is null and w.ledger_id = l.ledger_id and w.seq < l.until
          order by w.ledger_id, w.seq limit (select ${COMPLETION_CLAIMERS_MAX} * rows from share)
        ) w
        where pg_try_advisory_xact_lock(uuid_hash_extended(w.record_id, uuid_hash(w.ledger_id)))
        limit (select rows from share)
      ) c`,
    values: [options.limit, ...asColumns(ledgers)],
  })
  return rows.map(toName)
}

/**
 * Stores the job of each completion. Skips ledgers that were moved to another database, or that are being moved,
 * because their rows must not change after they were copied.
 */
export async function setVerificationJobs(
  db: Db,
  jobs: readonly (GatedRecordKey & { readonly jobId: string })[],
): Promise<void> {
  await db.query({
    name: 'set_verification_jobs',
    text: `update tallystick.waiting_completions w set verification_job = n.job_id
      from unnest($1::uuid[], $2::uuid[], $3::uuid[]) n (ledger_id, record_id, job_id)
      cross join lateral (
        select g.last_seq from tallystick.gated_records g where g.ledger_id = n.ledger_id and g.record_id = n.record_id offset 0
      ) g
      where w.ledger_id = n.ledger_id and w.seq = g.last_seq and not exists (
        select from tallystick.chain_heads h where h.ledger_id = n.ledger_id and h.closed in ('moving', 'moved'))`,
    values: [jobs.map((j) => j.ledgerId), jobs.map((j) => j.recordId), jobs.map((j) => j.jobId)],
  })
}

/** Puts completions aside until `releaseLostCompletions` finds their ledger open and without a fault. */
export function putAsideCompletions(db: Db, names: readonly GatedRecordKey[]): Promise<void> {
  return setVerificationJobs(
    db,
    names.map((name) => ({ ...name, jobId: PUT_ASIDE_JOB })),
  )
}

/**
 * Removes the job id from completions whose job is lost, and from completions that were put aside in ledgers that are
 * no longer blocked. Changes at most `limit` completions and returns their number.
 *
 * A job is lost if it was deleted, ended without handling its completion, or has run for longer than `jobMsMax`. A dead
 * letter is not lost, and its completion keeps the job id, because an operator may retry the job. The retry has a job
 * id of its own, but the completion keeps the old id.
 */
export async function releaseLostCompletions(
  db: Db,
  options: { readonly jobMsMax: number; readonly limit: number },
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'release_lost_completions',
    // Each subquery uses its own index, whatever statistics the planner has. Finished jobs are found too, because
    // pg-boss stores them for minutes.
    text: `update tallystick.waiting_completions u set verification_job = null
      from (
        select w.ledger_id, w.seq, w.verification_job
        from (
          select w.ledger_id, w.seq, w.verification_job from tallystick.waiting_completions w
          where w.verification_job is not null offset 0
        ) w
        cross join lateral (
          select from tallystick.chain_heads h
          where h.ledger_id = w.ledger_id and h.closed is null and not ${hasOpenFault('h.ledger_id')} offset 0
        ) open
        left join lateral (
          select true as lives from tallystick_jobs.job j where j.name = $1 and j.id = w.verification_job
            and (j.state < 'active' or j.state = 'active' and j.started_on > now() - $2 * interval '1 millisecond')
          limit 1
        ) own on true
        left join lateral (
          select true as lives from tallystick_jobs.job j where j.source_root_id = w.verification_job and j.state < 'completed'
          limit 1
        ) later on true
        where own.lives is null and later.lives is null
        limit $3
      ) lost
      where u.ledger_id = lost.ledger_id and u.seq = lost.seq and u.verification_job = lost.verification_job`,
    values: [QUEUE, options.jobMsMax, options.limit],
  })
  return rowCount ?? 0
}

type WaitingFigures = { readonly count: number; readonly oldestSeconds: number }

/**
 * Returns the number of unverified completions in ledgers that take entries, and the age of the oldest one.
 * Completions of ledgers with an open fault count too.
 */
export async function readWaitingFigures(db: Db): Promise<WaitingFigures> {
  const { rows } = await db.query<{ count: number; seconds: number }>(
    `select count(*) as count, coalesce(extract(epoch from now() - min(e.recorded_at)), 0)::float8 as seconds
     from tallystick.waiting_completions w
     join tallystick.chain_heads h on h.ledger_id = w.ledger_id and h.closed is null
     left join tallystick.entries e on e.ledger_id = w.ledger_id and e.seq = w.seq`,
  )
  return { count: rows[0]!.count, oldestSeconds: Math.max(0, rows[0]!.seconds) }
}
