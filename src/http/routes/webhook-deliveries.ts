import type { FastifyInstance } from 'fastify'
import {
  type DeliveryRow,
  findDelivery,
  listDeliveries,
  recoverWebhook,
  redeliverDead,
  redeliverEvent,
  requestWebhookTest,
} from '../../db/events/webhook-deliveries.ts'
import { WEBHOOK_TESTS_OPEN_MAX } from '../../db/limits.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { getEndpoint, noEndpoint } from '../../outside/webhooks/endpoints.ts'
import { noticeOf } from '../../outside/webhooks/notices.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { parseTime } from '../../records/documents.ts'
import { formatCursor, listTag, pageLimit, parseCursor } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import {
  deliveriesCursor,
  deliveriesQuery,
  deliveryAnswer,
  deliveryPage,
  deliveryParams,
  recoverBody,
  redeliverDeadAnswer,
  redeliverDeadBody,
  webhookAnswer,
} from '../schemas/webhooks.ts'
import type { ZodTypes } from '../zod-validation.ts'
import { renderWebhook } from './webhooks.ts'

const access = { scope: 'webhooks:manage' } as const

export function webhookDeliveryRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps)
  redeliveryRoutes(app, deps)
  recoveryRoute(app, deps)
  testRoute(app, deps)
}

function readRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/webhooks/:id/deliveries',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'List deliveries of a webhook, newest first',
        params: idParams,
        querystring: deliveriesQuery,
        response: { 200: deliveryPage },
      },
    },
    async (request) => {
      const { query, caller } = request
      const limit = pageLimit(query)
      const list = listTag(request)
      const cursor = parseCursor(list, query, deliveriesCursor)
      const { webhookId } = await getEndpoint(deps, caller, pathId('whk', request.params.id))
      const filters = {
        state: query.state ?? null,
        event: query.event ?? null,
        recordId: query.record === undefined ? null : parseId('rec', query.record),
      }
      const before = cursor && parseId('evt', cursor[0])
      const page = { before, limit }
      const { rows, next } = await listDeliveries(deps.readPool, caller.ledgerId, webhookId, filters, page)
      return {
        data: rows.map(renderSummary),
        nextCursor: next && formatCursor(list, [formatId('evt', next)]),
      }
    },
  )

  typed.get(
    '/v1/webhooks/:id/deliveries/:event',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'Get a delivery with its attempts',
        params: deliveryParams,
        response: { 200: deliveryAnswer },
      },
    },
    async (request) => render(await getDelivery(deps, request.caller, deliveryKeyOf(request.params))),
  )
}

function redeliveryRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool } = deps

  typed.post(
    '/v1/webhooks/:id/deliveries/:event/redeliver',
    {
      config: { access, problems: ['invalid_idempotency_key', 'state_conflict'] },
      schema: {
        summary: 'Redeliver an event now, with the same id',
        params: deliveryParams,
        body: noMembers,
        response: { 202: deliveryAnswer },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { caller } = request
      const place = deliveryKeyOf(request.params)
      const outcome = await redeliverEvent(readPool, caller.ledgerId, place.webhookId, place.eventId)
      if (outcome === 'missing') throw noDelivery(place)
      if (outcome === 'held') {
        throw new ApiError('state_conflict', 'an earlier event of the record must be delivered first')
      }
      return reply.code(202).send(render(await getDelivery(deps, caller, place)))
    },
  )

  typed.post(
    '/v1/webhooks/:id/redeliver-dead',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Redeliver dead letters, oldest first',
        params: idParams,
        body: redeliverDeadBody,
        response: { 200: redeliverDeadAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { since } = request.body
      const webhookId = pathId('whk', request.params.id)
      const sinceMs = since === undefined ? 0 : parseTime(since, '/since')
      const done = await redeliverDead(readPool, request.caller.ledgerId, webhookId, sinceMs)
      if (!done) throw noEndpoint(webhookId)
      return done
    },
  )
}

function recoveryRoute(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/webhooks/:id/recover',
    {
      config: { access, problems: ['invalid_idempotency_key', 'state_conflict'] },
      schema: {
        summary: 'Recover a period: deliver its undelivered events, or all of them again',
        params: idParams,
        body: recoverBody,
        response: { 202: webhookAnswer },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { caller, body } = request
      const webhookId = pathId('whk', request.params.id)
      const outcome = await recoverWebhook(deps, caller.ledgerId, webhookId, {
        sinceMs: parseTime(body.since, '/since'),
        untilMs: body.until === undefined ? null : parseTime(body.until, '/until'),
        delivered: body.delivered ?? false,
      })
      if (outcome === 'missing') throw noEndpoint(webhookId)
      if (outcome === 'busy') {
        throw new ApiError('state_conflict', 'another recovery of this webhook is under way', {
          retryable: true,
        })
      }
      return reply.code(202).send(renderWebhook(await getEndpoint(deps, caller, webhookId)))
    },
  )
}

function testRoute(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool, entropy, now } = deps

  typed.post(
    '/v1/webhooks/:id/test',
    {
      config: { access, problems: ['invalid_idempotency_key', 'state_conflict'] },
      schema: {
        summary: 'Send a test event to a webhook',
        params: idParams,
        body: noMembers,
        response: { 202: deliveryAnswer },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { caller, params } = request
      const { ledgerId } = caller
      const webhookId = pathId('whk', params.id)
      const eventId = entropy.uuidv7(now())
      const notice = noticeOf(params)
      const outcome = await requestWebhookTest(readPool, ledgerId, webhookId, { eventId, notice })
      if (outcome === 'missing') throw noEndpoint(webhookId)
      if (outcome !== 'requested') throw testRefused(outcome)
      return reply.code(202).send(render(await getDelivery(deps, caller, { webhookId, eventId })))
    },
  )
}

function testRefused(reason: 'inactive' | 'full'): ApiError {
  if (reason === 'inactive')
    return new ApiError('state_conflict', 'the webhook is not active: resume it first')
  const detail = `${WEBHOOK_TESTS_OPEN_MAX} tests of this webhook are waiting to be delivered`
  return new ApiError('state_conflict', detail, { retryable: true })
}

type DeliveryKey = { readonly webhookId: Uuid; readonly eventId: Uuid }

function deliveryKeyOf({ id, event }: { id: string; event: string }): DeliveryKey {
  return { webhookId: pathId('whk', id), eventId: pathId('evt', event) }
}

async function getDelivery(
  { readPool }: Pick<Deps, 'readPool'>,
  caller: Caller,
  key: DeliveryKey,
): Promise<DeliveryRow> {
  const delivery = await findDelivery(readPool, caller.ledgerId, key.webhookId, key.eventId)
  if (!delivery) throw noDelivery(key)
  return delivery
}

function noDelivery({ webhookId, eventId }: DeliveryKey): ApiError {
  const [webhook, event] = [formatId('whk', webhookId), formatId('evt', eventId)]
  return new ApiError('not_found', `the ledger has no webhook ${webhook} with a delivery ${event}`)
}

function render(delivery: DeliveryRow) {
  return { ...renderSummary(delivery), attemptLog: delivery.attemptLog }
}

function renderSummary(delivery: DeliveryRow) {
  return {
    id: formatId('evt', delivery.eventId),
    event: delivery.event,
    record: delivery.recordId && formatId('rec', delivery.recordId),
    seq: delivery.seq,
    state: delivery.state,
    attempts: delivery.attempts,
    dueAt: delivery.dueAt?.toISOString() ?? null,
    createdAt: delivery.createdAt.toISOString(),
    finishedAt: delivery.finishedAt?.toISOString() ?? null,
  }
}
