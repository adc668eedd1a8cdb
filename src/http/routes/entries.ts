import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findSize } from '../../db/chain/read-entries.ts'
import { ApiError } from '../../errors.ts'
import { administerLedger } from '../../ledgers/administer-ledger.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { SharedSlices } from '../../load/slice.ts'
import { Slots } from '../../load/slots.ts'
import { watchStreams } from '../../observe/metrics/reading.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import type { DocumentsShown } from '../../proof/entry/verify-entry.ts'
import { entryLines, exportLines } from '../../records/read/export.ts'
import { joinedTexts } from '../answers/text-stream.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { STREAMS_MAX, STREAMS_PER_LEDGER_MAX } from '../limits.ts'
import { entriesQuery, entryLine, exportLine } from '../schemas/entries.ts'
import { exportBody, exportView } from '../schemas/exports.ts'
import type { ZodTypes } from '../zod-validation.ts'

/**
 * Streams entries as NDJSON. A slow reader delays the stream's queries, but takes neither memory nor a database
 * snapshot.
 */
export function entryRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const access = { scope: 'audit:read' } as const
  const slots = new Slots(STREAMS_PER_LEDGER_MAX, STREAMS_MAX)
  watchStreams(deps.metrics, 'entries', slots)
  const shared = { slots, slices: deps.slices }

  typed.get(
    '/v1/entries',
    {
      config: { reads: 'replica', access, problems: ['overloaded'] },
      schema: {
        summary: 'List entries of the chain, oldest first, one per line',
        querystring: entriesQuery,
        response: { 200: { content: { 'application/x-ndjson': { schema: entryLine } } } },
      },
    },
    async (request, reply) => {
      const { ledgerId } = request.caller
      const db = deps.reads.stream(request)
      const size = (await findSize(db, ledgerId)) ?? 0
      const from = request.query.after === undefined ? 0 : Number(request.query.after) + 1
      const endMax =
        request.query.limit === undefined ? Number.MAX_SAFE_INTEGER : from + Number(request.query.limit)
      const range = { from, end: Math.min(size, endMax), endMax }
      return sendLines(request, reply, shared, () => entryLines(db, ledgerId, range, shownTo(request.caller)))
    },
  )

  const exported = {
    config: { reads: 'replica', access, problems: ['overloaded'] },
    schema: {
      summary: 'Export the whole ledger, for `tallystick verify`',
      response: { 200: { content: { 'application/x-ndjson': { schema: exportLine } } } },
    },
  } as const
  typed.get('/v1/export', exported, async (request, reply) => {
    const { ledger, ledgerId } = request.caller
    const db = deps.reads.stream(request)
    const size = (await findSize(db, ledgerId)) ?? 0
    reply.header('content-disposition', `attachment; filename="${ledger}.ndjson"`)
    return sendLines(request, reply, shared, () => exportLines(db, ledgerId, size, shownTo(request.caller)))
  })

  typed.post(
    '/v1/exports',
    {
      config: {
        access: { scope: scopeOfEntry('export-made') },
        problems: ['invalid_idempotency_key'],
      },
      schema: {
        summary: 'Record in the chain that entries are exported, and by whom',
        body: exportBody,
        response: { 201: exportView },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { caller, body } = request
      const size = (await findSize(deps.readPool, caller.ledgerId)) ?? 0
      const { of, from, to = size - 1 } = body
      if (from > to || to >= size)
        throw new ApiError('invalid_request', `the ledger has the entries 0 to ${size - 1}`, {
          members: { path: '/to' },
        })
      const documents = shownTo(caller) === 'all' ? body.documents : 'withheld'
      const predicate = { of, from, to, documents }
      const seq = await administerLedger(deps, caller, { kind: 'export-made', predicate, detail: {} })
      return reply.code(201).send({ entry: { seq }, from, to })
    },
  )
}

/** Returns which documents a caller may see: all with the scope `records:read`, otherwise none. */
function shownTo(caller: Caller): DocumentsShown {
  return caller.scopes.has('records:read') ? 'all' : 'withheld'
}

function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  { slots, slices }: { readonly slots: Slots; readonly slices: SharedSlices },
  lines: () => AsyncGenerator<string>,
): FastifyReply {
  const { ledger, ledgerId } = request.caller
  const release = slots.take(ledger)
  // At most one string is made before a slow reader needs it, because the line of a large batch has megabytes.
  const pieces = Readable.from(
    joinedTexts(lines(), () => slices.next(ledgerId)),
    { objectMode: true, highWaterMark: 1 },
  )
  const { socket } = request.raw
  // Fastify does not report a closed connection while the response waits behind another one of the same connection
  // (pipelining). So this code listens to the socket itself.
  const abandon = () => pieces.destroy()
  socket.setMaxListeners(0).once('close', abandon) // A limit of listeners is not needed, because the number of streams is limited.
  pieces.once('close', () => {
    socket.off('close', abandon)
    release()
  })
  return reply.header('content-type', 'application/x-ndjson').send(pieces)
}
