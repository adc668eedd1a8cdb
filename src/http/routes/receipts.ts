import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { checkpointPending, type EntryProof } from '../../followers/checkpoints/prove-entry.ts'
import {
  consistencyReceipt,
  receiptOf,
  receivedStatement,
} from '../../followers/checkpoints/prove-receipt.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import type { Deps } from '../deps.ts'
import { PROVED_ENTRY, PROVED_RECORD, provedEntry, provedRecord } from '../reads/proved-entry.ts'
import type { ReadSources } from '../reads/replica-connections.ts'
import { idParams } from '../schemas/common.ts'
import { entryProofParams } from '../schemas/proofs.ts'
import {
  consistencyReceiptQuery,
  coseBytes,
  entryReceiptQuery,
  recordReceiptQuery,
} from '../schemas/receipts.ts'
import type { CheckpointWaits } from '../tails/checkpoint-waits.ts'
import type { ZodTypes } from '../zod-validation.ts'

type ReceiptQuery = { readonly statement?: 'true' | 'false' | undefined; readonly wait?: string | undefined }

/**
 * Serves receipts. A receipt is a proof in COSE. Nothing is signed here, because the worker has already signed the tree
 * head.
 */
export function receiptRoutes(
  app: FastifyInstance,
  deps: Pick<Deps, 'reads' | 'noteKey'>,
  waits: CheckpointWaits,
): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { noteKey } = deps

  typed.get(
    '/v1/records/:id/receipt',
    {
      config: PROVED_RECORD,
      schema: {
        summary: 'Get the COSE receipt of an entry of a record, the first one by default',
        params: idParams,
        querystring: recordReceiptQuery,
        response: { 200: coseBytes },
      },
    },
    (request, reply) => sendReceipt(request, reply, (from) => provedRecord(from, request, request)),
  )

  typed.get(
    '/v1/entries/:seq/receipt',
    {
      config: PROVED_ENTRY,
      schema: {
        summary: 'Get the COSE receipt of an entry',
        params: entryProofParams,
        querystring: entryReceiptQuery,
        response: { 200: coseBytes },
      },
    },
    (request, reply) => sendReceipt(request, reply, (from) => provedEntry(from, request, request)),
  )

  typed.get(
    '/v1/checkpoints/consistency/receipt',
    {
      config: PROVED_ENTRY,
      schema: {
        summary: 'Get the COSE receipt that the ledger of a checkpoint begins with a smaller size',
        querystring: consistencyReceiptQuery,
        response: { 200: coseBytes },
      },
    },
    async (request, reply) => {
      const { ledgerId } = request.caller
      const { from, to } = request.query
      const receipt = await deps.reads.of(request, reply, async ({ readPool, checkpoints }) => {
        const note =
          to === undefined
            ? await checkpoints.newest(ledgerId)
            : await checkpoints.ofSize(ledgerId, Number(to))
        if (note === null && to !== undefined)
          throw new ApiError('not_found', `no checkpoint of ${to} entries was published`)
        if (note === null) throw checkpointPending('no checkpoint was published yet')
        if (Number(from) > parseCheckpoint(note).checkpoint.size)
          throw new ApiError('invalid_request', 'the parameter from must be at most the parameter to', {
            members: { path: '/from' },
          })
        return consistencyReceipt(readPool, ledgerId, Number(from), note, noteKey)
      })
      return sendCose(reply, receipt)
    },
  )

  async function sendReceipt(
    request: FastifyRequest & { readonly query: ReceiptQuery },
    reply: FastifyReply,
    prove: (from: ReadSources) => Promise<EntryProof>,
  ): Promise<FastifyReply> {
    const { statement, wait } = request.query
    const waitMs = wait === undefined ? 0 : Number(wait) * 1_000
    const proveUntil = (from: ReadSources) => waits.until(request, reply, waitMs, () => prove(from))
    const proof = await deps.reads.of(request, reply, proveUntil, { waits: waitMs > 0 })
    const receipt = receiptOf(proof, noteKey)
    return sendCose(reply, statement === 'true' ? receivedStatement(proof, receipt) : receipt)
  }
}

function sendCose(reply: FastifyReply, bytes: Uint8Array): FastifyReply {
  return reply.header('content-type', 'application/cose').send(Buffer.from(bytes))
}
