import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../errors.ts'
import { type EntryProof, proveEntry, proveRecord } from '../../followers/checkpoints/prove-entry.ts'
import type { Deps } from '../deps.ts'
import { pathId } from '../path-id.ts'
import { idParams, SEQ_TEXT } from '../schemas/common.ts'
import { entryProof, entryProofParams, entryProofQuery, recordProofQuery } from '../schemas/proofs.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function proofRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool' | 'checkpoints'>): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/records/:id/proof',
    {
      config: {
        access: { scope: ['audit:read', 'records:read'], own: 'records:read:own' },
        problems: ['not_found', 'checkpoint_pending', 'integrity_fault'],
      },
      schema: {
        summary: 'Prove an entry of a record, the first one by default, in a checkpoint',
        params: idParams,
        querystring: recordProofQuery,
        response: { 200: entryProof },
      },
    },
    async (request) => {
      const { caller, params, query } = request
      const proof = await proveRecord(deps, caller.ledgerId, {
        recordId: pathId('rec', params.id),
        seq: numberOf(query.seq),
        size: numberOf(query.size),
        ownAgent: request.ownRecordsOnly ? caller.agentId : null,
      })
      const of = query.seq === undefined ? '' : ` with an entry ${query.seq}`
      return found(proof, `the ledger has no record ${params.id}${of}`)
    },
  )

  typed.get(
    '/v1/entries/:seq/proof',
    {
      config: {
        access: { scope: 'audit:read' },
        problems: ['not_found', 'checkpoint_pending', 'integrity_fault'],
      },
      schema: {
        summary: 'Prove an entry in a checkpoint',
        params: entryProofParams,
        querystring: entryProofQuery,
        response: { 200: entryProof },
      },
    },
    async (request) => {
      const { params, query } = request
      // Anything else is no seq of any ledger, and answered like one that is not there.
      const proof = SEQ_TEXT.test(params.seq)
        ? await proveEntry(deps, request.caller.ledgerId, Number(params.seq), {
            size: numberOf(query.size),
          })
        : null
      return found(proof, `the ledger has no entry ${params.seq}`)
    },
  )
}

function numberOf(digits: string | undefined): number | null {
  return digits === undefined ? null : Number(digits)
}

function found(proof: EntryProof | null, otherwise: string): EntryProof {
  if (proof === null) throw new ApiError('not_found', otherwise)
  return proof
}
