import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { WEBHOOK_COUNT_MAX, WEBHOOK_SECRETS_MAX, WEBHOOKS_PER_LEDGER_MAX } from '../limits.ts'

/**
 * Settings of an endpoint, as a tenant enters them.
 *
 * To add a setting, change:
 *
 * - this type and DEFAULTS
 * - the table `webhooks`: a column
 * - src/http/schemas/webhooks.ts: a member of `settings`
 * - the delivering worker, which reads it from Endpoint
 * - the clients: cli/webhook-options.ts and python/src/tallystick/_async/resources/webhooks.py
 * - docs/guides/webhooks.md
 */
export type WebhookSettings = {
  readonly url: string
  readonly description: string | null
  readonly events: readonly string[]
  readonly types: readonly string[]
  readonly include: readonly string[]
}

/**
 * Default values of settings, in the order in which answers list the settings. `url` and `events` are never omitted.
 */
const DEFAULTS: WebhookSettings = { url: '', description: null, events: [], types: [], include: [] }

const SETTING_NAMES = Object.keys(DEFAULTS) as (keyof WebhookSettings)[]

type SomeSettings = { readonly [Name in keyof WebhookSettings]?: WebhookSettings[Name] | undefined }

export function withDefaults(
  settings: SomeSettings & Pick<WebhookSettings, 'url' | 'events'>,
): WebhookSettings {
  return settingsOf({ ...DEFAULTS, ...settings } as WebhookSettings)
}

const columnOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const SETTING_COLUMNS = SETTING_NAMES.map((name) => `w.${columnOf(name)}`).join(', ')

export function settingsOf(row: WebhookSettings): WebhookSettings {
  return Object.fromEntries(SETTING_NAMES.map((name) => [name, row[name]])) as WebhookSettings
}

/** Returns the settings as a JSON object of column names and values, without undefined values. */
function settingsText(settings: SomeSettings): string {
  return JSON.stringify(Object.fromEntries(SETTING_NAMES.map((name) => [columnOf(name), settings[name]])))
}

/** A secret of an endpoint. `sealed` is encrypted with the master key. Servers write it and never read it. */
type SealedSecret = {
  readonly secretId: Uuid
  readonly sealed: Uint8Array
  readonly publicKey: Uint8Array
}

export type WebhookRow = WebhookSettings & {
  readonly webhookId: Uuid
  readonly createdBy: Uuid
  readonly createdAt: Date
  readonly state: 'active' | 'paused' | 'disabled'
  readonly reason: 'requested' | 'failing' | 'gone' | null
  readonly stateAt: Date
  /** Secrets that have not expired, newest first. */
  readonly secrets: readonly {
    readonly publicKey: Uint8Array
    readonly createdAt: Date
    readonly expiresAt: Date | null
  }[]
  readonly nextSeq: number
  /** Number of entries that the endpoint has not read. */
  readonly behind: number
  readonly failures: number
  readonly failingSince: Date | null
  readonly resumeAt: Date | null
  readonly lastSuccessAt: Date | null
  readonly lastFailureAt: Date | null
  readonly recovery: { readonly nextSeq: number; readonly endSeq: number; readonly delivered: boolean } | null
  /** Number of pending deliveries. The counts `pending`, `held` and `dead` stop at WEBHOOK_COUNT_MAX. */
  readonly pending: number
  readonly held: number
  readonly dead: number
}

type WebhookColumns = Omit<WebhookRow, 'secrets' | 'recovery'> & {
  readonly secrets: readonly { id: string; key: string; ends: number | null }[] | null
  readonly recoverSeq: number | null
  readonly recoverEnd: number | null
  readonly recoverDelivered: boolean
}

/**
 * Returns SQL that counts deliveries in a state. The condition on `state` is the same as in the partial indexes of
 * webhook_deliveries, so that Postgres uses these indexes.
 */
const countOf = (state: 'pending' | 'held' | 'dead') => `(select count(*) from (
      select from tallystick.webhook_deliveries d
      where d.ledger_id = w.ledger_id and d.webhook_id = w.webhook_id and d.state = '${state}' limit ${WEBHOOK_COUNT_MAX}
    ) x) as ${state}`

const SELECT_WEBHOOKS = `select w.webhook_id, ${SETTING_COLUMNS}, w.created_by, w.created_at,
    w.state, w.reason, w.state_at, s.secrets, c.next_seq, greatest(h.size - c.next_seq, 0) as behind, c.failures,
    c.failing_since, c.resume_at, c.last_success_at, c.last_failure_at, c.recover_seq, c.recover_end, c.recover_delivered,
    ${countOf('pending')}, ${countOf('held')}, ${countOf('dead')}
  from tallystick.webhooks w
  join tallystick.webhook_cursors c on c.ledger_id = w.ledger_id and c.webhook_id = w.webhook_id
  join tallystick.chain_heads h on h.ledger_id = w.ledger_id
  cross join lateral (
    select json_agg(json_build_object('id', s.secret_id, 'key', encode(s.public_key, 'hex'),
      'ends', floor(extract(epoch from s.expires_at) * 1000)) order by s.secret_id desc) as secrets
    from tallystick.webhook_secrets s
    where s.ledger_id = w.ledger_id and s.webhook_id = w.webhook_id and coalesce(s.expires_at > now(), true)
  ) s
  where w.ledger_id = $1 and w.state <> 'deleted'`

export async function findWebhook(db: Db, ledgerId: Uuid, webhookId: Uuid): Promise<WebhookRow | null> {
  const { rows } = await db.query<WebhookColumns>({
    name: 'find_webhook',
    text: `${SELECT_WEBHOOKS} and w.webhook_id = $2`,
    values: [ledgerId, webhookId],
  })
  return rows[0] ? toWebhook(rows[0]) : null
}

/** Lists endpoints in the order of their ids. Begins after the endpoint `after`. */
export async function listWebhooks(
  db: Db,
  ledgerId: Uuid,
  page: { after: Uuid | null; limit: number },
): Promise<WebhookRow[]> {
  const { rows } = await db.query<WebhookColumns>({
    name: 'list_webhooks',
    text: `${SELECT_WEBHOOKS} and ($2::uuid is null or w.webhook_id > $2) order by w.webhook_id limit $3`,
    values: [ledgerId, page.after, page.limit],
  })
  return rows.map(toWebhook)
}

/**
 * Creates the endpoint and returns its id. If an identical endpoint exists, returns its id. Returns null if the
 * ledger has reached its limit.
 */
export async function createWebhook(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhook: WebhookSettings & { readonly webhookId: Uuid; readonly createdBy: Uuid },
  secret: SealedSecret,
): Promise<Uuid | null> {
  const { rows } = await pool.query<{ id: Uuid | null }>(
    'select tallystick.create_webhook($1, $2, $3, $4, $5, $6, $7, $8) as id',
    [
      ledgerId,
      webhook.webhookId,
      settingsText(webhook),
      webhook.createdBy,
      secret.secretId,
      secret.sealed,
      secret.publicKey,
      WEBHOOKS_PER_LEDGER_MAX,
    ],
  )
  const { id } = rows[0]!
  return id
}

/**
 * Changes the settings that are not undefined. Returns `documents` if the change would include documents and
 * `mayIncludeDocuments` is false.
 */
export async function changeWebhook(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhookId: Uuid,
  changes: SomeSettings,
  mayIncludeDocuments: boolean,
): Promise<'changed' | 'documents' | 'missing'> {
  const { rows } = await pool.query<{ outcome: 'changed' | 'documents' | 'missing' }>(
    'select tallystick.change_webhook($1, $2, $3, $4) as outcome',
    [ledgerId, webhookId, settingsText(changes), mayIncludeDocuments],
  )
  return rows[0]!.outcome
}

/** Pauses deliveries. Returns false if the ledger has no such endpoint. */
export async function pauseWebhook(pool: pg.Pool, ledgerId: Uuid, webhookId: Uuid): Promise<boolean> {
  return isFound(pool, 'tallystick.pause_webhook($1, $2)', [ledgerId, webhookId])
}

/**
 * Resumes deliveries. If `skips` is true, the events that the endpoint has not read are not delivered. Returns false if
 * the ledger has no such endpoint.
 */
export async function resumeWebhook(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhookId: Uuid,
  skips: boolean,
): Promise<boolean> {
  return isFound(pool, 'tallystick.resume_webhook($1, $2, $3)', [ledgerId, webhookId, skips])
}

/**
 * Deletes the endpoint and its secrets. The worker removes the remaining rows. Returns false if the ledger has no such
 * endpoint.
 */
export async function deleteWebhook(pool: pg.Pool, ledgerId: Uuid, webhookId: Uuid): Promise<boolean> {
  return isFound(pool, 'tallystick.delete_webhook($1, $2)', [ledgerId, webhookId])
}

/** Adds a new secret. Returns `full` if the endpoint has reached its limit of unexpired secrets. */
export async function rotateWebhookSecret(
  pool: pg.Pool,
  ledgerId: Uuid,
  webhookId: Uuid,
  secret: SealedSecret,
  overlapSeconds: number,
): Promise<'rotated' | 'full' | 'missing'> {
  const { rows } = await pool.query<{ outcome: 'rotated' | 'full' | 'missing' }>(
    `select tallystick.rotate_webhook_secret($1, $2, $3, $4, $5, make_interval(secs => $6), $7) as outcome`,
    [
      ledgerId,
      webhookId,
      secret.secretId,
      secret.sealed,
      secret.publicKey,
      overlapSeconds,
      WEBHOOK_SECRETS_MAX,
    ],
  )
  return rows[0]!.outcome
}

async function isFound(pool: pg.Pool, call: string, values: unknown[]): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(`select ${call} as found`, values)
  return rows[0]!.found
}

function toWebhook({
  secrets,
  recoverSeq,
  recoverEnd,
  recoverDelivered,
  ...row
}: WebhookColumns): WebhookRow {
  return {
    ...row,
    secrets: (secrets ?? []).map(({ id, key, ends }) => ({
      publicKey: Buffer.from(key, 'hex'),
      createdAt: timeOfId(id),
      expiresAt: ends === null ? null : new Date(ends),
    })),
    recovery:
      recoverSeq === null || recoverEnd === null
        ? null
        : { nextSeq: recoverSeq, endSeq: recoverEnd, delivered: recoverDelivered },
  }
}

/** Returns the time of a UUIDv7, which begins with its milliseconds. */
function timeOfId(uuid: string): Date {
  return new Date(Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16))
}
