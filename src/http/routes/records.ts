import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { RECORD_BODY_BYTES_MAX } from '../../limits.ts'
import { isTraceparent } from '../../proof/fields.ts'
import { isId, parseId } from '../../proof/ids.ts'
import { fingerprint } from '../../records/idempotency.ts'
import { notarize } from '../../records/notarize.ts'
import { notarizeBatch } from '../../records/notarize-batch.ts'
import { resolveOnBehalfOf } from '../../records/on-behalf-of.ts'
import { findRecordJson, getAnswerOfEntry } from '../../records/read.ts'
import { batchBody, notarizeBody, recordParams } from '../schemas/records.ts'
import type { ZodTypes } from '../zod-validation.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function recordRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/records',
    {
      config: { access: { scope: 'records:write' } },
      schema: { body: notarizeBody },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      const { body, caller } = request
      const idempotency = fingerprintOf(deps, request)
      const agents = await resolveOnBehalfOf(deps.readPool, caller, [body.onBehalfOf], 'record')
      const onBehalfOf = agents.get(body.onBehalfOf ?? '') ?? null
      const result = await notarize(deps, caller, {
        ...body,
        onBehalfOf,
        traceparent: traceparentOf(request),
        idempotency,
      })
      return 'record' in result ? created(reply, result.record) : replay(request, reply, result.replayedSeq)
    },
  )

  typed.post(
    '/v1/records/batch',
    { config: { access: { scope: 'records:write' } }, schema: { body: batchBody } },
    async (request, reply) => {
      const { caller } = request
      const items = request.body.records
      const idempotency = fingerprintOf(deps, request)
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

  typed.get(
    '/v1/records/:id',
    { config: { access: { scope: 'records:read' } }, schema: { params: recordParams } },
    async (request, reply) => {
      const record = await findRecordJson(
        deps.readPool,
        request.caller.ledgerId,
        recordIdOf(request.params.id),
      )
      if (record === null) throw new ApiError('not_found', `the ledger has no record ${request.params.id}`)
      return reply.header('content-type', JSON_TYPE).send(record)
    },
  )

  async function replay(request: FastifyRequest, reply: FastifyReply, seq: number) {
    reply.header('idempotency-replayed', 'true')
    return created(reply, await getAnswerOfEntry(deps.readPool, request.caller.ledgerId, seq))
  }
}

function fingerprintOf(deps: Pick<Deps, 'entropy'>, request: FastifyRequest) {
  const path = request.url.split('?', 1)[0]!
  return fingerprint(deps.entropy, request.headers['idempotency-key'], {
    method: 'POST',
    path,
    body: request.body,
  })
}

function created(reply: FastifyReply, json: string): FastifyReply {
  return reply.code(201).header('content-type', JSON_TYPE).send(json)
}

/** An invalid header is ignored, as W3C Trace Context demands. */
function traceparentOf(request: FastifyRequest): string | null {
  const value = request.headers['traceparent']
  return typeof value === 'string' && isTraceparent(value) ? value : null
}

/** An id that can't be one of the ledger's is answered like one that is not there. */
function recordIdOf(text: string): Uint8Array {
  if (!isId('rec', text)) throw new ApiError('not_found', 'that is not the id of a record (rec_…)')
  return parseId('rec', text)
}
