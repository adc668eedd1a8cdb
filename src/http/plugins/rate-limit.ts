import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { RATE_LIMIT_BYTES_PER_REQUEST } from '../../ledgers/limits.ts'
import { type Limited, type RateLimitState, RateLimits } from '../../ledgers/rate-limits.ts'
import type { PeerRequest } from '../../outside/federation/authenticate.ts'
import {
  PEER_BYTES_PER_TOKEN,
  PEER_REQUESTS_BURST,
  PEER_REQUESTS_PER_SECOND,
} from '../../outside/federation/limits.ts'
import { PUBLIC_READS_BURST, PUBLIC_READS_PER_SECOND } from '../limits.ts'

type Callers = {
  readonly caller: Caller | null
  readonly peer: PeerRequest | null
  readonly publicLedger: string | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Cost of a request beyond 1, known when its body is read. The cost of its bytes counts instead if that is more.
     */
    furtherCost?: (body: unknown) => number
  }
  interface FastifyRequest {
    /** Charges the sender for the bytes of its body, whether the request succeeds or not. */
    chargeBody(bytes: number): void
    chargedForBody: number
  }
}

/**
 * Applies the rate limits of a caller's key and ledger. Runs after authentication, so that nobody can use up the
 * limit of a key without having the key.
 */
export function useRateLimits(app: FastifyInstance): void {
  const limits = new RateLimits(() => performance.now())
  app.addHook('onRequest', (request, reply, done) => {
    const limited = limitedOf(request)
    if (limited === null) return done()
    const charge = limits.charge(limited)
    // Not for readers of a public ledger: caches pass their answers on to others.
    if (request.publicLedger === null) {
      reply.header('ratelimit-policy', limited.map(formatPolicy).join(', '))
      reply.header('ratelimit', limited.map((one, i) => formatState(one, charge.states[i]!)).join(', '))
    }
    if (charge.allowed) return done()
    const detail =
      request.publicLedger === null
        ? 'too many requests with this key, in this ledger, or of this peer'
        : 'too many requests without a key for this ledger: try again later, or use a key'
    done(
      new ApiError('rate_limited', detail, {
        retryable: true,
        retryAfterMs: charge.retryAfterMs,
      }),
    )
  })
  app.decorateRequest('chargedForBody', 0)
  app.decorateRequest('chargeBody', function (this: FastifyRequest, bytes: number) {
    const limited = limitedOf(this)
    if (limited === null) return
    this.chargedForBody = Math.floor(
      bytes / (this.peer ? PEER_BYTES_PER_TOKEN : RATE_LIMIT_BYTES_PER_REQUEST),
    )
    limits.chargeMore(limited, this.chargedForBody)
  })
  app.addHook('preHandler', (request, _reply, done) => {
    const { furtherCost } = request.routeOptions.config
    const limited = furtherCost && limitedOf(request)
    if (limited) limits.chargeMore(limited, Math.max(0, furtherCost(request.body) - request.chargedForBody))
    done()
  })
}

const PEER_LIMIT = { requestsPerSecond: PEER_REQUESTS_PER_SECOND, burst: PEER_REQUESTS_BURST }

const PUBLIC_LIMIT = { requestsPerSecond: PUBLIC_READS_PER_SECOND, burst: PUBLIC_READS_BURST }

/** Returns the limits that apply; null: none is set, or the route is public or the operator's. */
function limitedOf({ caller, peer, publicLedger }: Callers): Limited[] | null {
  if (publicLedger !== null) return [{ name: 'public', id: `public ${publicLedger}`, limit: PUBLIC_LIMIT }]
  if (peer) return [{ name: 'peer', id: `${peer.ledger} ${peer.peer}`, limit: PEER_LIMIT }]
  if (caller === null || (caller.keyLimit === null && caller.ledgerLimit === null)) return null
  return [
    ...(caller.keyLimit ? [{ name: 'key', id: caller.key, limit: caller.keyLimit }] : []),
    ...(caller.ledgerLimit ? [{ name: 'ledger', id: caller.ledger, limit: caller.ledgerLimit }] : []),
  ]
}

/** draft-ietf-httpapi-ratelimit-headers-11: `"key";q=10;w=2`, the burst and the seconds in which it refills. */
function formatPolicy({ name, limit }: Limited): string {
  return `"${name}";q=${limit.burst};w=${Math.max(1, Math.ceil(limit.burst / limit.requestsPerSecond))}`
}

function formatState({ name }: Limited, state: RateLimitState): string {
  return `"${name}";r=${state.remaining};t=${Math.ceil(state.fullInMs / 1_000)}`
}
