import type pg from 'pg'
import {
  changeWebhook,
  createWebhook,
  findWebhook,
  rotateWebhookSecret,
  type WebhookRow,
  type WebhookSettings,
} from '../../db/events/webhooks.ts'
import { WEBHOOK_SECRETS_MAX, WEBHOOKS_PER_LEDGER_MAX } from '../../db/limits.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { Entropy } from '../../signing/entropy.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import type { Allowances } from '../connector/allowances.ts'
import { checkOutboundUrl } from '../connector/check-url.ts'
import { makeWebhookSecret, type NewWebhookSecret } from './secrets.ts'

type EndpointDeps = {
  readonly readPool: pg.Pool
  readonly now: () => number
  readonly entropy: Entropy
  readonly sealer: Pick<MasterKey, 'seal'>
  readonly outboundAllow: Allowances
}

/**
 * An endpoint with a new secret. `made`: the new secret, which is shown only once. `webhook` may already have a newer
 * secret.
 */
type EndpointWithSecret = { readonly webhook: WebhookRow; readonly made: NewWebhookSecret }

type EndpointChanges = { readonly [Name in keyof WebhookSettings]?: WebhookSettings[Name] | undefined }

/**
 * Creates an endpoint.
 *
 * A client may repeat a request that got no answer. So an endpoint that equals an existing endpoint is refused
 * (`state_conflict`). The refusal names the existing endpoint.
 */
export async function createEndpoint(
  deps: EndpointDeps,
  caller: Caller,
  request: WebhookSettings,
): Promise<EndpointWithSecret> {
  const settings = { ...request, ...checkSettings(deps, request) }
  if (settings.include.includes('documents')) requireRecordsRead(caller)
  const { ledgerId } = caller
  const webhookId = deps.entropy.uuidv7(deps.now())
  const made = makeWebhookSecret(deps.sealer, deps.now(), deps.entropy, { ledgerId, webhookId })
  const webhook = { ...settings, webhookId, createdBy: caller.agentId }
  const id = await createWebhook(deps.readPool, ledgerId, webhook, made)
  if (id === null) {
    throw new ApiError('state_conflict', `the ledger has ${WEBHOOKS_PER_LEDGER_MAX} webhooks: delete one`)
  }
  if (id !== webhookId) throw alike(formatId('whk', id))
  return { webhook: await getEndpoint(deps, caller, webhookId), made }
}

/**
 * Changes an endpoint's settings. The endpoint keeps its secrets. The ledger must rotate them if it no longer trusts
 * the old receiver.
 */
export async function changeEndpoint(
  deps: EndpointDeps,
  caller: Caller,
  webhookId: Uuid,
  request: EndpointChanges,
): Promise<WebhookRow> {
  const changes = { ...request, ...checkSettings(deps, request) }
  const mayIncludeDocuments = caller.scopes.has('records:read')
  const outcome = await changeWebhook(deps.readPool, caller.ledgerId, webhookId, changes, mayIncludeDocuments)
  if (outcome === 'missing') throw noEndpoint(webhookId)
  if (outcome === 'documents') requireRecordsRead(caller)
  return getEndpoint(deps, caller, webhookId)
}

/** Adds a new secret. For `overlapSeconds`, deliveries are signed with the earlier secrets too. */
export async function rotateEndpointSecret(
  deps: EndpointDeps,
  caller: Caller,
  webhookId: Uuid,
  overlapSeconds: number,
): Promise<EndpointWithSecret> {
  const { ledgerId } = caller
  const made = makeWebhookSecret(deps.sealer, deps.now(), deps.entropy, { ledgerId, webhookId })
  const outcome = await rotateWebhookSecret(deps.readPool, ledgerId, webhookId, made, overlapSeconds)
  if (outcome === 'missing') throw noEndpoint(webhookId)
  if (outcome === 'full') {
    throw new ApiError(
      'state_conflict',
      `the webhook has ${WEBHOOK_SECRETS_MAX} secrets that are still valid: wait until one expires, or rotate with an overlap of 0`,
    )
  }
  return { webhook: await getEndpoint(deps, caller, webhookId), made }
}

export async function getEndpoint(
  deps: Pick<EndpointDeps, 'readPool'>,
  caller: Caller,
  webhookId: Uuid,
): Promise<WebhookRow> {
  const webhook = await findWebhook(deps.readPool, caller.ledgerId, webhookId)
  if (!webhook) throw noEndpoint(webhookId)
  return webhook
}

export function noEndpoint(webhookId: Uuid): ApiError {
  return new ApiError('not_found', `the ledger has no webhook ${formatId('whk', webhookId)}`)
}

/** Checks settings. Returns their lists sorted and without duplicates, so that equal lists have equal texts. */
function checkSettings(deps: Pick<EndpointDeps, 'outboundAllow'>, settings: EndpointChanges) {
  const { url, events, types, include } = settings
  if (events && events.length > 1 && events.includes('*')) {
    throw new ApiError('invalid_request', '/events must be only `*`, or names of events', {
      members: { path: '/events' },
    })
  }
  if (url !== undefined) {
    const checked = checkOutboundUrl(url, deps.outboundAllow)
    if (!checked.ok) throw new ApiError('url_refused', checked.detail, { members: { path: '/url' } })
  }
  return {
    ...(events && { events: unique(events) }),
    ...(types && { types: unique(types) }),
    ...(include && { include: unique(include) }),
  }
}

/**
 * Throws if the caller lacks the scope `records:read`. Documents are sent to the endpoint's URL, so whoever sets the
 * URL can read them.
 */
function requireRecordsRead(caller: Caller): void {
  if (caller.scopes.has('records:read')) return
  throw new ApiError(
    'scope_not_held',
    `the API key ${caller.key} lacks records:read, and this webhook gets documents`,
    { members: { scopes: ['records:read'] } },
  )
}

function alike(webhook: string): ApiError {
  return new ApiError(
    'state_conflict',
    `${webhook} has the same URL, events, types and include. For a new secret, rotate its secret`,
    { members: { webhook } },
  )
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}
