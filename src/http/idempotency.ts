import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { ApiError } from '../errors.ts'
import { fingerprint } from '../records/write/idempotency.ts'
import type { Entropy } from '../signing/entropy.ts'

/**
 * Returns the fingerprint of the request's Idempotency-Key. The database stores this fingerprint. Returns null if the
 * request has no key.
 */
export function idempotencyOf(
  deps: { readonly entropy: Entropy },
  request: FastifyRequest,
): IdempotencyRow | null {
  const key = request.headers['idempotency-key']
  if (key === undefined) return null
  return fingerprint(deps.entropy, key, { ...requestOf(request), body: request.body ?? null })
}

/**
 * Returns the method and the address that identify a request. The address is the route with its decoded parameters. The
 * URL itself is not used, because the same address can be written in many ways (RFC 9110 §4.2.3), also with a scheme
 * and a host (RFC 9112 §3.2.2).
 */
export function requestOf({ method, params, routeOptions }: FastifyRequest): {
  readonly method: string
  readonly path: string
} {
  return { method, path: `${routeOptions.url} ${JSON.stringify(params)}` }
}

/**
 * Throws if the request has an Idempotency-Key. Called for writes that make no entry. Only an entry can store the key,
 * so a client that relies on its key must get an error.
 */
export function refuseIdempotencyKey(request: FastifyRequest): void {
  if (request.headers['idempotency-key'] === undefined) return
  throw new ApiError(
    'invalid_idempotency_key',
    'this address accepts no Idempotency-Key: before a retry, check whether the request was done',
  )
}

export function markReplayed(reply: FastifyReply, replayed: boolean): FastifyReply {
  return replayed ? reply.header('idempotency-replayed', 'true') : reply
}
