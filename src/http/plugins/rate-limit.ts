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
     * Every request costs 1. Returns the further cost of this request. Called after the body was read. If the number of
     * bytes in the body gives a higher further cost, the higher cost counts.
     */
    furtherCost?: (body: unknown) => number
  }
  interface FastifyRequest {
    /** Charges the bytes of a body to the sender's limits. They stay charged even if the request fails later. */
    chargeBody(bytes: number): void
    chargedForBody: number
  }
}

/**
 * Applies the rate limits of the caller's key and ledger. Runs after authentication. Otherwise somebody without the key
 * could use up the key's limit.
 */
export function useRateLimits(app: FastifyInstance): void {
  const limits = new RateLimits(() => performance.now())
  app.addHook('onRequest', (request, reply, done) => {
    const limited = limitedOf(request)
    if (limited === null) return done()
    const charge = limits.charge(limited)
    // Answers to readers of a public ledger have no rate limit headers, because caches pass the answers on to other
    // readers.
    if (request.publicLedger === null) {
      reply.header('ratelimit-policy', limited.map(formatPolicy).join(', '))
      reply.header('ratelimit', limited.map((one, i) => formatState(one, charge.states[i]!)).join(', '))
    }
    if (charge.allowed) return done()
    const used = limited.filter((_, i) => charge.refusing[i]).map(describeLimit)
    const wait = `try again in ${Math.max(1, Math.ceil(charge.retryAfterMs / 1_000))} s`
    done(
      new ApiError('rate_limited', `${used.join(', and ')}: ${wait}`, {
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

/**
 * Returns the rate limits that apply to a request. Returns null if no limit is set, or if the route is public or for
 * the operator.
 */
function limitedOf({ caller, peer, publicLedger }: Callers): Limited[] | null {
  if (publicLedger !== null) return [{ name: 'public', id: `public ${publicLedger}`, limit: PUBLIC_LIMIT }]
  if (peer) return [{ name: 'peer', id: `${peer.ledger} ${peer.peer}`, limit: PEER_LIMIT }]
  if (caller === null || (caller.keyLimit === null && caller.ledgerLimit === null)) return null
  return [
    ...(caller.keyLimit ? [{ name: 'key', id: caller.key, limit: caller.keyLimit }] : []),
    ...(caller.ledgerLimit ? [{ name: 'ledger', id: caller.ledger, limit: caller.ledgerLimit }] : []),
  ]
}

/**
 * Formats a limit as in draft-ietf-httpapi-ratelimit-headers-11, for example `"key";q=10;w=2`. `q`: the burst. `w`:
 * time in seconds in which the burst refills.
 */
function formatPolicy({ name, limit }: Limited): string {
  return `"${name}";q=${limit.burst};w=${Math.max(1, Math.ceil(limit.burst / limit.requestsPerSecond))}`
}

const WHOSE_LIMIT: Readonly<Record<string, string>> = {
  key: 'the API key',
  ledger: 'the ledger',
  peer: 'the peering',
  public: 'readers without a key',
}

/** Describes a limit that refuses a request. The sender may know it: the headers show the same numbers. */
function describeLimit({ name, limit: { requestsPerSecond, burst } }: Limited): string {
  return `the rate limit of ${WHOSE_LIMIT[name]} is used up (${requestsPerSecond} requests a second, burst ${burst})`
}

function formatState({ name }: Limited, state: RateLimitState): string {
  return `"${name}";r=${state.remaining};t=${Math.ceil(state.fullInMs / 1_000)}`
}
