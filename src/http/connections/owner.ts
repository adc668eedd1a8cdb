import type { FastifyRequest } from 'fastify'
import type { RequestKind } from '../../load/admission.ts'
import type { WorkOptions } from '../../load/threads/thread-work.ts'
import { UNPROVEN } from '../../load/unproven.ts'

/**
 * Returns the owner to whom a request's slots, bytes and long answers are charged. All peers of a ledger together are
 * one owner, separate from the ledger itself. Readers of a public ledger without a key have the owner UNPROVEN.
 */
export function ownerOf({ peer, raw }: FastifyRequest): string {
  if (peer !== null) return `peers of ${peer.ledger}`
  return raw.proof?.owner ?? UNPROVEN
}

/**
 * Returns the owners to whom the work of a thread is charged. If the request comes from a peer, `owner` is this peer,
 * and `ofAll` stands for all peers of the ledger together.
 */
export function sendersOf(request: FastifyRequest): Pick<WorkOptions, 'owner' | 'ofAll'> {
  const { peer } = request
  if (peer === null) return { owner: ownerOf(request) }
  return { owner: `${peer.ledger} ${peer.peer}`, ofAll: ownerOf(request) }
}

/**
 * Returns the kind of a request. The kind depends only on the method, because nothing else is known when a request may
 * have to be refused.
 */
export function kindOf(method: string | undefined): RequestKind {
  return method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'
}
