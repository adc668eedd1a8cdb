import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { ByteBudgets } from '../../load/budgets.ts'
import { charsInMemory } from '../answers/text-stream.ts'
import { kindOf } from '../connections/owner.ts'
import { type Reservation, type ReservedBytes, reservationOf } from '../connections/reservation.ts'
import type { WriteDeadlines } from '../connections/write-deadlines.ts'
import { ANSWER_TEXT_CHARS_MAX, ANSWERS_CHECK_EVERY_MS } from '../limits.ts'

type UnreadDeps = { readonly budgets: ByteBudgets; readonly writeDeadlines: WriteDeadlines }

/**
 * An answer that is a stream. The bytes that were pending at the last check count as unread. If the whole text of the
 * stream is in memory, the whole text counts.
 */
type Stream = {
  readonly response: ServerResponse
  readonly reservation: Reservation
  readonly share: ReservedBytes
}

/**
 * Counts the bytes of answers from when they are made until the kernel has taken them. Closes connections whose clients
 * do not read their answers in time.
 *
 * If the budget is used up, most requests are refused before their answer is made (src/http/plugins/admit.ts). A page
 * that was made while other answers used up the budget is dropped here. A request that writes to the database always
 * gets its answer.
 */
export function useUnreadAnswers(app: FastifyInstance, { budgets, writeDeadlines }: UnreadDeps): void {
  const streams = new Set<Stream>()
  app.addHook('onSend', (request, reply, payload, done) => {
    const held = reservationOf(request, reply)
    if (held.isOver) return done(null, payload)
    if (isStream(payload)) {
      const chars = charsInMemory(payload)
      if (chars > 0 && !held.hasRoom(budgets.reads, chars)) {
        payload.destroy()
        return done(tooMuch())
      }
      held.take(budgets.reads, chars)
      streams.add({ response: reply.raw, reservation: held, share: held.take(budgets.reads, 0) })
      return done(null, payload)
    }
    const bytes = bytesOf(payload)
    if (bytes === null) return done(null, payload)
    const kind = kindOf(request.method)
    const isRead = kind === 'reads'
    const budget = budgets[kind]
    // Small answers are always sent. The refusal is a small answer too.
    if (isRead && bytes.length > ANSWER_TEXT_CHARS_MAX && !held.hasRoom(budget, bytes.length))
      return done(tooMuch())
    held.take(budget, bytes.length)
    done(null, bytes)
  })
  app.server.on('connection', (socket) => writeDeadlines.watch(socket))
  app.addHook('onListen', (done) => {
    const check = () => {
      writeDeadlines.check()
      for (const stream of streams) if (!count(stream)) streams.delete(stream)
    }
    const timer = setInterval(check, ANSWERS_CHECK_EVERY_MS).unref()
    app.server.once('close', () => clearInterval(timer))
    done()
  })
}

/** Converts a long text to bytes. Returns null if there is no payload, or if the payload is a stream. */
function bytesOf(payload: unknown): string | Buffer | null {
  if (typeof payload === 'string')
    return payload.length > ANSWER_TEXT_CHARS_MAX ? Buffer.from(payload) : payload
  return Buffer.isBuffer(payload) ? payload : null
}

function isStream(payload: unknown): payload is Readable {
  return typeof (payload as { pipe?: unknown } | null | undefined)?.pipe === 'function'
}

/** Updates the number of bytes counted for a stream. Returns false when the stream has ended. */
function count({ response, reservation: held, share }: Stream): boolean {
  if (!held.isOver) share.resize(response.writableLength)
  return !held.isOver
}

function tooMuch(): ApiError {
  return new ApiError(
    'overloaded',
    'too many bytes of earlier answers are still unread: read them, then try again',
    {
      retryable: true,
      retryAfterMs: 1_000,
    },
  )
}
