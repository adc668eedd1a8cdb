import type { FastifyRequest } from 'fastify'

/** Has a share as a ledger has: who has to hold one back must not be refused because of it. */
export const OPERATOR = 'operator'

/** What a key names (src/tenancy/api-keys.ts), right or not: whoever names another's ledger is refused for its key later. */
export function claimedLedger(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length < 37) return null
  return authorization.startsWith('tlo_', 7) ? OPERATOR : authorization.slice(11, 37)
}

/** As keys name it. null: nobody calls. */
export function ledgerOf({ caller, routeOptions }: FastifyRequest): string | null {
  if (caller !== null) return caller.ledger.slice(4)
  return routeOptions.config.access === 'operator' ? OPERATOR : null
}

/** Whose bytes the request's are. The peers of a ledger have one share together, however many there are, and not the ledger's own. */
export function ownerOf(request: FastifyRequest): string | null {
  return request.peer === null ? ledgerOf(request) : `peers of ${request.peer.ledger}`
}
