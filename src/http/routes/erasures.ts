import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { formatId } from '../../proof/ids.ts'
import { type ErasureTarget, eraseDocument } from '../../records/erase/erase.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams, SEQ_TEXT } from '../schemas/common.ts'
import { completionParams, eraseBody, erasureView, recordEntryParams } from '../schemas/erasures.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function erasureRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.delete(
    '/v1/records/:id/payload',
    eraseRoute('Erase a payload, with its salt, metadata and references, for good', idParams),
    (request, reply) => answer(request, reply, { document: 'payload' }),
  )
  for (const [document, what] of [
    ['evidence', 'the evidence of a completion'],
    ['values', 'the values that were compared'],
  ] as const) {
    typed.delete(
      `/v1/records/:id/completions/:completion/${document}`,
      eraseRoute(`Erase ${what}, with its salt, for good`, completionParams),
      (request, reply) => {
        const completionId = pathId('cmp', request.params.completion)
        return answer(request, reply, { document, completionId })
      },
    )
  }
  typed.delete(
    '/v1/records/:id/entries/:seq/reason',
    eraseRoute('Erase the reason of a step, with its salt, for good', recordEntryParams),
    (request, reply) => {
      const { seq } = request.params
      if (!SEQ_TEXT.test(seq)) throw new ApiError('not_found', 'the address has no valid seq')
      return answer(request, reply, { document: 'reason', seq: Number(seq) })
    },
  )

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    target: ErasureTarget,
  ): Promise<FastifyReply> {
    const { id } = request.params as { id: string }
    const { code, reason = null } = request.body as { code: string; reason?: string }
    const { seq, erasure, replayed, remaining } = await eraseDocument(deps, request.caller, {
      recordId: pathId('rec', id),
      target,
      code,
      reason,
      idempotency: idempotencyOf(deps, request),
    })
    return markReplayed(reply, replayed)
      .code(202)
      .send({
        id,
        erasure: {
          document: target.document,
          documentSeq: erasure.documentSeq,
          completion: 'completionId' in target ? formatId('cmp', target.completionId) : null,
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
        remaining,
      })
  }
}

function eraseRoute<Params>(summary: string, params: Params) {
  return {
    config: {
      access: { scope: scopeOfEntry('payload-erased') },
      problems: ['already_ended', 'held', 'idempotency_key_reused', 'offer_pending', 'not_home'],
    },
    schema: { summary, params, body: eraseBody, response: { 202: erasureView } },
  } as const
}
