import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { describeOperations } from '../openapi/document.ts'
import type { Operation } from '../openapi/operations.ts'
import { sendJson } from '../send-json.ts'

/** Made on the first request, because the last route is registered after this one; the same from then on. */
export function openApiRoutes(app: FastifyInstance, operations: readonly Operation[]): void {
  let document: { readonly text: string; readonly etag: string } | undefined

  app.get(
    '/openapi.json',
    {
      config: { access: 'public' },
      schema: {
        summary: 'Get the OpenAPI document',
        response: { 200: z.looseObject({ openapi: z.string() }), 304: z.undefined() },
      },
    },
    (request, reply) => {
      document ??= makeDocument(operations)
      reply.header('etag', document.etag).header('cache-control', 'no-cache')
      if (request.headers['if-none-match'] === document.etag) return reply.code(304).send()
      return sendJson(reply, document.text)
    },
  )
}

function makeDocument(operations: readonly Operation[]) {
  const text = JSON.stringify(describeOperations(operations))
  return { text, etag: `"${hash('sha256', text, 'hex').slice(0, 32)}"` }
}
