import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { fetchOpenApi } from '../../tools/generate-docs.ts'

test('a problem instead of the OpenAPI document is thrown with its text', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  app.get('/openapi.json', async (_request, reply) =>
    reply.code(500).send({ code: 'internal', detail: 'the reason' }),
  )
  await assert.rejects(fetchOpenApi(app), /answered 500: .*the reason/)
})
