import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { sendCached, type Tagged, tag } from '../answers/send-cached.ts'
import type { Deps } from '../deps.ts'
import { describeOperations } from '../openapi/document.ts'
import type { Operation } from '../openapi/operations.ts'

/**
 * Serves the OpenAPI document. The document is made on the first request and then cached. It cannot be made earlier,
 * because some routes are registered after this one.
 */
export function openApiRoutes(
  app: FastifyInstance,
  operations: readonly Operation[],
  { publicUrl }: Pick<Deps, 'publicUrl'>,
): void {
  let document: Tagged | undefined

  app.get(
    '/openapi.json',
    {
      config: { reads: 'nothing', access: 'public' },
      schema: {
        summary: 'Get the OpenAPI document',
        response: { 200: z.looseObject({ openapi: z.string() }), 304: z.undefined() },
      },
    },
    (request, reply) => {
      document ??= tag(Buffer.from(JSON.stringify(describeOperations(operations, publicUrl))))
      return sendCached(request, reply.type('application/json; charset=utf-8'), document, 'no-cache')
    },
  )
}
