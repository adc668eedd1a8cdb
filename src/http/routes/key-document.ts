import type { FastifyInstance } from 'fastify'
import { listEnvelopeKeys } from '../../db/server-keys.ts'
import type { Deps } from '../../deps.ts'

export function keyDocumentRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool'>): void {
  app.get('/.well-known/tallystick-keys.json', { config: { access: 'public' } }, async () => ({
    keys: await listEnvelopeKeys(deps.readPool),
  }))
}
