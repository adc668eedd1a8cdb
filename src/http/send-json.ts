import type { FastifyReply } from 'fastify'

/** Text that is JSON already: records and types are rendered from canonical bytes, and must not be parsed for it. */
export function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(json)
}
