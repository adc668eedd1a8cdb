import type { FastifyRequest } from 'fastify'
import type { RequestKind } from '../../load/admission.ts'
import type { WorkOptions } from '../../load/threads/thread-work.ts'
import { UNPROVEN } from '../../load/unproven.ts'

/**
 * Returns the owner whose slots, bytes and long answers a request uses. All peers of a ledger are one owner, which is
 * not the ledger itself. Readers of a public ledger are UNPROVEN.
 */
export function ownerOf({ peer, raw }: FastifyRequest): string {
  if (peer !== null) return `peers of ${peer.ledger}`
  return raw.proof?.owner ?? UNPROVEN
}

/**
 * Returns the owners of a body that a thread reads. `owner`: for peers, each peer separately. `ofAll`: all peers of
 * the ledger together.
 */
export function sendersOf(request: FastifyRequest): Pick<WorkOptions, 'owner' | 'ofAll'> {
  const { peer } = request
  if (peer === null) return { owner: ownerOf(request) }
  return { owner: `${peer.ledger} ${peer.peer}`, ofAll: ownerOf(request) }
}

/** Returns the kind of a request by its method, because nothing else is known of a request that may be refused. */
export function kindOf(method: string | undefined): RequestKind {
  return method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'
}
