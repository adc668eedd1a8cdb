import type { FastifyInstance, FastifyReply } from 'fastify'
import { listCheckpoints } from '../../db/chain/checkpoints.ts'
import { ApiError } from '../../errors.ts'
import { checkpointPending, cosignaturesPending } from '../../followers/checkpoints/prove-entry.ts'
import { proveConsistency } from '../../followers/checkpoints/prove-tree.ts'
import { toHex } from '../../proof/bytes.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { SIZE_TEXT } from '../schemas/common.ts'
import {
  checkpointNote,
  checkpointPage,
  checkpointParams,
  checkpointsCursor,
  checkpointsQuery,
  consistencyProof,
  consistencyQuery,
  latestCheckpointQuery,
} from '../schemas/proofs.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function checkpointRoutes(
  app: FastifyInstance,
  deps: Pick<Deps, 'readPool' | 'checkpoints' | 'reads'>,
): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool, checkpoints } = deps
  const access = { scope: 'audit:read' } as const

  typed.get(
    '/v1/checkpoints/latest',
    {
      config: { reads: 'primary', access, problems: ['checkpoint_pending', 'integrity_fault'] },
      schema: {
        summary: 'Get the newest checkpoint, or the newest that witnesses have cosigned',
        querystring: latestCheckpointQuery,
        response: { 200: checkpointNote },
      },
    },
    async (request, reply) => {
      const { ledgerId } = request.caller
      const { cosignatures } = request.query
      const note =
        cosignatures === undefined
          ? await checkpoints.newest(ledgerId)
          : await checkpoints.cosigned(ledgerId, Number(cosignatures))
      if (note !== null) return sendNote(reply, note)
      if (cosignatures !== undefined) throw cosignaturesPending(Number(cosignatures))
      throw checkpointPending('the first checkpoint is published within seconds of the first entry')
    },
  )

  typed.get(
    '/v1/checkpoints/:size',
    {
      config: { reads: 'primary', access, problems: ['not_found', 'integrity_fault'] },
      schema: {
        summary: 'Get the checkpoint of a size',
        params: checkpointParams,
        response: { 200: checkpointNote },
      },
    },
    async (request, reply) => {
      const { size } = request.params
      // A text that SIZE_TEXT does not match is not the size of a checkpoint. The answer is then the same as for an
      // unknown size.
      const note = SIZE_TEXT.test(size)
        ? await checkpoints.ofSize(request.caller.ledgerId, Number(size))
        : null
      if (note !== null) return sendNote(reply, note)
      throw new ApiError('not_found', `no checkpoint of ${size} entries was published`)
    },
  )

  typed.get(
    '/v1/checkpoints',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'List checkpoints, newest first',
        querystring: checkpointsQuery,
        response: { 200: checkpointPage },
      },
    },
    async (request) => {
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const [sizeEnd] = parseCursor(list, request.query, checkpointsCursor) ?? [Number.MAX_SAFE_INTEGER]
      const rows = await listCheckpoints(readPool, request.caller.ledgerId, sizeEnd, limit + 1)
      return toPage(list, rows, limit, render, ({ size }) => [size])
    },
  )

  typed.get(
    '/v1/checkpoints/consistency',
    {
      config: { reads: 'replica', access, problems: ['checkpoint_pending', 'integrity_fault'] },
      schema: {
        summary: 'Prove that a size of the ledger begins with a smaller one',
        querystring: consistencyQuery,
        response: { 200: consistencyProof },
      },
    },
    async (request, reply) => {
      const { ledgerId } = request.caller
      const [from, to] = [Number(request.query.from), Number(request.query.to)]
      if (from > to)
        throw new ApiError('invalid_request', 'the parameter from must be at most the parameter to', {
          members: { path: '/from' },
        })
      const path = await deps.reads.of(request, reply, async (sources) => {
        const checkpoint = await sources.checkpoints.covering(ledgerId, to)
        if (!checkpoint) throw checkpointPending(`no checkpoint covers ${to} entries yet`)
        return proveConsistency(sources.readPool, ledgerId, from, to, checkpoint.note)
      })
      return { from, to, path: path.map(toHex) }
    },
  )
}

function render({ size, publishedAt }: { size: number; publishedAt: Date }) {
  return { size, publishedAt: publishedAt.toISOString() }
}

function sendNote(reply: FastifyReply, note: string): FastifyReply {
  return reply.header('content-type', 'text/plain; charset=utf-8').send(note)
}
