import type { FastifyInstance } from 'fastify'
import { findKey } from '../../db/ledgers/api-keys.ts'
import { findLedgerSummary } from '../../db/ledgers/ledgers.ts'
import { setKeyRateLimit, setLedgerRateLimit } from '../../db/ledgers/rate-limits.ts'
import { ApiError } from '../../errors.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import { rateLimitAnswer, rateLimitBody } from '../schemas/rate-limits.ts'
import type { ZodTypes } from '../zod-validation.ts'

/**
 * Serves rate limits. They are configuration and not history, so a change makes no entry. This server applies a change
 * at once, all other servers within 5 s.
 */
export function rateLimitRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool' | 'callers'>): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool, callers } = deps
  const shape = { params: idParams, body: rateLimitBody, response: { 200: rateLimitAnswer } }

  typed.put(
    '/v1/ledgers/:id/rate-limit',
    {
      config: { access: 'operator', problems: ['invalid_idempotency_key'] },
      schema: { summary: 'Set the rate limit of a ledger', ...shape },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const ledgerId = pathId('led', request.params.id)
      if (!(await setLedgerRateLimit(readPool, ledgerId, request.body.rateLimit))) {
        throw new ApiError('not_found', `there is no ledger ${request.params.id}`)
      }
      callers.forget(ledgerId)
      return { rateLimit: (await findLedgerSummary(readPool, ledgerId))!.rateLimit }
    },
  )

  typed.put(
    '/v1/keys/:id/rate-limit',
    {
      config: { access: { scope: 'keys:manage' }, problems: ['invalid_idempotency_key'] },
      schema: { summary: 'Set the rate limit of an API key', ...shape },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { ledgerId } = request.caller
      const keyId = pathId('key', request.params.id)
      if (!(await setKeyRateLimit(readPool, ledgerId, keyId, request.body.rateLimit))) {
        throw new ApiError('not_found', `the ledger has no key ${request.params.id}`)
      }
      callers.forget(ledgerId)
      return { rateLimit: (await findKey(readPool, ledgerId, keyId))!.rateLimit }
    },
  )
}
