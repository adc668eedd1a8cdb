import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { ApiError } from '../errors.ts'
import { fingerprint } from '../records/write/idempotency.ts'
import type { Entropy } from '../signing/entropy.ts'

/** Fingerprint of the request's Idempotency-Key, as it is stored; null without one. */
export function idempotencyOf(
  deps: { readonly entropy: Entropy },
  request: FastifyRequest,
): IdempotencyRow | null {
  const key = request.headers['idempotency-key']
  if (key === undefined) return null
  return fingerprint(deps.entropy, key, { ...requestOf(request), body: request.body ?? null })
}

/**
 * Method and address by which a request is known again: the route with its decoded parameters, because one address is written in many
 * ways (RFC 9110 §4.2.3; RFC 9112 §3.2.2: with a scheme and a host, too).
 */
export function requestOf({ method, params, routeOptions }: FastifyRequest): {
  readonly method: string
  readonly path: string
} {
  return { method, path: `${routeOptions.url} ${JSON.stringify(params)}` }
}

/** Refuses an Idempotency-Key on a write that has no entry to remember it with, because a client that sends one relies on it. */
export function refuseIdempotencyKey(request: FastifyRequest): void {
  if (request.headers['idempotency-key'] === undefined) return
  throw new ApiError(
    'invalid_idempotency_key',
    'this address takes no Idempotency-Key: look before you retry',
  )
}

export function markReplayed(reply: FastifyReply, replayed: boolean): FastifyReply {
  return replayed ? reply.header('idempotency-replayed', 'true') : reply
}
