import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import { IS_HERE, joinVerifiedSize, VERIFIED_SIZE_COLUMNS } from '../chain/verified-size.ts'
import type { Db } from '../connect/client.ts'
import { endText, type Lease, type LeaseTable, renewText } from '../jobs/leases.ts'
import { type EndColumns, endsOf, type LedgerEnds } from './read-events.ts'
import { SETTING_COLUMNS, settingsOf, type WebhookSettings } from './webhooks.ts'

/*
 * Queries about leases of endpoints, and about the positions up to which the worker has read entries for them.
 * src/db/events/webhook-work.ts has the queries about results of deliveries.
 */

export type WebhookKey = { readonly ledgerId: Uuid; readonly webhookId: Uuid }
export type WebhookLease = Lease & WebhookKey

export const WEBHOOK_LEASES: LeaseTable = {
  name: 'webhook',
  cursors: 'webhook_cursors',
  id: 'webhook_id',
  joins: `join tallystick.webhooks w on w.ledger_id = c.ledger_id and w.webhook_id = c.webhook_id
    join tallystick.chain_heads h on h.ledger_id = c.ledger_id`,
  hasWork: `${IS_HERE} and w.state = 'active' and (c.resume_at is null or c.resume_at <= now()) and (
    -- a lease that has expired: its job is gone
    c.job_id is not null or c.next_seq < h.size or c.due_at <= now() or c.recover_seq is not null
    or w.events && '{*,checkpoint.published}' and exists (
      select from tallystick.checkpoints k
      where k.ledger_id = c.ledger_id and k.size > c.checkpoint_size and k.size <= c.next_seq))`,
  ofLedgerMax: null,
}

type NamedWebhook = WebhookKey & WebhookSettings

export type Endpoint = NamedWebhook & {
  /** A value that changes whenever the endpoint's settings or state change. */
  readonly version: string
  readonly nextSeq: number
  readonly checkpointSize: number
  readonly ends: LedgerEnds
  /** Number of pending and waiting deliveries, counted up to `openMax`. */
  readonly open: number
  readonly hasDue: boolean
  readonly failures: number
  readonly failingSinceMs: number | null
  readonly failingDays: number
  readonly lastFailureMs: number | null
  readonly recover: { readonly from: number; readonly end: number; readonly delivered: boolean } | null
  readonly secrets: readonly { readonly secretId: Uuid; readonly sealed: Buffer }[]
}

/**
 * SQL that renews the lease and reads all that a delivery needs. This is one statement, because most leases deliver
 * little. `synchronous_commit` is off, because a lease that is lost in a crash only ends early.
 */
const BEGIN_DELIVERY = `with c as (${renewText(WEBHOOK_LEASES)})
  select set_config('synchronous_commit', 'off', true), ${SETTING_COLUMNS}, c.next_seq, c.checkpoint_size,
    c.failures, c.failing_since, c.failing_days, c.last_failure_at,
    c.recover_seq, c.recover_end, c.recover_delivered, w.xmin::text as version, s.secrets, o.open, h.size, k.size as checkpoint,
    ${VERIFIED_SIZE_COLUMNS},
    exists (
      select from tallystick.webhook_deliveries d
      where d.ledger_id = w.ledger_id and d.webhook_id = w.webhook_id and d.state = 'pending' and d.due_at <= now()
    ) as has_due
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
  ${joinVerifiedSize('w.ledger_id')}
  where w.state = 'active'`

/**
 * Begins deliveries to an endpoint and renews the lease, because the job may have waited. Returns null if the endpoint
 * is not active or another job has the lease.
 */
export async function beginDelivery(
  db: Db,
  cursorMac: CursorMac,
  lease: WebhookLease,
  { leaseMs, openMax }: { readonly leaseMs: number; readonly openMax: number },
): Promise<Endpoint | null> {
  type Shared = EndColumns & WebhookSettings
  type Columns = Shared & {
    nextSeq: number
    checkpointSize: number
    open: number
    hasDue: boolean
    failures: number
    failingSince: Date | null
    failingDays: number
    lastFailureAt: Date | null
    recoverSeq: number | null
    recoverEnd: number
    recoverDelivered: boolean
    version: string
    secrets: { id: Uuid; sealed: string }[]
  }
  const { rows } = await db.query<Columns>({
    name: 'begin_webhook_delivery',
    text: BEGIN_DELIVERY,
    values: [lease.ledgerId, lease.webhookId, lease.jobId, leaseMs, openMax],
  })
  const [row] = rows
  if (!row) return null
  return {
    ledgerId: lease.ledgerId,
    webhookId: lease.webhookId,
    version: row.version,
    ...settingsOf(row),
    nextSeq: row.nextSeq,
    checkpointSize: row.checkpointSize,
    ends: endsOf(cursorMac, lease.ledgerId, row),
    open: row.open,
    hasDue: row.hasDue,
    failures: row.failures,
    failingSinceMs: row.failingSince?.getTime() ?? null,
    failingDays: row.failingDays,
    lastFailureMs: row.lastFailureAt?.getTime() ?? null,
    recover:
      row.recoverSeq === null
        ? null
        : { from: row.recoverSeq, end: row.recoverEnd, delivered: row.recoverDelivered },
    secrets: row.secrets.map(({ id, sealed }) => ({
      secretId: id,
      sealed: Buffer.from(sealed, 'base64'),
    })),
  }
}

/** State of an endpoint. The worker reads it to detect changes since its lease began. */
export type EndpointState = {
  readonly isOurs: boolean
  readonly version: string
  readonly ends: LedgerEnds
  /** Time at which the next delivery is due, as stored in the cursor. `isDue` is true if this time has passed. */
  readonly dueAt: string
  readonly isDue: boolean
}

/**
 * Reads the endpoints' states in the order of the leases. If `renewMs` is not null, extends the leases by `renewMs`
 * from now.
 */
export async function readEndpointStates(
  db: Db,
  cursorMac: CursorMac,
  leases: readonly WebhookLease[],
  renewMs: number | null,
): Promise<EndpointState[]> {
  const values = [
    leases.map(({ ledgerId }) => ledgerId),
    leases.map(({ webhookId }) => webhookId),
    leases.map(({ jobId }) => jobId),
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
  type Columns = EndColumns & {
    ours: boolean | null
    version: string | null
    dueAt: string | null
    due: boolean | null
  }
  const { rows } = await db.query<Columns>({
    name: 'read_endpoint_states',
    text: `select c.job_id = t.job_id as ours, w.xmin::text as version, c.due_at::text, c.due_at <= now() as due, h.size,
        k.size as checkpoint, ${VERIFIED_SIZE_COLUMNS}
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
      ${joinVerifiedSize('t.ledger_id')}
      order by t.ix`,
    values,
  })
  return rows.map((row, i) => ({
    isOurs: row.ours === true,
    version: row.version ?? '',
    dueAt: row.dueAt ?? '',
    isDue: row.due === true,
    ends: endsOf(cursorMac, leases[i]!.ledgerId, row),
  }))
}

/** Moves the position of the recovery to `from`. null means that the recovery is complete. */
export async function moveRecovery(db: Db, lease: WebhookLease, from: number | null): Promise<void> {
  await db.query({
    name: 'move_webhook_recovery',
    text: `update tallystick.webhook_cursors c set recover_seq = $4::bigint,
        recover_end = case when $4::bigint is null then null else c.recover_end end,
        recover_delivered = c.recover_delivered and $4::bigint is not null
      where c.ledger_id = $1 and c.webhook_id = $2 and c.job_id = $3`,
    values: [lease.ledgerId, lease.webhookId, lease.jobId, from],
  })
}

/**
 * Ends the lease. If `restMs` is not null, the next lease begins after that time at the earliest.
 *
 * Also stores the time at which the next delivery is due. If another process has changed the stored time meanwhile, the
 * changed time stays, because that process may have added a delivery that this statement does not see. Such a process
 * always stores the present time, so the endpoint is then due at once.
 */
export async function endDelivery(db: Db, lease: WebhookLease, restMs: number | null): Promise<void> {
  await db.query({
    name: 'end_webhook_delivery',
    text: `with seen as (
        select c.due_at, coalesce((
          select min(d.due_at) from tallystick.webhook_deliveries d
          where d.ledger_id = $1 and d.webhook_id = $2 and d.state = 'pending'), 'infinity') as next_at
        from tallystick.webhook_cursors c where c.ledger_id = $1 and c.webhook_id = $2
      )
      ${endText(
        WEBHOOK_LEASES,
        `due_at = case when c.due_at = s.due_at then s.next_at else c.due_at end,
        resume_at = greatest(c.resume_at, now() + $4::float8 * interval '1 millisecond')`,
        'from seen s',
      )}`,
    values: [lease.ledgerId, lease.webhookId, lease.jobId, restMs],
  })
}
