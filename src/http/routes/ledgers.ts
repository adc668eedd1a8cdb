import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { describeLedger } from '../../records/export.ts'
import { createLedger } from '../../tenancy/create-ledger.ts'
import { createLedgerBody } from '../schemas/ledgers.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function ledgerRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/ledgers',
    { config: { access: 'operator' }, schema: { body: createLedgerBody } },
    async (request, reply) => {
      // Said, because whoever sends one relies on it; keys belong to an agent of a ledger, and there is none yet.
      if (request.headers['idempotency-key'] !== undefined) {
        throw new ApiError(
          'invalid_idempotency_key',
          'this address takes no Idempotency-Key: look before you retry',
        )
      }
      const { name, agent } = request.body
      const ledger = await createLedger(deps, { name, agentName: agent ?? 'administrator' })
      return reply.code(201).header('cache-control', 'no-store').send(ledger)
    },
  )

  typed.get('/v1/ledger', { config: { access: { scope: 'audit:read' } } }, (request) =>
    describeLedger(deps.readPool, request.caller.ledgerId),
  )
}
