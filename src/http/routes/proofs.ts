import type { FastifyInstance } from 'fastify'
import type { Deps } from '../deps.ts'
import { PROVED_ENTRY, PROVED_RECORD, provedEntry, provedRecord } from '../reads/proved-entry.ts'
import { idParams } from '../schemas/common.ts'
import { entryProof, entryProofParams, entryProofQuery, recordProofQuery } from '../schemas/proofs.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function proofRoutes(app: FastifyInstance, deps: Pick<Deps, 'reads'>): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/records/:id/proof',
    {
      config: PROVED_RECORD,
      schema: {
        summary: 'Prove an entry of a record, the first one by default, in a checkpoint',
        params: idParams,
        querystring: recordProofQuery,
        response: { 200: entryProof },
      },
    },
    (request, reply) => deps.reads.of(request, reply, (from) => provedRecord(from, request, request)),
  )

  typed.get(
    '/v1/entries/:seq/proof',
    {
      config: PROVED_ENTRY,
      schema: {
        summary: 'Prove an entry in a checkpoint',
        params: entryProofParams,
        querystring: entryProofQuery,
        response: { 200: entryProof },
      },
    },
    (request, reply) => deps.reads.of(request, reply, (from) => provedEntry(from, request, request)),
  )
}
