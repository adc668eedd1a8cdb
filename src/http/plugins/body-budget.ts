import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { ByteBudgets } from '../../load/budgets.ts'
import { reservationOf } from '../connections/reservation.ts'
import { BODY_CHUNK_OVERHEAD_BYTES } from '../limits.ts'

/**
 * Counts the bytes of a body from the authentication of the sender until the request is answered. Before the
 * authentication no body is read; Node buffers only 64 KiB of it. The declared length is counted at once, so that no
 * body is refused half-way. A body without a declared length counts as the largest body that its route accepts.
 */
export function useBodyBudget(app: FastifyInstance, { budgets: { bodies } }: { budgets: ByteBudgets }): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    let bytes = announcedBytes(request)
    if (bytes === 0) return done(null, payload)
    const reservation = reservationOf(request, reply)
    if (reservation.isOver) return done(null, payload)
    if (!reservation.hasRoom(bodies, bytes)) return done(tooMuch())
    const share = reservation.take(bodies, bytes)
    if (request.raw.complete) return done(null, payload)
    // Counts the memory of the Buffer object of each chunk. If 4 MiB came in chunks of one byte, these objects would
    // take a gigabyte.
    let around = 0
    payload.on('data', () => {
      around += BODY_CHUNK_OVERHEAD_BYTES
      if (around <= bytes / 4 || reservation.isOver) return
      if (!reservation.hasRoom(bodies, bytes)) return void request.raw.destroy()
      bytes *= 2
      share.resize(bytes)
    })
    done(null, payload)
  })
}

/**
 * Returns the number of bytes to count. Returns 0 if there is no body, or if the body is too long and will be refused
 * without being read.
 */
function announcedBytes({ raw, routeOptions }: FastifyRequest): number {
  if (raw.method === 'GET' || raw.method === 'HEAD') return 0
  const { bodyLimit } = routeOptions
  if (raw.headers['transfer-encoding'] !== undefined) return bodyLimit
  const bytes = Number(raw.headers['content-length'] ?? 0)
  return bytes > bodyLimit ? 0 : bytes
}

function tooMuch(): ApiError {
  return new ApiError('overloaded', 'too many bodies are being received: nothing was done', {
    retryable: true,
    retryAfterMs: 1_000,
  })
}
