import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IdempotencyRow } from '../db/append-entries.ts'
import type { Entropy } from '../entropy.ts'
import { ApiError } from '../errors.ts'
import { fingerprint } from '../records/idempotency.ts'

/** What is stored of the request's Idempotency-Key; null without one. */
export function idempotencyOf(
  deps: { readonly entropy: Entropy },
  request: FastifyRequest,
): IdempotencyRow | null {
  return fingerprint(deps.entropy, request.headers['idempotency-key'], {
    method: request.method,
    path: request.url.split('?', 1)[0]!,
    body: request.body ?? null,
  })
}

/** Of a write that has no entry of its own to remember the key with: said, because whoever sends one relies on it. */
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
