import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { ApiError } from '../errors.ts'
import { fingerprint } from '../records/idempotency.ts'
import type { Entropy } from '../signing/entropy.ts'

/** Fingerprint of the request's Idempotency-Key, as it is stored; null without one. */
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
