import type pg from 'pg'
import type { QueueName } from '../jobs/queues.ts'
import type { Db } from './client.ts'
import type { LedgerEnds } from './read-events.ts'
import { fromUuid, toUuid } from './uuid.ts'

/* What the worker reads and writes to deliver. What the API reads and asks for: src/db/webhooks.ts. */

const QUEUE: QueueName = 'deliver-webhook'

export type WebhookName = { readonly ledgerId: Uint8Array; readonly webhookId: Uint8Array }
/** An endpoint whose turn it is; the job is what everything is written under. */
export type WebhookTurn = WebhookName & { readonly jobId: string }

/** Of webhooks `w`, webhook_cursors `c`, chain_heads `h`. */
const HAS_WORK = `w.state = 'active' and (c.resume_at is null or c.resume_at <= now()) and (
    -- somebody began, and is gone
    c.job_id is not null or c.next_seq < h.size or c.due_at <= now() or c.recover_seq is not null
    or w.events && '{*,checkpoint.published}' and exists (
      select from tallystick.checkpoints k
      where k.ledger_id = c.ledger_id and k.size > c.checkpoint_size and k.size <= c.next_seq))`

const WAITING = `select c.ledger_id, c.webhook_id from tallystick.webhook_cursors c
  join tallystick.webhooks w on w.ledger_id = c.ledger_id and w.webhook_id = c.webhook_id
  join tallystick.chain_heads h on h.ledger_id = c.ledger_id
  where (c.job_id is null or c.leased_until < now()) and ${HAS_WORK}`

/** Whether takeTurns would find one: asked all the time, without a transaction. */
export async function hasWaitingWebhooks(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ waiting: boolean }>({
    name: 'has_waiting_webhooks',
    text: `select exists (${WAITING}) as waiting`,
  })
  return rows[0]!.waiting
}

/** Endpoints that have something to hear and that nobody delivers to; whoever waits longest first. */
export async function takeTurns(
  client: pg.ClientBase,
  limit: number,
  leaseMs: number,
): Promise<WebhookTurn[]> {
  const { rows } = await client.query<{ ledger_id: string; webhook_id: string; job_id: string }>({
    name: 'take_webhook_turns',
    text: `with waiting as materialized (${WAITING} order by c.served_at limit $1 for update of c skip locked)
      update tallystick.webhook_cursors c
      set job_id = gen_random_uuid(), leased_until = now() + $2 * interval '1 millisecond'
      from waiting n where c.ledger_id = n.ledger_id and c.webhook_id = n.webhook_id
      returning c.ledger_id, c.webhook_id, c.job_id`,
    values: [limit, leaseMs],
  })
  return rows.map((row) => ({
    ledgerId: fromUuid(row.ledger_id),
    webhookId: fromUuid(row.webhook_id),
    jobId: row.job_id,
  }))
}

/** How many jobs could be taken at once, counted to `most`. */
export async function countReadyTurns(client: pg.ClientBase, most: number): Promise<number> {
  const { rows } = await client.query<{ ready: string }>({
    name: 'count_ready_turns',
    text: `select count(*) as ready from (
      select from pgboss.job j where j.name = $1 and j.state < 'active' limit $2
    ) j`,
    values: [QUEUE, most],
  })
  return Number(rows[0]!.ready)
}

/** An endpoint, as its turn begins. */
export type Endpoint = WebhookName & {
  /** Another one after each change of what the endpoint is, or of whether it is delivered to. */
  readonly version: string
  readonly url: string
  readonly events: readonly string[]
  readonly types: readonly string[]
  readonly include: readonly string[]
  readonly nextSeq: number
  readonly checkpointSize: number
  /** How far the ledger has come. */
  readonly ends: LedgerEnds
  /** Pending and held, counted to `openMax`. */
  readonly open: number
  readonly failures: number
  readonly failingSinceMs: number | null
  readonly recover: { readonly from: number; readonly end: number; readonly delivered: boolean } | null
  readonly secrets: readonly { readonly secretId: Uint8Array; readonly sealed: Buffer }[]
}

/** All at once, because of many endpoints each hears little in a turn. */
const BEGIN_TURN = `with c as (
    update tallystick.webhook_cursors x set leased_until = now() + $4 * interval '1 millisecond'
    where x.ledger_id = $1 and x.webhook_id = $2 and x.job_id = $3 returning x.*
  )
  select w.url, w.events, w.types, w.include, c.next_seq, c.checkpoint_size, c.failures, c.failing_since,
    c.recover_seq, c.recover_end, c.recover_delivered, w.xmin::text as version, s.secrets, o.open, h.size, k.size as checkpoint
  from c join tallystick.webhooks w on w.ledger_id = c.ledger_id and w.webhook_id = c.webhook_id
  cross join lateral (
    select coalesce(jsonb_agg(jsonb_build_object('id', x.secret_id, 'sealed', encode(x.sealed, 'base64'))
        order by x.secret_id desc), '[]') as secrets
    from tallystick.webhook_secrets x
    where x.ledger_id = w.ledger_id and x.webhook_id = w.webhook_id
      and (x.expires_at is null or x.expires_at > now())
  ) s
  cross join lateral (
    select count(*) as open from (
      select from tallystick.webhook_deliveries d
      where d.ledger_id = w.ledger_id and d.webhook_id = w.webhook_id and d.state in ('pending', 'held') limit $5
    ) d
  ) o
  cross join lateral (
    select n.size from tallystick.chain_heads n where n.ledger_id = w.ledger_id offset 0
  ) h
  left join lateral (
    select n.size from tallystick.checkpoints n where n.ledger_id = w.ledger_id order by n.size desc limit 1
  ) k on true
  where w.state = 'active'`

/**
 * The lease begins anew: the job may have waited to be taken. null: the endpoint is paused or gone, or it is not this job's turn
 * any more.
 */
export async function beginTurn(
  db: Db,
  turn: WebhookTurn,
  { leaseMs, openMax }: { readonly leaseMs: number; readonly openMax: number },
): Promise<Endpoint | null> {
  const { rows } = await db.query<{
    url: string
    events: string[]
    types: string[]
    include: string[]
    next_seq: string
    checkpoint_size: string
    size: string
    checkpoint: string | null
    open: string
    failures: number
    failing_since: Date | null
    recover_seq: string | null
    recover_end: string
    recover_delivered: boolean
    version: string
    secrets: { id: string; sealed: string }[]
  }>({
    name: 'begin_webhook_turn',
    text: BEGIN_TURN,
    values: [toUuid(turn.ledgerId), toUuid(turn.webhookId), turn.jobId, leaseMs, openMax],
  })
  const [row] = rows
  if (!row) return null
  return {
    ledgerId: turn.ledgerId,
    webhookId: turn.webhookId,
    version: row.version,
    url: row.url,
    events: row.events,
    types: row.types,
    include: row.include,
    nextSeq: Number(row.next_seq),
    checkpointSize: Number(row.checkpoint_size),
    ends: { size: Number(row.size), checkpoint: Number(row.checkpoint ?? 0) },
    open: Number(row.open),
    failures: row.failures,
    failingSinceMs: row.failing_since?.getTime() ?? null,
    recover:
      row.recover_seq === null
        ? null
        : { from: Number(row.recover_seq), end: Number(row.recover_end), delivered: row.recover_delivered },
    secrets: row.secrets.map(({ id, sealed }) => ({
      secretId: fromUuid(id),
      sealed: Buffer.from(sealed, 'base64'),
    })),
  }
}

/** What has changed about an endpoint while it is delivered to. */
export type EndpointLook = {
  /** Whether it is still this job's turn. */
  readonly isOurs: boolean
  readonly version: string
  readonly size: number
  readonly checkpoint: number
  /** When the cursor says that something is due, and whether that has come. */
  readonly dueAt: string
  readonly isDue: boolean
}

/** In the order of the turns. `renewMs`: their leases begin anew; null: they stay. */
export async function lookAtEndpoints(
  db: Db,
  turns: readonly WebhookTurn[],
  renewMs: number | null,
): Promise<EndpointLook[]> {
  const values = [
    turns.map(({ ledgerId }) => toUuid(ledgerId)),
    turns.map(({ webhookId }) => toUuid(webhookId)),
    turns.map(({ jobId }) => jobId),
  ]
  if (renewMs !== null) {
    await db.query({
      name: 'renew_webhook_leases',
      text: `update tallystick.webhook_cursors c set leased_until = now() + $4 * interval '1 millisecond'
        from unnest($1::uuid[], $2::uuid[], $3::uuid[]) t (ledger_id, webhook_id, job_id)
        where c.ledger_id = t.ledger_id and c.webhook_id = t.webhook_id and c.job_id = t.job_id`,
      values: [...values, renewMs],
    })
  }
  const { rows } = await db.query<{
    ours: boolean | null
    version: string | null
    due_at: string | null
    due: boolean | null
    size: string | null
    checkpoint: string | null
  }>({
    name: 'look_at_webhooks',
    text: `select c.job_id = t.job_id as ours, w.xmin::text as version, c.due_at::text, c.due_at <= now() as due, h.size,
        k.size as checkpoint
      from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality t (ledger_id, webhook_id, job_id, ix)
      left join lateral (
        select * from tallystick.webhook_cursors n where n.ledger_id = t.ledger_id and n.webhook_id = t.webhook_id offset 0
      ) c on true
      left join lateral (
        select n.xmin from tallystick.webhooks n where n.ledger_id = t.ledger_id and n.webhook_id = t.webhook_id offset 0
      ) w on true
      left join lateral (
        select n.size from tallystick.chain_heads n where n.ledger_id = t.ledger_id offset 0
      ) h on true
      left join lateral (
        select n.size from tallystick.checkpoints n where n.ledger_id = t.ledger_id order by n.size desc limit 1
      ) k on true
      order by t.ix`,
    values,
  })
  return rows.map((row) => ({
    isOurs: row.ours === true,
    version: row.version ?? '',
    dueAt: row.due_at ?? '',
    isDue: row.due === true,
    size: Number(row.size ?? 0),
    checkpoint: Number(row.checkpoint ?? 0),
  }))
}

export type Attempt = {
  /** RFC 3339. */
  readonly at: string
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  readonly excerpt: string | null
}

/** A delivery that has a row. */
export type StoredDelivery = {
  readonly eventId: Uint8Array
  readonly event: string
  readonly seq: number | null
  readonly place: number
  readonly recordId: Uint8Array | null
  readonly notice: string | null
  readonly tries: number
  readonly attempts: number
  readonly attemptLog: readonly Attempt[]
}

/** What is due now, but for what the caller has in hand; in the order of the stream as far as it is due. */
export async function listDueDeliveries(
  db: Db,
  { ledgerId, webhookId }: WebhookName,
  inHand: readonly Uint8Array[],
  limit: number,
): Promise<StoredDelivery[]> {
  const { rows } = await db.query<{
    event_id: string
    event: string
    seq: string | null
    place: number
    record_id: string | null
    notice: string | null
    tries: number
    attempts: number
    attempt_log: Attempt[]
  }>({
    name: 'list_due_deliveries',
    text: `select event_id, event, seq, place, record_id, notice, tries, attempts, attempt_log from (
        select * from tallystick.webhook_deliveries
        where ledger_id = $1 and webhook_id = $2 and state = 'pending' and due_at <= now() and event_id <> all($3)
        order by due_at limit $4
      ) d order by seq nulls last, place`,
    values: [toUuid(ledgerId), toUuid(webhookId), inHand.map(toUuid), limit],
  })
  return rows.map((row) => ({
    eventId: fromUuid(row.event_id),
    event: row.event,
    seq: row.seq === null ? null : Number(row.seq),
    place: row.place,
    recordId: row.record_id === null ? null : fromUuid(row.record_id),
    notice: row.notice,
    tries: row.tries,
    attempts: row.attempts,
    attemptLog: row.attempt_log,
  }))
}

export type DeliveryState = 'pending' | 'held' | 'delivered' | 'dead'

/** What stands of these events, by id as Postgres writes it; and which of these records have something open. */
export async function readStored(
  db: Db,
  { ledgerId, webhookId }: WebhookName,
  eventIds: readonly Uint8Array[],
  recordIds: readonly Uint8Array[],
): Promise<{
  readonly states: ReadonlyMap<string, DeliveryState>
  readonly openRecords: ReadonlySet<string>
}> {
  const { rows } = await db.query<{ event_id: string; record_id: string; state: DeliveryState | null }>({
    name: 'read_stored_deliveries',
    text: `select d.event_id, d.record_id, d.state from unnest($3::uuid[]) e (event_id)
      cross join lateral (
        select * from tallystick.webhook_deliveries n
        where n.ledger_id = $1 and n.webhook_id = $2 and n.event_id = e.event_id offset 0
      ) d
      union all
      select null, r.record_id, null from unnest($4::uuid[]) r (record_id)
      where exists (
        select from tallystick.webhook_deliveries n
        where n.ledger_id = $1 and n.webhook_id = $2 and n.record_id = r.record_id and n.state in ('pending', 'held'))`,
    values: [toUuid(ledgerId), toUuid(webhookId), eventIds.map(toUuid), recordIds.map(toUuid)],
  })
  const states = new Map<string, DeliveryState>()
  const openRecords = new Set<string>()
  for (const { event_id, record_id, state } of rows) {
    if (state === null) openRecords.add(record_id)
    else states.set(event_id, state)
  }
  return { states, openRecords }
}

/** Counted to `most`. */
export async function countOpen(db: Db, { ledgerId, webhookId }: WebhookName, most: number): Promise<number> {
  const { rows } = await db.query<{ open: string }>({
    name: 'count_open_deliveries',
    text: `select count(*) as open from (
      select from tallystick.webhook_deliveries
      where ledger_id = $1 and webhook_id = $2 and state in ('pending', 'held') limit $3
    ) d`,
    values: [toUuid(ledgerId), toUuid(webhookId), most],
  })
  return Number(rows[0]!.open)
}

export type DeliveryRow = {
  readonly eventId: Uint8Array
  readonly event: string
  readonly seq: number | null
  readonly place: number
  readonly recordId: Uint8Array | null
  readonly notice: string | null
  readonly state: DeliveryState
  readonly tries: number
  readonly attempts: number
  readonly attemptLog: readonly Attempt[]
  /** Where it is pending. */
  readonly dueInMs: number | null
}

/** How an endpoint answers; what is null stays as it was, but for `failingSinceMs`. */
export type Health = {
  readonly failures: number
  readonly failingSinceMs: number | null
  readonly resumeInMs: number | null
  readonly lastSuccessMs: number | null
  readonly lastFailureMs: number | null
}

export type Progress = {
  readonly nextSeq: number
  readonly checkpointSize: number
  readonly health: Health
  readonly rows: readonly DeliveryRow[]
}

/**
 * Writes what became of deliveries, and moves the cursor, in one statement; false: it is another's turn, and nothing was
 * written.
 */
export async function writeProgress(db: Db, turn: WebhookTurn, progress: Progress): Promise<boolean> {
  const { health, rows } = progress
  const { rowCount } = await db.query({
    name: 'write_webhook_progress',
    text: `with ours as (
        update tallystick.webhook_cursors c set next_seq = greatest(c.next_seq, $4),
          checkpoint_size = greatest(c.checkpoint_size, $5), failures = $6, failing_since = to_timestamp($7),
          resume_at = now() + $8 * interval '1 millisecond',
          last_success_at = coalesce(to_timestamp($9), c.last_success_at),
          last_failure_at = coalesce(to_timestamp($10), c.last_failure_at)
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
      select from ours`,
    values: [
      toUuid(turn.ledgerId),
      toUuid(turn.webhookId),
      turn.jobId,
      progress.nextSeq,
      progress.checkpointSize,
      health.failures,
      toSeconds(health.failingSinceMs),
      health.resumeInMs,
      toSeconds(health.lastSuccessMs),
      toSeconds(health.lastFailureMs),
      rows.map(({ eventId }) => toUuid(eventId)),
      rows.map(({ event }) => event),
      rows.map(({ seq }) => seq),
      rows.map(({ place }) => place),
      rows.map(({ recordId }) => recordId && toUuid(recordId)),
      rows.map(({ notice }) => notice),
      rows.map(({ state }) => state),
      rows.map(({ tries }) => tries),
      rows.map(({ attempts }) => attempts),
      rows.map(({ attemptLog }) => JSON.stringify(attemptLog)),
      rows.map(({ dueInMs }) => dueInMs),
    ],
  })
  return rowCount === 1
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}

/** Of each of these records that has nothing pending, what it holds first becomes due; how many did. */
export async function releaseHeld(
  db: Db,
  { ledgerId, webhookId }: WebhookName,
  recordIds: readonly Uint8Array[],
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'release_held_deliveries',
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
    values: [toUuid(ledgerId), toUuid(webhookId), recordIds.map(toUuid)],
  })
  return rowCount ?? 0
}

/**
 * These are delivered again, with a new round of retries: of a record all are held, until they are let go one after another. In the
 * transaction of writeProgress, which says that it is the caller's turn.
 */
export async function reopenDeliveries(
  client: pg.ClientBase,
  { ledgerId, webhookId }: WebhookName,
  eventIds: readonly Uint8Array[],
): Promise<void> {
  await client.query({
    name: 'reopen_deliveries',
    text: `update tallystick.webhook_deliveries d set tries = 0, finished_at = null,
        state = case when d.record_id is null then 'pending' else 'held' end,
        due_at = case when d.record_id is null then now() end
      where d.ledger_id = $1 and d.webhook_id = $2 and d.event_id = any($3)`,
    values: [toUuid(ledgerId), toUuid(webhookId), eventIds.map(toUuid)],
  })
}

/** Moves what is asked to be delivered again; null: all of it was looked at. */
export async function moveRecovery(db: Db, turn: WebhookTurn, from: number | null): Promise<void> {
  await db.query({
    name: 'move_webhook_recovery',
    text: `update tallystick.webhook_cursors c set recover_seq = $4::bigint,
        recover_end = case when $4::bigint is null then null else c.recover_end end,
        recover_delivered = c.recover_delivered and $4::bigint is not null
      where c.ledger_id = $1 and c.webhook_id = $2 and c.job_id = $3`,
    values: [toUuid(turn.ledgerId), toUuid(turn.webhookId), turn.jobId, from],
  })
}

/**
 * Ends the turn. When something is due next is read anew, but not where somebody has set it meanwhile (always to his own now):
 * what he wrote may not be seen here yet.
 */
export async function endTurn(db: Db, turn: WebhookTurn): Promise<void> {
  await db.query({
    name: 'end_webhook_turn',
    text: `with seen as (
        select c.due_at, coalesce((
          select min(d.due_at) from tallystick.webhook_deliveries d
          where d.ledger_id = $1 and d.webhook_id = $2 and d.state = 'pending'), 'infinity') as next_at
        from tallystick.webhook_cursors c where c.ledger_id = $1 and c.webhook_id = $2
      )
      update tallystick.webhook_cursors c set job_id = null, leased_until = null, served_at = clock_timestamp(),
        due_at = case when c.due_at = s.due_at then s.next_at else c.due_at end
      from seen s where c.ledger_id = $1 and c.webhook_id = $2 and c.job_id = $3`,
    values: [toUuid(turn.ledgerId), toUuid(turn.webhookId), turn.jobId],
  })
}

/** Nothing is delivered to it until somebody resumes it; false: it was stopped already. */
export async function stopWebhook(
  db: Db,
  { ledgerId, webhookId }: WebhookName,
  stop: { readonly state: 'paused' | 'disabled'; readonly reason: 'failing' | 'gone' },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update tallystick.webhooks set state = $3, reason = $4, state_at = clock_timestamp()
     where ledger_id = $1 and webhook_id = $2 and state = 'active'`,
    [toUuid(ledgerId), toUuid(webhookId), stop.state, stop.reason],
  )
  return rowCount === 1
}

/** The ledger's other endpoints that are delivered to and want to hear of `event`. */
export async function listListeners(
  db: Db,
  { ledgerId, webhookId }: WebhookName,
  event: string,
): Promise<Uint8Array[]> {
  const { rows } = await db.query<{ webhook_id: string }>(
    `select webhook_id from tallystick.webhooks
     where ledger_id = $1 and webhook_id <> $2 and state = 'active' and events && array['*', $3]`,
    [toUuid(ledgerId), toUuid(webhookId), event],
  )
  return rows.map((row) => fromUuid(row.webhook_id))
}

export type Notice = {
  readonly webhookId: Uint8Array
  readonly eventId: Uint8Array
  readonly event: string
  readonly body: string
}

/** Each is due at once. */
export async function addNotices(db: Db, ledgerId: Uint8Array, notices: readonly Notice[]): Promise<void> {
  await db.query(
    `with added as (
       insert into tallystick.webhook_deliveries
         (ledger_id, webhook_id, event_id, event, notice, state, tries, attempts, attempt_log, due_at)
       select $1, n.webhook_id, n.event_id, n.event, n.body, 'pending', 0, 0, '[]', now()
       from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) n (webhook_id, event_id, event, body)
       on conflict do nothing returning webhook_id
     )
     update tallystick.webhook_cursors c set due_at = clock_timestamp()
     from added a where c.ledger_id = $1 and c.webhook_id = a.webhook_id`,
    [
      toUuid(ledgerId),
      notices.map(({ webhookId }) => toUuid(webhookId)),
      notices.map(({ eventId }) => toUuid(eventId)),
      notices.map(({ event }) => event),
      notices.map(({ body }) => body),
    ],
  )
}

export type WebhookFigures = Readonly<Record<'active' | 'failing' | 'behind' | 'paused' | 'disabled', number>>

/** How many endpoints there are of each kind, in all ledgers. */
export async function readWebhookFigures(db: Db): Promise<WebhookFigures> {
  const { rows } = await db.query<Record<keyof WebhookFigures, string>>(
    `select count(*) filter (where w.state = 'active') as active,
       count(*) filter (where w.state = 'active' and c.failures > 0) as failing,
       count(*) filter (where w.state = 'active' and c.next_seq < h.size) as behind,
       count(*) filter (where w.state = 'paused') as paused,
       count(*) filter (where w.state = 'disabled') as disabled
     from tallystick.webhooks w
     join tallystick.webhook_cursors c on c.ledger_id = w.ledger_id and c.webhook_id = w.webhook_id
     join tallystick.chain_heads h on h.ledger_id = w.ledger_id`,
  )
  const counts = Object.entries(rows[0]!).map(([state, count]) => [state, Number(count)])
  return Object.fromEntries(counts) as WebhookFigures
}
