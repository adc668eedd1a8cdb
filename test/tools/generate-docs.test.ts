import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { fetchOpenApi } from '../../tools/generate-docs.ts'

test('the documents are not made of a problem: its text is thrown', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  app.get('/openapi.json', async (_request, reply) =>
    reply.code(500).send({ code: 'internal', detail: 'the reason' }),
  )
  await assert.rejects(fetchOpenApi(app), /answered 500: .*the reason/)
})
