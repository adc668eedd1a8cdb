import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { firstUuidv7 } from '../connect/uuid.ts'
import { WEBHOOK_DELIVERIES_SCANNED_MAX, WEBHOOK_REDELIVERED_MAX, WEBHOOK_TESTS_OPEN_MAX } from '../limits.ts'
import { findSeqRange } from '../records/search-range.ts'
import type { Attempt, DeliveryState } from './webhook-work.ts'

export type DeliveryRow = {
  readonly eventId: Uuid
  readonly event: string
  readonly recordId: Uuid | null
  /** Seq of the event's entry. null if the event is a notice, which has no entry. */
  readonly seq: number | null
  readonly state: DeliveryState
  readonly attempts: number
  readonly dueAt: Date | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
  readonly attemptLog: readonly Attempt[]
}

type DeliveryColumns = {
  eventId: Uuid
  event: string
  recordId: Uuid | null
  seq: number | null
  state: DeliveryState
  attempts: number
  dueAt: Date | null
  createdAt: Date
  finishedAt: Date | null
  attemptLog?: Attempt[]
}

const COLUMNS = 'event_id, event, record_id, seq, state, attempts, due_at, created_at, finished_at'

/** Returns the delivery. Returns null if the ledger has no such endpoint, or if the endpoint has no such delivery. */
export async function findDelivery(
  db: Db,
  ledgerId: Uuid,
  webhookId: Uuid,
  eventId: Uuid,
): Promise<DeliveryRow | null> {
  const { rows } = await db.query<DeliveryColumns>({
    name: 'find_webhook_delivery',
    text: `select ${COLUMNS}, attempt_log from tallystick.webhook_deliveries
      where ledger_id = $1 and webhook_id = $2 and event_id = $3 and exists (
        select from tallystick.webhooks w where w.ledger_id = $1 and w.webhook_id = $2 and w.state <> 'deleted')`,
    values: [ledgerId, webhookId, eventId],
  })
  return rows[0] ? toDelivery(rows[0]) : null
}

type DeliveryFilters = {
  readonly state: DeliveryState | null
  readonly event: string | null
  readonly recordId: Uuid | null
}

/**
 * Lists deliveries older than `before`, newest first, without their attempts.
 *
 * Reads at most WEBHOOK_DELIVERIES_SCANNED_MAX rows, so a page may be short. `next` is the position at which the next
 * page begins. It is null if the end was reached.
 */
export async function listDeliveries(
  db: Db,
  ledgerId: Uuid,
  webhookId: Uuid,
  { state, event, recordId }: DeliveryFilters,
  page: { before: Uuid | null; limit: number },
): Promise<{ rows: DeliveryRow[]; next: Uuid | null }> {
  const isFiltered = event !== null || recordId !== null || state === 'delivered'
  const rowsMax = isFiltered ? WEBHOOK_DELIVERIES_SCANNED_MAX : page.limit + 1
  const { rows } = await db.query<Partial<DeliveryColumns> & { scanned: number; last: Uuid | null }>(
    `with scanned as materialized (
       select ${COLUMNS} from ${rowsOf(state)} d
       where ledger_id = $1 and webhook_id = $2 and ($3::uuid is null or event_id < $3)
       order by event_id desc limit $4
     )
     select w.*, (select count(*) from scanned) as scanned, (select event_id from scanned order by event_id limit 1) as last
     from (values (0)) one
     left join (
       select * from scanned
       where ($5::text is null or state = $5) and ($6::text is null or event = $6) and ($7::uuid is null or record_id = $7)
       order by event_id desc limit $8
     ) w on true
     order by w.event_id desc`,
    [ledgerId, webhookId, page.before, rowsMax, state, event, recordId, page.limit + 1],
  )
  const found = rows.filter((row): row is typeof row & DeliveryColumns => row.eventId !== null)
  const shown = found.slice(0, page.limit).map(toDelivery)
  if (found.length > page.limit) return { rows: shown, next: shown.at(-1)!.eventId }
  const { scanned, last } = rows[0]!
  return { rows: shown, next: isFiltered && scanned === rowsMax ? last! : null }
}

/**
 * Returns SQL for the deliveries in a state.
 *
 * If the state has an index, the state is a literal in the SQL. With a parameter, Postgres would not use the index. The
 * index of open deliveries has another order than the list, so all of them (about a thousand) are read and sorted.
 * Otherwise Postgres might read a hundred thousand rows from the newest delivery on.
 */
function rowsOf(state: DeliveryState | null): string {
  const rows = 'tallystick.webhook_deliveries'
  if (state === null || state === 'delivered') return rows
  const fence = state === 'dead' ? '' : 'offset 0'
  return `(select * from ${rows} where ledger_id = $1 and webhook_id = $2 and state = '${state}' ${fence})`
}

/** Adds a test event for this endpoint alone. Returns `full` if too many test events are waiting. */
export async function requestWebhookTest(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhookId: Uuid,
  test: { readonly eventId: Uuid; readonly notice: string },
): Promise<'requested' | 'inactive' | 'full' | 'missing'> {
  const { rows } = await pool.query<{ outcome: 'requested' | 'inactive' | 'full' | 'missing' }>(
    'select tallystick.request_webhook_test($1, $2, $3, $4, $5) as outcome',
    [ledgerId, webhookId, test.eventId, test.notice, WEBHOOK_TESTS_OPEN_MAX],
  )
  return rows[0]!.outcome
}

export async function redeliverEvent(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhookId: Uuid,
  eventId: Uuid,
): Promise<'redelivered' | 'held' | 'missing'> {
  const { rows } = await pool.query<{ outcome: 'redelivered' | 'held' | 'missing' }>(
    'select tallystick.redeliver_webhook_event($1, $2, $3) as outcome',
    [ledgerId, webhookId, eventId],
  )
  return rows[0]!.outcome
}

/**
 * Delivers dead deliveries again whose events are from the time `sinceMs` or later. Begins with the oldest, and
 * delivers at most WEBHOOK_REDELIVERED_MAX. Returns null if the endpoint does not exist.
 */
export async function redeliverDead(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhookId: Uuid,
  sinceMs: number,
): Promise<{ redelivered: number; more: boolean } | null> {
  const { rows } = await pool.query<{ redelivered: number; more: boolean }>(
    'select redelivered, more from tallystick.redeliver_dead_webhook_events($1, $2, $3, $4)',
    [ledgerId, webhookId, firstUuidv7(Math.max(0, sinceMs)), WEBHOOK_REDELIVERED_MAX],
  )
  const [row] = rows
  return row ?? null
}

/**
 * Delivers the events that were recorded in a period. With `delivered`, events that were delivered before are delivered
 * again.
 *
 * The period is extended by up to 90 s on both sides, because clocks may differ by this time (search-range.ts). If
 * `untilMs` is null, the period ends at the endpoint's position. Returns `busy` if another recovery is running.
 */
export async function recoverWebhook(
  { readPool, searchPool }: { readonly readPool: pg.Pool; readonly searchPool: pg.Pool },
  ledgerId: Uuid,
  webhookId: Uuid,
  what: { readonly sinceMs: number; readonly untilMs: number | null; readonly delivered: boolean },
): Promise<'recovering' | 'busy' | 'missing'> {
  const recorded = { fromMs: what.sinceMs, beforeMs: what.untilMs }
  const range = await findSeqRange(searchPool, ledgerId, {
    filters: { recorded },
    order: 'asc',
    after: null,
    limit: 1,
  })
  const [from, end] = range ? [range.from, what.untilMs === null ? null : range.end] : [0, 0]
  const { rows } = await readPool.query<{ outcome: 'recovering' | 'busy' | 'missing' }>(
    'select tallystick.recover_webhook($1, $2, $3, $4, $5) as outcome',
    [ledgerId, webhookId, from, end, what.delivered],
  )
  return rows[0]!.outcome
}

function toDelivery(row: DeliveryColumns): DeliveryRow {
  return {
    eventId: row.eventId,
    event: row.event,
    recordId: row.recordId,
    seq: row.seq,
    state: row.state,
    attempts: row.attempts,
    dueAt: row.dueAt,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
    attemptLog: row.attemptLog ?? [],
  }
}
