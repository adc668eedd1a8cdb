import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { WEBHOOK_FAILING_GAP_MS_MAX, WEBHOOK_NOTICES_OPEN_MAX } from '../limits.ts'
import type { WebhookKey, WebhookLease } from './webhook-leases.ts'

/* This file has queries of the worker that delivers events. src/db/events/webhooks.ts has the queries of the API. */

export type Attempt = {
  /** Time of the attempt in RFC 3339. */
  readonly at: string
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  /** Reason why the TLS handshake failed. null if it did not fail. */
  readonly reason: string | null
  readonly excerpt: string | null
}

/** A delivery that has a row in webhook_deliveries. */
export type StoredDelivery = {
  readonly eventId: Uuid
  readonly event: string
  readonly seq: number | null
  /** Position of the event among the events of its entry. */
  readonly index: number
  readonly recordId: Uuid | null
  readonly notice: string | null
  readonly tries: number
  readonly attempts: number
  readonly attemptLog: readonly Attempt[]
}

/**
 * Lists deliveries that are due now, in chain order. Leaves out the deliveries in `inHand`.
 *
 * `isGated` is true if another due delivery must wait. This is the case for a settlement signal whose entry is not
 * below the ledger's `verifiedSize` yet.
 */
export async function listDueDeliveries(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  {
    inHand,
    verifiedSize,
    limit,
  }: { readonly inHand: readonly Uuid[]; readonly verifiedSize: number; readonly limit: number },
): Promise<{ readonly due: StoredDelivery[]; readonly isGated: boolean }> {
  const { rows } = await db.query<{
    eventId: Uuid
    event: string
    seq: number | null
    place: number
    recordId: Uuid | null
    notice: string | null
    tries: number
    attempts: number
    attemptLog: Attempt[]
    isGated: boolean
  }>({
    name: 'list_due_deliveries',
    text: `with due as not materialized (
        select *, event = 'signal.emitted' and seq >= $5 as is_gated from tallystick.webhook_deliveries
        where ledger_id = $1 and webhook_id = $2 and state = 'pending' and due_at <= now() and event_id <> all($3)
      )
      select event_id, event, seq, place, record_id, notice, tries, attempts, attempt_log, is_gated from (
        (select * from due where is_gated is not true order by due_at limit $4)
        union all
        (select * from due where is_gated order by due_at limit 1)
      ) d order by seq nulls last, place`,
    values: [ledgerId, webhookId, inHand, limit, verifiedSize],
  })
  const due = rows
    .filter(({ isGated }) => !isGated)
    .map((row) => ({
      eventId: row.eventId,
      event: row.event,
      seq: row.seq,
      index: row.place,
      recordId: row.recordId,
      notice: row.notice,
      tries: row.tries,
      attempts: row.attempts,
      attemptLog: row.attemptLog,
    }))
  return { due, isGated: rows.length > due.length }
}

export type DeliveryState = 'pending' | 'held' | 'delivered' | 'dead'

/**
 * Returns the states of those events of `eventIds` that have a stored delivery, by event id. Also returns which records
 * of `recordIds` have an open delivery.
 */
export async function readStored(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  eventIds: readonly Uuid[],
  recordIds: readonly Uuid[],
): Promise<{
  readonly states: ReadonlyMap<string, DeliveryState>
  readonly openRecords: ReadonlySet<string>
}> {
  const { rows } = await db.query<{ eventId: Uuid; recordId: Uuid; state: DeliveryState | null }>({
    name: 'read_stored_deliveries',
    text: `select d.event_id, d.record_id, d.state from unnest($3::uuid[]) e (event_id)
      cross join lateral (
        select * from tallystick.webhook_deliveries n
        where n.ledger_id = $1 and n.webhook_id = $2 and n.event_id = e.event_id and n.seq is not null offset 0
      ) d
      union all
      select null, r.record_id, null from unnest($4::uuid[]) r (record_id)
      where exists (
        select from tallystick.webhook_deliveries n
        where n.ledger_id = $1 and n.webhook_id = $2 and n.record_id = r.record_id and n.state in ('pending', 'held'))`,
    values: [ledgerId, webhookId, eventIds, recordIds],
  })
  const states = new Map<string, DeliveryState>()
  const openRecords = new Set<string>()
  for (const { eventId, recordId, state } of rows) {
    if (state === null) openRecords.add(recordId)
    else states.set(eventId, state)
  }
  return { states, openRecords }
}

/** Counts pending and waiting deliveries. Stops at `most`. */
export async function countOpen(db: Db, { ledgerId, webhookId }: WebhookKey, most: number): Promise<number> {
  const { rows } = await db.query<{ open: number }>({
    name: 'count_open_deliveries',
    text: `select count(*) as open from (
      select from tallystick.webhook_deliveries
      where ledger_id = $1 and webhook_id = $2 and state in ('pending', 'held') limit $3
    ) d`,
    values: [ledgerId, webhookId, most],
  })
  return rows[0]!.open
}

export type WrittenDelivery = StoredDelivery & {
  readonly state: DeliveryState
  readonly dueInMs: number | null
}

/**
 * Describes how the endpoint has answered recently. If a member is null, the stored value does not change. The
 * exception is `failingSinceMs`, which is also stored if it is null.
 */
export type Health = {
  readonly failures: number
  readonly failingSinceMs: number | null
  readonly failingDays: number
  readonly resumeInMs: number | null
  readonly lastSuccessMs: number | null
  readonly lastFailureMs: number | null
}

export type Progress = {
  readonly nextSeq: number
  readonly checkpointSize: number
  readonly health: Health
  readonly rows: readonly WrittenDelivery[]
  /** True if a crash may lose this write. The transaction then does not wait for the disk. */
  readonly mayBeLost: boolean
}

/**
 * Stores delivery results and moves the cursor in one statement. Returns false, without any write, if another job has
 * the lease.
 *
 * If a crash of Postgres loses the result of a delivered event, the event is sent again, or only its row is missing.
 * But the row of an event that is still to be sent must not be lost, because a sender that survives the crash would
 * skip the event.
 */
export async function writeProgress(db: Db, lease: WebhookLease, progress: Progress): Promise<boolean> {
  const { health, rows } = progress
  const { rowCount } = await db.query({
    name: 'write_webhook_progress',
    text: `with ours as (
        update tallystick.webhook_cursors c set next_seq = greatest(c.next_seq, $4),
          checkpoint_size = greatest(c.checkpoint_size, $5), failures = $6, failing_since = to_timestamp($7),
          resume_at = now() + $8 * interval '1 millisecond',
          last_success_at = coalesce(to_timestamp($9), c.last_success_at),
          last_failure_at = coalesce(to_timestamp($10), c.last_failure_at), failing_days = $23
        where c.ledger_id = $1 and c.webhook_id = $2 and c.job_id = $3
        returning c.ledger_id, c.webhook_id
      ), written as (
        insert into tallystick.webhook_deliveries as d
          (ledger_id, webhook_id, event_id, event, seq, place, record_id, notice, state, tries, attempts, attempt_log, due_at,
            finished_at)
        select o.ledger_id, o.webhook_id, n.event_id, n.event, n.seq, n.place, n.record_id, n.notice, n.state, n.tries,
          n.attempts, n.attempt_log,
          case when n.state = 'pending' then now() + n.due_in_ms * interval '1 millisecond' end,
          case when n.state in ('delivered', 'dead') then clock_timestamp() end
        from ours o cross join unnest($11::uuid[], $12::text[], $13::bigint[], $14::int2[], $15::uuid[], $16::text[],
          $17::text[], $18::int2[], $19::int4[], $20::jsonb[], $21::float8[])
          n (event_id, event, seq, place, record_id, notice, state, tries, attempts, attempt_log, due_in_ms)
        on conflict (ledger_id, webhook_id, event_id) do update set state = excluded.state, tries = excluded.tries,
          attempts = excluded.attempts, attempt_log = excluded.attempt_log, due_at = excluded.due_at,
          finished_at = excluded.finished_at
      )
      select case when $22::boolean then set_config('synchronous_commit', 'off', true) end from ours`,
    values: [
      lease.ledgerId,
      lease.webhookId,
      lease.jobId,
      progress.nextSeq,
      progress.checkpointSize,
      health.failures,
      toSeconds(health.failingSinceMs),
      health.resumeInMs,
      toSeconds(health.lastSuccessMs),
      toSeconds(health.lastFailureMs),
      rows.map(({ eventId }) => eventId),
      rows.map(({ event }) => event),
      rows.map(({ seq }) => seq),
      rows.map(({ index }) => index),
      rows.map(({ recordId }) => recordId),
      rows.map(({ notice }) => notice),
      rows.map(({ state }) => state),
      rows.map(({ tries }) => tries),
      rows.map(({ attempts }) => attempts),
      rows.map(({ attemptLog }) => JSON.stringify(attemptLog)),
      rows.map(({ dueInMs }) => dueInMs),
      progress.mayBeLost,
      health.failingDays,
    ],
  })
  return rowCount === 1
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}

/**
 * For each record without a pending delivery, makes the first waiting delivery due. Returns the number of deliveries
 * that were made due.
 */
export async function releaseWaiting(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  recordIds: readonly Uuid[],
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'release_waiting_deliveries',
    text: `update tallystick.webhook_deliveries d set state = 'pending', due_at = now()
      from unnest($3::uuid[]) r (record_id)
      cross join lateral (
        select n.event_id from tallystick.webhook_deliveries n
        where n.ledger_id = $1 and n.webhook_id = $2 and n.record_id = r.record_id and n.state = 'held'
          and not exists (
            select from tallystick.webhook_deliveries p
            where p.ledger_id = $1 and p.webhook_id = $2 and p.record_id = r.record_id and p.state = 'pending')
        order by n.seq, n.place limit 1
      ) first
      where d.ledger_id = $1 and d.webhook_id = $2 and d.event_id = first.event_id`,
    values: [ledgerId, webhookId, recordIds],
  })
  return rowCount ?? 0
}

/**
 * Reopens deliveries with a new round of retries. Deliveries without a record are due at once. All others wait, until
 * releaseWaiting makes the deliveries of each record due one after another.
 *
 * Runs in the transaction of writeProgress, which has checked the lease.
 */
export async function reopenDeliveries(
  client: pg.ClientBase,
  { ledgerId, webhookId }: WebhookKey,
  eventIds: readonly Uuid[],
): Promise<void> {
  await client.query({
    name: 'reopen_deliveries',
    text: `update tallystick.webhook_deliveries d set tries = 0, finished_at = null,
        state = case when d.record_id is null then 'pending' else 'held' end,
        due_at = case when d.record_id is null then now() end
      where d.ledger_id = $1 and d.webhook_id = $2 and d.event_id = any($3)`,
    values: [ledgerId, webhookId, eventIds],
  })
}

/** Stops deliveries to the endpoint until somebody resumes it. Returns false if the endpoint was not active. */
export async function stopWebhook(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  stop: { readonly state: 'paused' | 'disabled'; readonly reason: 'failing' | 'gone' },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update tallystick.webhooks set state = $3, reason = $4, state_at = clock_timestamp()
     where ledger_id = $1 and webhook_id = $2 and state = 'active'`,
    [ledgerId, webhookId, stop.state, stop.reason],
  )
  return rowCount === 1
}

/** Returns the ids of the ledger's other active endpoints that subscribe to `event`. */
export async function listListeners(
  db: Db,
  { ledgerId, webhookId }: WebhookKey,
  event: string,
): Promise<Uuid[]> {
  const { rows } = await db.query<{ webhookId: Uuid }>(
    `select webhook_id from tallystick.webhooks
     where ledger_id = $1 and webhook_id <> $2 and state = 'active' and events && array['*', $3]`,
    [ledgerId, webhookId, event],
  )
  return rows.map((row) => row.webhookId)
}

type Notice = {
  readonly webhookId: Uuid
  readonly eventId: Uuid
  readonly event: string
  readonly notice: string
}

/**
 * Adds notices that are due at once. Adds no notice for an endpoint that has WEBHOOK_NOTICES_OPEN_MAX waiting notices.
 */
export async function addNotices(db: Db, ledgerId: Uuid, notices: readonly Notice[]): Promise<void> {
  await db.query(
    `with added as (
       insert into tallystick.webhook_deliveries
         (ledger_id, webhook_id, event_id, event, notice, state, tries, attempts, attempt_log, due_at)
       select $1, n.webhook_id, n.event_id, n.event, n.notice, 'pending', 0, 0, '[]', now()
       from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) n (webhook_id, event_id, event, notice)
       where (select count(*) from tallystick.webhook_deliveries d where d.ledger_id = $1 and d.webhook_id = n.webhook_id
         and d.state = 'pending' and d.record_id is null and d.notice is not null) < $6
       on conflict do nothing returning webhook_id
     )
     update tallystick.webhook_cursors c set due_at = clock_timestamp()
     from added a where c.ledger_id = $1 and c.webhook_id = a.webhook_id`,
    [
      ledgerId,
      notices.map(({ webhookId }) => webhookId),
      notices.map(({ eventId }) => eventId),
      notices.map(({ event }) => event),
      notices.map(({ notice }) => notice),
      WEBHOOK_NOTICES_OPEN_MAX,
    ],
  )
}

type WebhookFigures = Readonly<
  Record<
    | 'active'
    | 'failing'
    /** Duration in seconds of the longest current series of failures of an active endpoint. */
    | 'failingSeconds'
    | 'behind'
    /**
     * Number of endpoints that have unread entries and to which requests may be sent now. `waitingSeconds` is the age
     * of the oldest such entry.
     */
    | 'waiting'
    | 'waitingSeconds'
    | 'paused'
    | 'disabled'
    | 'lagEntries'
    | 'lagSeconds',
    number
  >
>

/**
 * Counts endpoints of all ledgers by state, and measures the entries that active endpoints have not read.
 *
 * A series of failures ends after WEBHOOK_FAILING_GAP_MS_MAX without an attempt.
 */
export async function readWebhookFigures(db: Db): Promise<WebhookFigures> {
  const { rows } = await db.query<Record<keyof WebhookFigures, string | number>>(
    `select count(*) filter (where w.state = 'active') as active,
       count(*) filter (where w.state = 'active' and c.failures > 0) as failing,
       coalesce(greatest(max(extract(epoch from now() - c.failing_since)) filter (
         where w.state = 'active' and c.last_failure_at > now() - $1 * interval '1 millisecond'), 0), 0) as "failingSeconds",
       count(*) filter (where w.state = 'active' and c.next_seq < h.size) as behind,
       count(*) filter (where t.waits) as waiting,
       coalesce(greatest(max(extract(epoch from now() - e.recorded_at)) filter (where t.waits), 0), 0) as "waitingSeconds",
       count(*) filter (where w.state = 'paused') as paused,
       count(*) filter (where w.state = 'disabled') as disabled,
       coalesce(sum(h.size - c.next_seq) filter (where w.state = 'active' and c.next_seq < h.size), 0) as "lagEntries",
       coalesce(greatest(max(extract(epoch from now() - e.recorded_at)), 0), 0) as "lagSeconds"
     from tallystick.webhooks w
     join tallystick.webhook_cursors c on c.ledger_id = w.ledger_id and c.webhook_id = w.webhook_id
     join tallystick.chain_heads h on h.ledger_id = w.ledger_id
     cross join lateral (
       select w.state = 'active' and c.next_seq < h.size and (c.resume_at is null or c.resume_at <= now()) as waits
     ) t
     left join lateral (
       select n.recorded_at from tallystick.entries n where n.ledger_id = c.ledger_id and n.seq = c.next_seq offset 0
     ) e on w.state = 'active' and c.next_seq < h.size`,
    [WEBHOOK_FAILING_GAP_MS_MAX],
  )
  const figures = Object.entries(rows[0]!).map(([name, figure]) => [name, Number(figure)])
  return Object.fromEntries(figures) as WebhookFigures
}

/** Counts pending, waiting and dead deliveries. Each count uses an index and stops at `most`. */
export async function countWebhookDeliveries(
  db: Db,
  most: number,
): Promise<Readonly<Record<'pending' | 'held' | 'dead', number>>> {
  const counted = (state: DeliveryState, index: string) => `(select count(*) from (
    select from tallystick.webhook_deliveries where state = '${state}' and ${index} limit $1
  ) d) as ${state}`
  // Each condition must equal the condition of a partial index. Otherwise Postgres would read the whole table.
  const { rows } = await db.query<Record<'pending' | 'held' | 'dead', string>>(
    `select ${counted('pending', "state = 'pending'")}, ${counted('held', "state in ('pending', 'held')")},
       ${counted('dead', "state = 'dead'")}`,
    [most],
  )
  const { pending, held, dead } = rows[0]!
  return { pending: Number(pending), held: Number(held), dead: Number(dead) }
}
