import type { FastifyInstance } from 'fastify'
import { findKey } from '../../db/ledgers/api-keys.ts'
import { setKeyOtlp } from '../../db/ledgers/otlp-settings.ts'
import { ApiError } from '../../errors.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import type { OtlpSignal } from '../../records/otlp/items.ts'
import { OTLP_BODY_BYTES_MAX } from '../../records/otlp/limits.ts'
import { notarizeOtlp } from '../../records/otlp/notarize-otlp.ts'
import { sendExported } from '../answers/otlp-answers.ts'
import { OtlpBody } from '../bodies/otlp-body.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import { exportAnswer, exportRequest, otlpAnswer, otlpBody } from '../schemas/otlp.ts'
import type { ZodTypes } from '../zod-validation.ts'

/** Serves OTLP over HTTP (docs/integrations/otlp.md). Spans and logs become records. */
export function otlpRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const takes = (signal: OtlpSignal, summary: string) =>
    typed.post(
      `/v1/${signal}`,
      {
        config: {
          access: { scope: scopeOfEntry('batch-notarized') },
          otlp: signal,
          problems: ['bad_otlp', 'agent_signature_required'],
          furtherCost: (body) => (body instanceof OtlpBody ? body.cost : 0),
        },
        schema: { summary, body: exportRequest, response: { 200: exportAnswer } },
        bodyLimit: OTLP_BODY_BYTES_MAX,
      },
      async (request, reply) => {
        const body: unknown = request.body
        // If the request had neither a body nor a content type, nothing was parsed.
        if (!(body instanceof OtlpBody))
          throw new ApiError(
            'bad_otlp',
            'the request has no body: send application/x-protobuf or application/json',
          )
        const rejected = await notarizeOtlp(deps, request.caller, body.read, (known) =>
          body.readWithout(known),
        )
        return sendExported(request, reply, signal, rejected)
      },
    )
  takes('traces', 'Notarize spans (OTLP over HTTP)')
  takes('logs', 'Notarize log records (OTLP over HTTP)')

  typed.put(
    '/v1/keys/:id/otlp',
    {
      config: { access: { scope: 'keys:manage' }, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Set which spans and logs an API key accepts, and whether their content is stored',
        params: idParams,
        body: otlpBody,
        response: { 200: otlpAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { ledgerId } = request.caller
      const keyId = pathId('key', request.params.id)
      if (!(await setKeyOtlp(deps.readPool, ledgerId, keyId, request.body.otlp)))
        throw new ApiError('not_found', `the ledger has no key ${request.params.id}`)
      deps.callers.forget(ledgerId)
      return { otlp: (await findKey(deps.readPool, ledgerId, keyId))!.otlp }
    },
  )
}
