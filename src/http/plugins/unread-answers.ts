import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ByteBudget, ByteBudgets } from '../../byte-budget.ts'
import { ApiError } from '../../errors.ts'
import { ANSWER_TEXT_CHARS_MAX, ANSWERS_LOOK_EVERY_MS } from '../../limits.ts'
import type { WriteDeadlines } from '../../write-deadlines.ts'
import { ownerOf } from '../owner.ts'

type UnreadDeps = { readonly budgets: ByteBudgets; readonly writeDeadlines: WriteDeadlines }

/** A streamed answer: of it counts what was pending when somebody last looked. */
type Stream = { readonly response: ServerResponse; readonly owner: string | null; pending: number }

/**
 * Counts answers from when they are made until the kernel has taken them, and ends connections whose clients don't take them in
 * time. Most are refused before they are made (src/http/plugins/admit.ts); a page that was made while others filled the budget is
 * thrown away here. What was written to the database is answered always.
 */
export function useUnreadAnswers(app: FastifyInstance, { budgets, writeDeadlines }: UnreadDeps): void {
  const streams = new Set<Stream>()
  app.addHook('onSend', (request, reply, payload, done) => {
    // Nobody would say any more that it is over.
    if (reply.raw.destroyed) return done(null, payload)
    if (isStream(payload)) {
      addStream(streams, budgets.reads, request, reply)
      return done(null, payload)
    }
    const bytes = bytesOf(payload)
    if (bytes === null) return done(null, payload)
    const isRead = request.method === 'GET'
    const budget = isRead ? budgets.reads : budgets.writes
    const owner = ownerOf(request)
    // Small ones are let through: among them is what says that there is no room.
    if (isRead && bytes.length > ANSWER_TEXT_CHARS_MAX && !budget.hasRoom(owner, bytes.length))
      return done(tooMuch())
    hold(reply.raw, budget, owner, bytes.length)
    done(null, bytes)
  })
  app.server.on('connection', (socket) => writeDeadlines.watch(socket))
  app.addHook('onListen', (done) => {
    const look = () => {
      writeDeadlines.look()
      for (const stream of streams) count(stream, budgets.reads)
    }
    const timer = setInterval(look, ANSWERS_LOOK_EVERY_MS).unref()
    app.server.once('close', () => clearInterval(timer))
    done()
  })
}

/** Long texts as bytes; null: there is nothing. */
function bytesOf(payload: unknown): string | Buffer | null {
  if (typeof payload === 'string')
    return payload.length > ANSWER_TEXT_CHARS_MAX ? Buffer.from(payload) : payload
  return Buffer.isBuffer(payload) ? payload : null
}

function isStream(payload: unknown): boolean {
  return typeof (payload as { pipe?: unknown } | null | undefined)?.pipe === 'function'
}

function hold(response: ServerResponse, budget: ByteBudget, owner: string | null, bytes: number): void {
  budget.take(owner, bytes)
  response.once('close', () => budget.release(owner, bytes))
}

function addStream(
  streams: Set<Stream>,
  budget: ByteBudget,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const stream = { response: reply.raw, owner: ownerOf(request), pending: 0 }
  streams.add(stream)
  reply.raw.once('close', () => {
    streams.delete(stream)
    budget.release(stream.owner, stream.pending)
  })
}

function count(stream: Stream, budget: ByteBudget): void {
  const pending = stream.response.writableLength
  budget.release(stream.owner, stream.pending)
  budget.take(stream.owner, pending)
  stream.pending = pending
}

function tooMuch(): ApiError {
  return new ApiError('overloaded', 'too much that was answered was not taken yet: try again later', {
    retryable: true,
    retryAfterMs: 1_000,
  })
}
