import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { findSize } from '../../db/read-entries.ts'
import type { Deps } from '../../deps.ts'
import { STREAM_CHUNK_CHARS } from '../../limits.ts'
import { entryLines, exportLines, type Shown } from '../../records/export.ts'
import type { Caller } from '../../tenancy/caller.ts'
import { entriesQuery } from '../schemas/entries.ts'
import type { ZodTypes } from '../zod-validation.ts'

/** NDJSON, streamed: a slow reader slows the queries, and holds neither memory nor a database snapshot. */
export function entryRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const access = { scope: 'audit:read' } as const

  typed.get(
    '/v1/entries',
    { config: { access }, schema: { querystring: entriesQuery } },
    async (request, reply) => {
      const { ledgerId } = request.caller
      const size = (await findSize(deps.readPool, ledgerId)) ?? 0
      const from = request.query.after === undefined ? 0 : Number(request.query.after) + 1
      const end =
        request.query.limit === undefined ? size : Math.min(size, from + Number(request.query.limit))
      return sendLines(reply, entryLines(deps.readPool, ledgerId, from, end, shownTo(request.caller)))
    },
  )

  typed.get('/v1/export', { config: { access } }, async (request, reply) => {
    const { ledger, ledgerId } = request.caller
    const size = (await findSize(deps.readPool, ledgerId)) ?? 0
    reply.header('content-disposition', `attachment; filename="${ledger}.ndjson"`)
    return sendLines(reply, exportLines(deps.readPool, ledgerId, size, shownTo(request.caller)))
  })
}

function shownTo(caller: Caller): Shown {
  return { documents: caller.scopes.has('records:read') }
}

function sendLines(reply: FastifyReply, lines: AsyncGenerator<string>): FastifyReply {
  // One chunk ahead of a slow reader, and no more: the line of a large batch alone has megabytes.
  const chunks = Readable.from(inChunks(lines), { objectMode: true, highWaterMark: 1 })
  return reply.header('content-type', 'application/x-ndjson').send(chunks)
}

/** Writing each line by itself costs more than making it. */
async function* inChunks(lines: AsyncGenerator<string>): AsyncGenerator<string> {
  let chunk = ''
  for await (const line of lines) {
    chunk += line
    if (chunk.length < STREAM_CHUNK_CHARS) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}
