import type { FastifyInstance } from 'fastify'
import { VERSION } from '../../config.ts'
import { checkSchema } from '../../db/migrate.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'

export function healthRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool'>): void {
  // The process answers: never asks the database, so that a database failure restarts no pod.
  app.get('/livez', { config: { access: 'public' } }, async () => ({ status: 'ok', version: VERSION }))

  app.get('/readyz', { config: { access: 'public' } }, async () => {
    try {
      await checkSchema(deps.readPool)
    } catch {
      throw new ApiError('unavailable', 'the database is not reachable or not migrated', { retryable: true })
    }
    return { status: 'ready', version: VERSION }
  })
}
