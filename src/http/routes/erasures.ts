import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../deps.ts'
import { RECORD_BODY_BYTES_MAX } from '../../limits.ts'
import { formatId } from '../../proof/ids.ts'
import { erasePayload } from '../../records/erase.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import { eraseBody, payloadErasure } from '../schemas/erasures.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function erasureRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.delete(
    '/v1/records/:id/payload',
    {
      config: {
        access: { scope: 'payloads:erase' },
        problems: ['already_ended', 'idempotency_key_reused'],
      },
      schema: {
        summary: 'Erase a payload, with its salt, metadata and references; not to be undone',
        params: idParams,
        body: eraseBody,
        response: { 202: payloadErasure },
      },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      const { code, reason = null } = request.body
      const { seq, erasure, replayed } = await erasePayload(deps, request.caller, {
        recordId: pathId('rec', request.params.id),
        code,
        reason,
        idempotency: idempotencyOf(deps, request),
      })
      return markReplayed(reply, replayed)
        .code(202)
        .send({
          id: request.params.id,
          erasure: {
            code,
            reason: erasure.reason,
            by: formatId('agt', erasure.actorId),
            key: formatId('key', erasure.keyId),
            recordedAt: erasure.recordedAt.toISOString(),
            entry: {
              seq,
              kind: 'payload-erased',
              leaf: erasure.leaf.toString('hex'),
              chain: erasure.chain.toString('hex'),
            },
          },
        })
    },
  )
}
