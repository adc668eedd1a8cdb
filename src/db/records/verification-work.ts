import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import {
  FLOOR_COLUMNS,
  type FloorColumns,
  floorOf,
  hasOpenFault,
  IS_HERE,
  joinFloor,
} from '../chain/floors.ts'
import type { Db } from '../connect/client.ts'
import type { QueueName } from '../jobs/queues.ts'
import { COMPLETION_CLAIMERS_MAX } from '../limits.ts'
import type { GatedName } from './gated-cases.ts'

/* Which completions wait for the worker: rows of waiting_completions, which holds nothing else. */

/**
 * No job of pg-boss has this id. A completion has it while it waits for its ledger to be opened again, or for a fault
 * to be cleared, so that nobody passes over it all the time.
 */
const HELD_JOB = '00000000-0000-0000-0000-000000000000'

const QUEUE: QueueName = 'verify-completion'

/** A ledger with completions that no job carries. */
export type WaitingLedger = {
  readonly ledgerId: Uuid
  /** Seq of the newest entry of the completion that waits longest. */
  readonly firstSeq: number
  readonly floor: number
  /** The ledger takes no entries, or has an open fault. */
  readonly stands: boolean
}

/**
 * Ledgers in which completions wait that no job carries, but for those that are moved to another database, where their completions are
 * verified: asked all the time, without a transaction. From ledger to ledger it is one
 * look at the index waiting_completions_free, however many completions wait in between.
 */
export async function listWaitingLedgers(db: Db, cursorMac: CursorMac): Promise<WaitingLedger[]> {
  const { rows } = await db.query<FloorColumns & { ledgerId: Uuid; firstSeq: number; stands: boolean }>({
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
      select l.ledger_id, l.seq as first_seq, h.closed is not null or ${hasOpenFault('l.ledger_id')} as stands, ${FLOOR_COLUMNS}
      from ledgers l
      cross join lateral (
        select h.closed from tallystick.chain_heads h where h.ledger_id = l.ledger_id offset 0
      ) h
      ${joinFloor('l.ledger_id')}
      where ${IS_HERE}`,
  })
  return rows.map((row) => {
    const ledgerId = row.ledgerId
    const floor = floorOf(cursorMac, ledgerId, row)
    return { ledgerId, firstSeq: row.firstSeq, floor, stands: row.stands }
  })
}

/** Whether it has one that may be verified, or must be put aside because the ledger stands. */
export function isReady({ firstSeq, floor, stands }: WaitingLedger): boolean {
  return stands || firstSeq < floor
}

/** Number of jobs that could be taken at once, counted to `most`, without those that wait for another attempt. */
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

/** One that no job carries; `stands`: as its ledger. */
type WaitingCompletion = GatedName & { readonly stands: boolean }

/**
 * Each ledger's oldest below its floor, as many of one ledger as of another while they have as many: anybody who floods the worker waits
 * for himself. Other workers skip what is locked until the transaction ends.
 */
export async function lockWaitingCompletions(
  client: pg.ClientBase,
  ledgers: readonly WaitingLedger[],
  limit: number,
): Promise<WaitingCompletion[]> {
  const { rows } = await client.query<NameColumns & { stands: boolean }>({
    name: 'lock_waiting_completions',
    text: `${WAITING_SHARES}
      select w.ledger_id, w.record_id, l.stands from (select * from ledgers order by random() limit $1) l
      cross join lateral (
        select w.ledger_id, w.record_id from tallystick.waiting_completions w
        where w.verification_job is null and w.ledger_id = l.ledger_id and w.seq < l.until
        order by w.ledger_id, w.seq limit (select rows from share)
        for update skip locked
      ) w`,
    values: [limit, ...asColumns(ledgers)],
  })
  return rows.map((row) => ({ ...toName(row), stands: row.stands }))
}

/** The ledgers, up to where their completions are taken, and how many of each. A ledger that stands has all of its completions put aside. */
const WAITING_SHARES = `with ledgers as materialized (
    select l.ledger_id, l.stands, case when l.stands then 9223372036854775807 else l.floor end as until
    from unnest($2::uuid[], $3::bigint[], $4::boolean[]) l (ledger_id, floor, stands)
  ), share as materialized (
    select greatest(1, $1 / greatest(1, count(*))) as rows from ledgers
  )`

function asColumns(ledgers: readonly WaitingLedger[]): unknown[] {
  return [
    ledgers.map(({ ledgerId }) => ledgerId),
    ledgers.map(({ floor }) => floor),
    ledgers.map(({ stands }) => stands),
  ]
}

type NameColumns = { ledgerId: Uuid; recordId: Uuid }

function toName({ ledgerId, recordId }: NameColumns): GatedName {
  return { ledgerId, recordId }
}

/**
 * As lockWaitingCompletions, but without a lock on the rows, because append_entries moves them in another transaction.
 * No other worker claims a claimed completion until this transaction ends. Claims are advisory locks, and a claim is no
 * evidence of anything: if two workers verify one completion, the chain takes the word of one. A worker that says
 * nothing for `claimMsMax` (the machine is gone) loses it.
 */
export async function claimWaitingCompletions(
  client: pg.ClientBase,
  ledgers: readonly WaitingLedger[],
  options: { readonly limit: number; readonly claimMsMax: number },
): Promise<GatedName[]> {
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

/** Passes over those of a ledger that is moved to another database: its rows stay as they were copied. */
export async function setVerificationJobs(
  db: Db,
  jobs: readonly (GatedName & { readonly jobId: string })[],
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

/** Until `releaseLostCompletions` finds that their ledger is open, and without a fault. */
export function holdCompletions(db: Db, names: readonly GatedName[]): Promise<void> {
  return setVerificationJobs(
    db,
    names.map((name) => ({ ...name, jobId: HELD_JOB })),
  )
}

/**
 * Lets completions go whose job is nowhere (deleted, or done without them) or has been at work for longer than `jobMsMax`, and
 * those that were held in ledgers that go on; how many, at most `limit`. A completion that was put aside as a dead
 * letter stays its job's. So does one that an operator put back: it has a new job, with the old one as its root.
 */
export async function releaseLostCompletions(
  db: Db,
  options: { readonly jobMsMax: number; readonly limit: number },
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'release_lost_completions',
    // Each look goes by its own index, whatever the planner believes of the tables: pg-boss keeps what is done for minutes.
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

/** Completions that are not verified yet, in ledgers that take entries; those that wait for a fault to be cleared are among them. */
export async function readWaitingFigures(db: Db): Promise<WaitingFigures> {
  const { rows } = await db.query<{ count: number; seconds: number }>(
    `select count(*) as count, coalesce(extract(epoch from now() - min(e.recorded_at)), 0)::float8 as seconds
     from tallystick.waiting_completions w
     join tallystick.chain_heads h on h.ledger_id = w.ledger_id and h.closed is null
     left join tallystick.entries e on e.ledger_id = w.ledger_id and e.seq = w.seq`,
  )
  return { count: rows[0]!.count, oldestSeconds: Math.max(0, rows[0]!.seconds) }
}
