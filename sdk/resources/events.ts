import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { bytesOf, type CallInfo, wrongServer } from '../http/answers.ts'
import { Listing } from '../http/listing.ts'
import { Retries, sleep } from '../http/retries.ts'
import { type SseEvent, SseParser, SseTooLongError } from '../http/sse.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type LedgerEventType = api.LedgerEvent['type']
export type EventPage = api.GetEventsAnswer
/** An event of `tail`. Pass `cursor` as `after` to continue a stream after this event. */
export type TailedEvent = api.LedgerEvent & { readonly cursor: string }

/** Selects events. Default: all events. */
export type EventFilter = {
  readonly events?: readonly LedgerEventType[] | undefined
  /** Record types. `name/version` selects one version, a name alone selects all versions. */
  readonly types?: readonly string[] | undefined
}

export type EventsQuery = EventFilter & { readonly limit?: number | undefined }
export type EventPageQuery = EventsQuery & {
  /** `nextCursor` of a page, or `cursor` of a tailed event. */
  readonly cursor?: string | undefined
  /** Position at which to begin if there is no cursor. Default: the beginning. */
  readonly from?: 'beginning' | 'end' | undefined
}
export type TailOptions = CallOptions &
  EventFilter & {
    /** Cursor after which the stream begins. */
    readonly after?: string | undefined
    /** Position at which to begin if there is no cursor. Default: the end, so that only new events are streamed. */
    readonly from?: 'beginning' | 'end' | undefined
  }

const EVENT_STREAM = 'text/event-stream'
/** Maximum time in ms without data on a stream. A working server sends data at least every third of this time. */
const SILENCE_MS_MAX = 45_000
/** Maximum length of an event in characters. A server's events are always shorter. */
const EVENT_CHARS_MAX = 16 * 1024 * 1024
const RETRY_MS_DEFAULT = 1_000
const RETRY_MS_MAX = 60_000
const ASKED: CallInfo = { name: 'GET /v1/events', idempotencyKey: null, repeatable: true }

/** Events of the ledger (docs/reference/events.md). */
export class Events {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Returns one page: `GET /v1/events`. Read the next page with `nextCursor`: immediately if `more` is true, otherwise
   * later.
   */
  page({ events, types, ...place }: EventPageQuery = {}, options?: CallOptions): Promise<EventPage> {
    return this.#http.json(operations.getEvents, { query: { ...filter(events, types), ...place }, options })
  }

  /** Lists all existing events from the beginning: `GET /v1/events`. */
  list(query: EventsQuery = {}, options?: CallOptions): Listing<api.LedgerEvent> {
    return new Listing(async (cursor) => {
      const { data, nextCursor, more } = await this.page({ ...query, cursor }, options)
      return { data, nextCursor: more ? nextCursor : null }
    })
  }

  /**
   * Streams events as they come, in order, each once: `GET /v1/events`.
   *
   * Ends only when `signal` aborts, and then throws the signal's reason. After a lost connection or a restart of the
   * server, the stream resumes after the last event. The number of retries is unlimited, unless `retriesMax` limits
   * consecutive failures. Throws if it cannot succeed, for example because the key was revoked or the server was never
   * reachable.
   */
  async *tail({
    after,
    from,
    events,
    types,
    ...options
  }: TailOptions = {}): AsyncGenerator<TailedEvent, void, undefined> {
    if (after !== undefined && from !== undefined)
      throw new UsageError('tail takes only one of the options `after` and `from`')
    let retries = new Retries(this.#http.retriesOf(options), options.signal)
    let cursor = after
    let retryMs = RETRY_MS_DEFAULT
    for (let hasBegun = false; ; ) {
      const place = cursor === undefined ? { from } : { cursor }
      try {
        const stream = await this.#open({ ...filter(events, types), ...place }, options)
        if (!hasBegun) retries = this.#patient(options)
        hasBegun = true
        const parser = new SseParser(EVENT_CHARS_MAX)
        let pieces = 0
        for await (const piece of bytesOf(stream)) {
          for (const event of parsed(parser, piece)) yield parseEvent(event)
          // The first chunk is no progress. Every connection gets it, and it contains only the position where the
          // stream begins.
          if (++pieces > 1) retries.reset()
          cursor = parser.lastEventId || cursor
          retryMs = Math.min(parser.retryMs ?? retryMs, RETRY_MS_MAX)
        }
      } catch (error) {
        await retries.before(error)
        continue
      }
      // The server ended the stream, because it shuts down or because it distributes its clients over servers again.
      await sleep(retryMs * (0.5 + Math.random() / 2), options.signal)
    }
  }

  #open(query: object, options: CallOptions): Promise<ReadableStream<Uint8Array>> {
    // `tail` does the retries.
    const once = { timeoutMs: SILENCE_MS_MAX, ...options, retriesMax: 0 }
    return this.#http.stream(operations.getEvents, EVENT_STREAM, { query, options: once })
  }

  #patient({ retriesMax = Number.POSITIVE_INFINITY, signal }: CallOptions): Retries {
    return new Retries(this.#http.retriesOf({ retriesMax }), signal)
  }
}

function filter(events: readonly string[] | undefined, types: readonly string[] | undefined) {
  return { events: events?.join(','), types: types?.join(',') }
}

function parsed(parser: SseParser, piece: Uint8Array): SseEvent[] {
  try {
    return parser.push(piece)
  } catch (error) {
    if (!(error instanceof SseTooLongError)) throw error
    throw wrongServer(`${ASKED.name} answered with an event of more than ${EVENT_CHARS_MAX} characters`)
  }
}

function parseEvent({ type, data, lastEventId }: SseEvent): TailedEvent {
  const event = parseObject(data)
  if (event === null || event['type'] !== type || typeof event['id'] !== 'string' || lastEventId === '')
    throw wrongServer(`${ASKED.name} answered with something else than an event`)
  return { ...(event as unknown as api.LedgerEvent), cursor: lastEventId }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}
