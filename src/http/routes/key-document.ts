import type { FastifyInstance } from 'fastify'
import { listEnvelopeKeys } from '../../db/chain/envelope-keys.ts'
import type { Deps } from '../deps.ts'
import { keyDocument } from '../schemas/key-document.ts'

export function keyDocumentRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool'>): void {
  const config = { reads: 'primary', access: 'public', problems: ['unavailable'] } as const
  const schema = { summary: 'Get the signing keys of envelopes', response: { 200: keyDocument } }
  app.get('/.well-known/tallystick-keys.json', { config, schema }, async () => ({
    keys: await listEnvelopeKeys(deps.readPool),
  }))
}
