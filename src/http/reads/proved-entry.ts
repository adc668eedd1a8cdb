import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { type EntryProof, proveEntry, proveRecord } from '../../followers/checkpoints/prove-entry.ts'
import { pathId } from '../path-id.ts'
import { SEQ_TEXT } from '../schemas/common.ts'

type ProofDeps = Parameters<typeof proveEntry>[0]
type RecordProofRequest = { readonly params: { readonly id: string }; readonly query: ProofQuery }
type EntryProofRequest = {
  readonly params: { readonly seq: string }
  readonly query: Omit<ProofQuery, 'seq'>
}
type ProofQuery = {
  readonly seq?: string | undefined
  readonly size?: string | undefined
  readonly cosignatures?: string | undefined
}

const ANSWERS = {
  reads: 'replica',
  problems: ['not_found', 'checkpoint_pending', 'integrity_fault'],
} as const

/** Configuration of routes that answer with a proof of an entry, as JSON or as a receipt. */
export const PROVED_ENTRY = { ...ANSWERS, access: { scope: 'audit:read' } } as const
export const PROVED_RECORD = {
  ...ANSWERS,
  access: { scope: ['audit:read', 'records:read'], own: 'records:read:own' },
} as const

/** Returns the proof of a record's entry. Throws ApiError `not_found`, and the errors of proveRecord. */
export async function provedRecord(
  deps: ProofDeps,
  { caller, ownRecordsOnly }: FastifyRequest,
  { params, query }: RecordProofRequest,
): Promise<EntryProof> {
  const proof = await proveRecord(deps, caller.ledgerId, {
    recordId: pathId('rec', params.id),
    seq: numberOf(query.seq),
    ...checkpointOf(query),
    ownAgent: ownRecordsOnly ? caller.agentId : null,
  })
  const of = query.seq === undefined ? '' : ` with an entry ${query.seq}`
  return found(proof, `the ledger has no record ${params.id}${of}`)
}

/** Returns the proof of an entry. Throws ApiError `not_found`, and the errors of proveEntry. */
export async function provedEntry(
  deps: ProofDeps,
  { caller }: FastifyRequest,
  { params, query }: EntryProofRequest,
): Promise<EntryProof> {
  // A text that SEQ_TEXT does not match is no seq. The answer is then the same as for an unknown entry.
  const proof = SEQ_TEXT.test(params.seq)
    ? await proveEntry(deps, caller.ledgerId, Number(params.seq), checkpointOf(query))
    : null
  return found(proof, `the ledger has no entry ${params.seq}`)
}

function checkpointOf({ size, cosignatures }: Omit<ProofQuery, 'seq'>) {
  if (size !== undefined && cosignatures !== undefined)
    throw new ApiError('invalid_request', 'send only one of the parameters size and cosignatures', {
      members: { path: '/cosignatures' },
    })
  return { size: numberOf(size), cosignatures: numberOf(cosignatures) }
}

function numberOf(digits: string | undefined): number | null {
  return digits === undefined ? null : Number(digits)
}

function found(proof: EntryProof | null, otherwise: string): EntryProof {
  if (proof === null) throw new ApiError('not_found', otherwise)
  return proof
}
