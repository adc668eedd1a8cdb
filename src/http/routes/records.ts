import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../deps.ts'
import { RATE_LIMIT_RECORDS_PER_REQUEST, RECORD_BODY_BYTES_MAX } from '../../limits.ts'
import { isTraceparent } from '../../proof/fields.ts'
import { resolveParent } from '../../records/lineage.ts'
import { notarize } from '../../records/notarize.ts'
import { notarizeBatch } from '../../records/notarize-batch.ts'
import { resolveOnBehalfOf } from '../../records/on-behalf-of.ts'
import { getAnswerOfEntry } from '../../records/read.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import { batchBody, batchView, notarizeBody, recordView } from '../schemas/records.ts'
import { sendJson } from '../send-json.ts'
import type { ZodTypes } from '../zod-validation.ts'

const NOTARIZE_PROBLEMS = [
  'document_too_large',
  'metadata_too_large',
  'unknown_type',
  'not_notarizable',
  'payload_invalid',
  'schema_too_costly',
  'unknown_agent',
  'agent_disabled',
  'invalid_idempotency_key',
  'idempotency_key_reused',
] as const

export function recordRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/records',
    {
      config: {
        access: { scope: 'records:write' },
        problems: [...NOTARIZE_PROBLEMS, 'unknown_parent', 'parent_too_deep'],
      },
      schema: { summary: 'Notarize one record', body: notarizeBody, response: { 201: recordView } },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      const { body, caller } = request
      const idempotency = idempotencyOf(deps, request)
      const agents = await resolveOnBehalfOf(deps.readPool, caller, [body.onBehalfOf], 'record')
      const onBehalfOf = agents.get(body.onBehalfOf ?? '') ?? null
      const result = await notarize(deps, caller, {
        ...body,
        onBehalfOf,
        parent: await resolveParent(deps.readPool, caller.ledgerId, body.parent),
        traceparent: traceparentOf(request),
        idempotency,
      })
      return 'record' in result ? created(reply, result.record) : replay(request, reply, result.replayedSeq)
    },
  )

  typed.post(
    '/v1/records/batch',
    {
      config: {
        access: { scope: 'records:write' },
        problems: NOTARIZE_PROBLEMS,
        furtherCost: (body) =>
          (body as { records: unknown[] }).records.length / RATE_LIMIT_RECORDS_PER_REQUEST,
      },
      schema: {
        summary: 'Notarize many records in one entry, all or nothing',
        body: batchBody,
        response: { 201: batchView },
      },
    },
    async (request, reply) => {
      const { caller } = request
      const items = request.body.records
      const idempotency = idempotencyOf(deps, request)
      const onBehalfOf = await resolveOnBehalfOf(
        deps.readPool,
        caller,
        items.map((item) => item.onBehalfOf),
        'batch',
      )
      const result = await notarizeBatch(deps, caller, {
        items,
        onBehalfOf,
        traceparent: traceparentOf(request),
        idempotency,
      })
      return 'batch' in result ? created(reply, result.batch) : replay(request, reply, result.replayedSeq)
    },
  )

  async function replay(request: FastifyRequest, reply: FastifyReply, seq: number) {
    const answer = await getAnswerOfEntry(deps.readPool, request.caller.ledgerId, seq)
    return created(markReplayed(reply, true), answer)
  }
}

function created(reply: FastifyReply, json: string): FastifyReply {
  return sendJson(reply.code(201), json)
}

/** An invalid header is ignored, as W3C Trace Context demands. */
function traceparentOf(request: FastifyRequest): string | null {
  const value = request.headers['traceparent']
  return typeof value === 'string' && isTraceparent(value) ? value : null
}
