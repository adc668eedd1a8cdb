import type { FastifyInstance } from 'fastify'
import { findCheckpoint } from '../../db/checkpoints.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'

export function checkpointRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool'>): void {
  app.get(
    '/v1/checkpoints/latest',
    { config: { access: { scope: 'audit:read' } } },
    async (request, reply) => {
      const note = await findCheckpoint(deps.readPool, request.caller.ledgerId, Number.MAX_SAFE_INTEGER)
      if (note === null) {
        throw new ApiError(
          'checkpoint_pending',
          'the first checkpoint is published within seconds of the first entry',
          {
            retryable: true,
            retryAfterMs: 1000,
          },
        )
      }
      return reply.header('content-type', 'text/plain; charset=utf-8').send(note)
    },
  )
}
