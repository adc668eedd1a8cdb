import type { FastifyRequest } from 'fastify'
import type { RequestKind } from '../append/admission.ts'
import type { PieceOptions } from '../append/threads/piece.ts'

/** An owner like any ledger: the operator, who has to hold one back, must not be refused because of it. */
export const OPERATOR = 'operator'

/** Ledger that a key names (src/ledgers/api-keys.ts), rightly or not: a key that names another's ledger is refused later. */
export function claimedLedger(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length < 37) return null
  return authorization.startsWith('tlo_', 7) ? OPERATOR : authorization.slice(11, 37)
}

/** Ledger of the caller, as keys name it. null: nobody calls. Readers of a public ledger are an owner of their own. */
export function ledgerOf({ caller, publicLedger, routeOptions }: FastifyRequest): string | null {
  if (caller !== null) return caller.ledger.slice(4)
  if (publicLedger !== null) return `public ${publicLedger}`
  return routeOptions.config.access === 'operator' ? OPERATOR : null
}

/** Owner of a request's bytes. The peers of a ledger have one share together, however many there are, and not the ledger's own. */
export function ownerOf(request: FastifyRequest): string | null {
  return request.peer === null ? ledgerOf(request) : `peers of ${request.peer.ledger}`
}

/**
 * Senders of a body that a thread reads: each peer is one by itself, and the peers of a ledger are one together. A sender that brings its key along in
 * the body is nobody yet: all of them share a turn.
 */
export function sendersOf({ caller, peer }: FastifyRequest): Pick<PieceOptions, 'owner' | 'ofAll'> {
  if (peer !== null) return { owner: `${peer.ledger} ${peer.peer}`, ofAll: `peers of ${peer.ledger}` }
  return { owner: caller === null ? 'nobody' : caller.ledger }
}

/** By the method, because nothing else is known of a request that may be refused. */
export function kindOf(method: string | undefined): RequestKind {
  return method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'
}
