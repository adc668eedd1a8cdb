import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Db } from '../../db/connect/client.ts'
import { type LedgerEnds, readEnds } from '../../db/events/read-events.ts'
import { PAGE_BYTES_MAX } from '../../db/limits.ts'
import { ApiError } from '../../errors.ts'
import { EVENT_TYPES, type WantedEvents } from '../../outside/events/event-types.ts'
import type { EventPosition } from '../../outside/events/read-events.ts'
import { EVENT_STREAM, prefersEventStream } from '../answers/accept.ts'
import { eventsTag, pageLimit, parseCursor } from '../answers/page.ts'
import { sendJson } from '../answers/send-json.ts'
import type { Deps } from '../deps.ts'
import { eventPage, eventStream, eventsCursor, eventsQuery } from '../schemas/events.ts'
import { formatEventCursor, readFittedPage, requireReadable } from '../tails/event-pages.ts'
import { EventTails } from '../tails/event-tails.ts'
import type { ZodTypes } from '../zod-validation.ts'

type EventsQuery = {
  readonly events?: string | undefined
  readonly types?: string | undefined
  readonly from?: 'beginning' | 'end' | undefined
  readonly cursor?: string | undefined
  readonly limit?: string | undefined
}

export function eventRoutes(app: FastifyInstance, deps: Deps): void {
  const access = { scope: ['records:read', 'audit:read'], own: 'records:read:own' } as const
  const entriesUrl = `${deps.publicUrl}/v1/entries`
  const tails = new EventTails(deps)
  app.addHook('preClose', async () => tails.close())

  app.withTypeProvider<ZodTypes>().get(
    '/v1/events',
    {
      config: { reads: 'replica', access, problems: ['overloaded', 'integrity_fault'] },
      schema: {
        summary: 'List events, oldest first: a page, or a stream (`Accept: text/event-stream`)',
        querystring: eventsQuery,
        response: {
          200: {
            content: { 'application/json': { schema: eventPage }, [EVENT_STREAM]: { schema: eventStream } },
          },
        },
      },
    },
    async (request, reply) => {
      const { query } = request
      const { ledgerId } = request.caller
      const filter = filterOf(request, query)
      const isTail = prefersEventStream(request.headers.accept)
      const source = { ledgerId, filter, entriesUrl }
      const begin = async (db: Db) => {
        const [ends] = await readEnds(db, deps.cursorMac, [ledgerId])
        return { ends: ends!, from: startOf(request, query, isTail, ends!) }
      }
      reply.header('vary', 'accept')
      if (isTail) {
        await deps.reads.requireKnownSize(request)
        const { from, ends } = await begin(deps.readPool)
        return tails.send(request, reply, { ...source, tag: tagOf(request, query) }, from, ends)
      }
      const { texts, position, more } = await deps.reads.of(request, reply, async ({ readPool }) => {
        const { from, ends } = await begin(readPool)
        const page = await readFittedPage(readPool, source, from, ends, {
          limit: pageLimit(query),
          charsMax: PAGE_BYTES_MAX,
          render: ({ json }) => json,
        })
        requireReadable(page)
        return page
      })
      return sendJson(
        reply,
        `{"data":[${texts.join(',')}],"nextCursor":"${formatEventCursor(ledgerId, position)}","more":${more}}`,
      )
    },
  )
}

function filterOf({ ownRecordsOnly, caller }: FastifyRequest, { events, types }: EventsQuery): WantedEvents {
  const names = events?.split(',') ?? null
  const unknown = names?.find((name) => !EVENT_TYPES.some((type) => type === name))
  if (unknown !== undefined)
    throw invalid('/events', `${unknown} is not an event; the events are ${EVENT_TYPES.join(', ')}`)
  return {
    events: names && new Set(names),
    types: types === undefined ? null : new Set(types.split(',')),
    ...(ownRecordsOnly && { ownAgent: caller.agentId }),
  }
}

/** Returns a tag that depends on what the caller may see. Only callers with the same tag get the same pages. */
function tagOf({ ownRecordsOnly, caller }: FastifyRequest, { events, types }: EventsQuery): string {
  return JSON.stringify([events ?? null, types ?? null, ownRecordsOnly ? caller.agent : null])
}

/**
 * Returns the position at which the answer begins. A client that reconnects repeats its first request, and sends its
 * last position in `Last-Event-ID`.
 */
function startOf(
  request: FastifyRequest,
  query: EventsQuery,
  isTail: boolean,
  ends: LedgerEnds,
): EventPosition {
  const { cursor, from, limit } = query
  if (cursor !== undefined && from !== undefined) throw invalid('/from', 'give cursor or from, not both')
  if (isTail && limit !== undefined) throw invalid('/limit', 'leave out limit: a stream has none')
  const lastEventId = isTail ? request.headers['last-event-id'] : undefined
  if (typeof lastEventId === 'string' && lastEventId !== '') return positionOf(request, lastEventId, ends)
  const position = parseCursor(eventsTag(request.caller.ledgerId), query, eventsCursor)
  if (position !== null) return within(ends, position)
  const isFromEnd = (from ?? (isTail ? 'end' : 'beginning')) === 'end'
  return isFromEnd
    ? { seq: ends.size, eventsDelivered: 0, checkpoint: ends.checkpoint }
    : { seq: 0, eventsDelivered: 0, checkpoint: 0 }
}

/**
 * Reads the position in `Last-Event-ID`. Throws if the header is malformed. The answer is 400, after which an
 * EventSource never reconnects.
 */
function positionOf({ caller }: FastifyRequest, lastEventId: string, ends: LedgerEnds): EventPosition {
  try {
    return within(ends, parseCursor(eventsTag(caller.ledgerId), { cursor: lastEventId }, eventsCursor)!)
  } catch (error) {
    throw new ApiError('bad_request', `Last-Event-ID: ${(error as ApiError).message}`)
  }
}

/**
 * Throws for a cursor beyond the ledger's end. Otherwise later events, between the present end and the cursor, would be
 * skipped.
 */
function within(
  ends: LedgerEnds,
  [seq, eventsDelivered, checkpoint]: readonly [number, number, number],
): EventPosition {
  if (seq + Math.sign(eventsDelivered) <= ends.size && checkpoint <= ends.checkpoint)
    return { seq, eventsDelivered, checkpoint }
  throw invalid('/cursor', 'the cursor is beyond the ledger’s end: an older backup was restored')
}

function invalid(path: string, detail: string): ApiError {
  return new ApiError('invalid_request', detail, { members: { path } })
}
