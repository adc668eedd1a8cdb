import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  settingsOf,
  type WebhookRow,
  withDefaults,
} from '../../db/events/webhooks.ts'
import {
  changeEndpoint,
  createEndpoint,
  getEndpoint,
  noEndpoint,
  rotateEndpointSecret,
} from '../../outside/webhooks/endpoints.ts'
import { WEBHOOK_OVERLAP_SECONDS_DEFAULT } from '../../outside/webhooks/limits.ts'
import { formatWebhookPublicKey, type NewWebhookSecret } from '../../outside/webhooks/secrets.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import {
  changeWebhookBody,
  createWebhookBody,
  resumeWebhookBody,
  rotateWebhookBody,
  webhookAnswer,
  webhookPage,
  webhooksCursor,
  webhooksQuery,
  webhookWithSecret,
} from '../schemas/webhooks.ts'
import type { ZodTypes } from '../zod-validation.ts'

const access = { scope: 'webhooks:manage' } as const

/**
 * Serves webhooks. They are configuration and not history. So a change makes no entry, and is possible while a ledger
 * accepts no entries.
 */
export function webhookRoutes(app: FastifyInstance, deps: Deps): void {
  creationRoute(app, deps)
  readRoutes(app, deps)
  changeRoutes(app, deps)
  stateRoutes(app, deps)
  rotationRoute(app, deps)
}

function creationRoute(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/webhooks',
    {
      config: {
        access,
        problems: ['url_refused', 'scope_not_held', 'invalid_idempotency_key', 'state_conflict'],
      },
      schema: {
        summary: 'Create a webhook: deliver events from now on to a URL',
        body: createWebhookBody,
        response: { 201: webhookWithSecret },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { webhook, made } = await createEndpoint(deps, request.caller, withDefaults(request.body))
      return reply.code(201).header('cache-control', 'no-store').send(renderWithSecret(webhook, made))
    },
  )
}

function readRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/webhooks',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'List webhooks, oldest first',
        querystring: webhooksQuery,
        response: { 200: webhookPage },
      },
    },
    async (request) => {
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const cursor = parseCursor(list, request.query, webhooksCursor)
      const after = cursor && parseId('whk', cursor[0])
      const rows = await listWebhooks(deps.readPool, request.caller.ledgerId, { after, limit: limit + 1 })
      return toPage(list, rows, limit, renderWebhook, ({ id }) => [id])
    },
  )

  typed.get(
    '/v1/webhooks/:id',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'Get a webhook and its progress',
        params: idParams,
        response: { 200: webhookAnswer },
      },
    },
    async (request) =>
      renderWebhook(await getEndpoint(deps, request.caller, pathId('whk', request.params.id))),
  )
}

function changeRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool } = deps

  typed.patch(
    '/v1/webhooks/:id',
    {
      config: { access, problems: ['url_refused', 'scope_not_held', 'invalid_idempotency_key'] },
      schema: {
        summary: 'Update a webhook; absent members stay as they are',
        params: idParams,
        body: changeWebhookBody,
        response: { 200: webhookAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const webhookId = pathId('whk', request.params.id)
      return renderWebhook(await changeEndpoint(deps, request.caller, webhookId, request.body))
    },
  )

  typed.delete(
    '/v1/webhooks/:id',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Delete a webhook, with its secrets, for good',
        params: idParams,
        body: noMembers,
        response: { 204: z.undefined() },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const webhookId = pathId('whk', request.params.id)
      if (!(await deleteWebhook(readPool, request.caller.ledgerId, webhookId))) throw noEndpoint(webhookId)
      return reply.code(204).send()
    },
  )
}

function stateRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool } = deps

  typed.post(
    '/v1/webhooks/:id/pause',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Pause a webhook',
        params: idParams,
        body: noMembers,
        response: { 200: webhookAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const webhookId = pathId('whk', request.params.id)
      if (!(await pauseWebhook(readPool, request.caller.ledgerId, webhookId))) throw noEndpoint(webhookId)
      return renderWebhook(await getEndpoint(deps, request.caller, webhookId))
    },
  )

  typed.post(
    '/v1/webhooks/:id/resume',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Resume a webhook and clear its failures',
        params: idParams,
        body: resumeWebhookBody,
        response: { 200: webhookAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const webhookId = pathId('whk', request.params.id)
      const skips = request.body.from === 'now'
      const found = await resumeWebhook(readPool, request.caller.ledgerId, webhookId, skips)
      if (!found) throw noEndpoint(webhookId)
      return renderWebhook(await getEndpoint(deps, request.caller, webhookId))
    },
  )
}

function rotationRoute(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/webhooks/:id/rotate-secret',
    {
      config: { access, problems: ['invalid_idempotency_key', 'state_conflict'] },
      schema: {
        summary: 'Rotate the secret of a webhook; for a while, deliveries are also signed with older secrets',
        params: idParams,
        body: rotateWebhookBody,
        response: { 200: webhookWithSecret },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { overlapSeconds = WEBHOOK_OVERLAP_SECONDS_DEFAULT } = request.body
      const webhookId = pathId('whk', request.params.id)
      const { webhook, made } = await rotateEndpointSecret(deps, request.caller, webhookId, overlapSeconds)
      return reply.header('cache-control', 'no-store').send(renderWithSecret(webhook, made))
    },
  )
}

function renderWithSecret(webhook: WebhookRow, { secret, publicKey }: NewWebhookSecret) {
  return { ...renderWebhook(webhook), secret, publicKey: formatWebhookPublicKey(publicKey) }
}

export function renderWebhook(webhook: WebhookRow) {
  return {
    id: formatId('whk', webhook.webhookId),
    ...settingsOf(webhook),
    state: webhook.state,
    reason: webhook.reason,
    stateAt: webhook.stateAt.toISOString(),
    createdAt: webhook.createdAt.toISOString(),
    createdBy: formatId('agt', webhook.createdBy),
    secrets: webhook.secrets.map(({ publicKey, createdAt, expiresAt }) => ({
      publicKey: formatWebhookPublicKey(publicKey),
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt?.toISOString() ?? null,
    })),
    standing: {
      nextSeq: webhook.nextSeq,
      behind: webhook.behind,
      failures: webhook.failures,
      failingSince: webhook.failingSince?.toISOString() ?? null,
      resumeAt: webhook.resumeAt?.toISOString() ?? null,
      lastSuccessAt: webhook.lastSuccessAt?.toISOString() ?? null,
      lastFailureAt: webhook.lastFailureAt?.toISOString() ?? null,
      recovery: webhook.recovery,
      pending: webhook.pending,
      held: webhook.held,
      dead: webhook.dead,
    },
  }
}
