import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SharedSlices } from '../../load/slice.ts'
import { STREAM_STRING_CHARS } from '../../records/limits.ts'
import { streamText } from './text-stream.ts'

/**
 * Sends a text that is JSON already. Records and types are rendered from their canonical bytes, which are not parsed
 * for this.
 */
export function sendJson(reply: FastifyReply, json: string | Readable): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(json)
}

type JsonList = { readonly before: string; readonly items: readonly string[]; readonly after: string }

/**
 * Sends a page. A long page may contain megabytes of documents, so it is sent in several writes, and the server does
 * other work between them. When pages were sent in one write, 32 such pages together delayed the records of a ledger
 * that sends few requests by 0.8 s in the median.
 */
export function sendPage(
  { caller }: FastifyRequest,
  reply: FastifyReply,
  slices: SharedSlices,
  list: JsonList,
): FastifyReply {
  const chars = list.items.reduce((sum, item) => sum + item.length, 0)
  if (chars < 2 * STREAM_STRING_CHARS) return sendJson(reply, list.before + list.items.join(',') + list.after)
  return sendJson(
    reply,
    streamText(textsOf(list), chars, () => slices.next(caller.ledgerId)),
  )
}

function* textsOf({ before, items, after }: JsonList): Generator<string> {
  yield before
  for (const [i, item] of items.entries()) {
    if (i > 0) yield ','
    yield item
  }
  yield after
}
