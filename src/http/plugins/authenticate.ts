import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Caller, CallerCache } from '../../ledgers/caller.ts'
import type { PublicLedgers } from '../../ledgers/public-ledgers.ts'
import type { Scope } from '../../ledgers/scopes.ts'
import type { SharedSlices } from '../../load/slice.ts'
import {
  authenticatePeer,
  type PeerAuthDeps,
  type PeerRequest,
  readRequestSignature,
} from '../../outside/federation/authenticate.ts'
import type { RequestSignature } from '../../outside/federation/http-signature.ts'
import { isId, parseId } from '../../proof/ids.ts'
import { findBearerToken, OPERATOR, type Prove } from '../connections/prove.ts'

/**
 * Who may call a route. A route without access is refused at registration.
 *
 * - `scope`: a key with any of these scopes may call the route.
 * - `own`: a key with only this scope may call the route too, but sees only the records of its own agent.
 */
export type Access = 'public' | 'operator' | PeerAccess | KeyAccess
/**
 * Access for the servers of peers, which sign their requests. The body of an `introduction` contains the key of the
 * signature, so that route checks the signature itself.
 */
export type PeerAccess = 'peer' | 'introduction'
type KeyAccess = {
  readonly scope: Scope | readonly Scope[]
  readonly own?: Scope
  /** If true, the ledger in the address may also be a public ledger, which is read without a key. */
  readonly orPublic?: true
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
  interface FastifyRequest {
    caller: Caller
    /** The peer that sent the request. Set only on routes for peers. */
    peer: PeerRequest
    /** Parsed headers of a peer's signature. null on routes that are not for peers. */
    peerSignature: RequestSignature | null
    /**
     * Id of the public ledger (`led_…`) if the request reads a public ledger without a key. The request then has no
     * `caller`. null for all other requests.
     */
    publicLedger: string | null
    /** If true, the route MUST show the caller only records that name the caller's agent. */
    ownRecordsOnly: boolean
  }
}

export function useAuthentication(
  app: FastifyInstance,
  deps: PeerAuthDeps & {
    callers: CallerCache
    publicLedgers: PublicLedgers
    prove: Prove
    slices: SharedSlices
    now: () => number
  },
): void {
  app.decorateRequest('caller', null as unknown as Caller)
  app.decorateRequest('ownRecordsOnly', true)
  app.decorateRequest('peer', null as unknown as PeerRequest)
  app.decorateRequest('peerSignature', null)
  app.decorateRequest('publicLedger', null)
  app.addHook('onRoute', (route) => {
    if (!route.config?.access)
      throw new Error(`the route ${route.method} ${route.url} does not say who may call it`)
  })
  app.addHook('onRequest', async (request) => {
    const access = request.routeOptions.config.access ?? 'public' // An unknown address has no access in its config.
    if (access === 'public') return
    if (access === 'peer' || access === 'introduction') {
      request.peerSignature = readRequestSignature(deps, {
        method: request.method,
        path: request.url,
        headers: request.headers,
      })
      if (access === 'peer') request.peer = await authenticatePeer(deps, request.peerSignature)
      return
    }
    if (typeof access === 'object' && access.orPublic && request.headers.authorization === undefined) {
      const { ledger } = request.params as { ledger: string }
      const isPublic = isId('led', ledger) && (await deps.publicLedgers.has(parseId('led', ledger)))
      if (isPublic) request.publicLedger = ledger
      if (isPublic) return
    }
    const nowMs = deps.now()
    // A request that did not come over a connection has no proof yet.
    request.raw.proof ??= await deps.prove(request.headers)
    if (access === 'operator') return requireOperator(request)
    request.caller = await requireCaller(request, deps.callers, nowMs)
    request.ownRecordsOnly = requireScope(request.caller, access) === 'own'
    deps.slices.noteRequest(request.caller.ledgerId)
  })
}

/**
 * Returns true if the request's key would still be admitted now, with the same access to records. Long answers check
 * this again and again.
 */
export async function isStillAdmitted(
  request: FastifyRequest,
  deps: { callers: CallerCache; now: () => number },
): Promise<boolean> {
  try {
    const caller = await requireCaller(request, deps.callers, deps.now())
    const shown = requireScope(caller, request.routeOptions.config.access as KeyAccess)
    return (shown === 'own') === request.ownRecordsOnly
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

function requireOperator(request: FastifyRequest): void {
  if (request.raw.proof!.owner === OPERATOR) return
  const isOperatorKey = requireBearerToken(request).startsWith('tlo_')
  throw new ApiError(
    'unauthenticated',
    isOperatorKey
      ? "this is not the operator's key of this server, which is TALLYSTICK_OPERATOR_KEY, or the file operator-key in the data folder of npm start"
      : "this needs the operator's key (tlo_…), not a ledger's API key: it is TALLYSTICK_OPERATOR_KEY of the server, or the file operator-key in the data folder of npm start",
  )
}

/**
 * Returns the caller of the proved key. The caller is read again, because the request may have waited since the
 * proof.
 */
async function requireCaller(request: FastifyRequest, callers: CallerCache, nowMs: number): Promise<Caller> {
  const { key, failure } = request.raw.proof!
  if (failure !== null) throw failure
  const found = key && callers.callerOf(key)
  const caller = found instanceof Promise ? await found : found
  if (!caller) {
    const isOperatorKey = requireBearerToken(request).startsWith('tlo_')
    throw new ApiError(
      'unauthenticated',
      isOperatorKey
        ? "this needs a ledger's API key (tly_…), not the operator's key"
        : 'the API key is unknown, or was revoked',
    )
  }
  if (caller.expiresAtMs !== null && caller.expiresAtMs <= nowMs) {
    throw new ApiError(
      'key_expired',
      `the API key ${caller.key} expired at ${new Date(caller.expiresAtMs).toISOString()}`,
    )
  }
  return { ...caller, authenticatedAtMs: nowMs, written: { size: null } }
}

function requireBearerToken({ headers }: FastifyRequest): string {
  const token = findBearerToken(headers.authorization)
  if (token !== null) return token
  // Some exporters do not decode percent-encoded characters in OTEL_EXPORTER_OTLP_HEADERS.
  const isEncoded = /^Bearer%20/i.test(headers.authorization ?? '')
  throw new ApiError(
    'unauthenticated',
    isEncoded
      ? 'the exporter does not decode its headers: write `Bearer tly_…` with a space instead of %20'
      : 'send the key as `Authorization: Bearer …`',
  )
}

function requireScope(caller: Caller, { scope, own }: KeyAccess): 'all' | 'own' {
  const scopes = typeof scope === 'string' ? [scope] : scope
  if (scopes.some((one) => caller.scopes.has(one))) return 'all'
  if (own !== undefined && caller.scopes.has(own)) return 'own'
  // The error names `own` too. If it named only the wider scopes, the caller would request more rights than it needs.
  const enough = [...scopes, ...(own === undefined ? [] : [own])].join(' or ')
  throw new ApiError('forbidden', `the API key ${caller.key} lacks the scope ${enough}`, {
    members: { scope: scopes[0] },
  })
}
