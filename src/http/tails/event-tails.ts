import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUnreadable } from '../../db/connect/archive.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { type LedgerEnds, readEnds } from '../../db/events/read-events.ts'
import { ARCHIVE_RETRY_AFTER_MS } from '../../db/limits.ts'
import { Slots } from '../../load/slots.ts'
import { watchEventReads, watchStreams } from '../../observe/metrics/reading.ts'
import type { WantedEvents } from '../../outside/events/event-types.ts'
import { LedgerWatch } from '../../outside/events/ledger-watch.ts'
import type { EventPosition } from '../../outside/events/read-events.ts'
import { SharedReads } from '../../outside/events/shared-reads.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { STREAM_STRING_CHARS } from '../../records/limits.ts'
import { EVENT_STREAM } from '../answers/accept.ts'
import type { Deps } from '../deps.ts'
import {
  EVENTS_HEARTBEAT_MS,
  EVENTS_KEY_CHECK_EVERY_MS,
  EVENTS_PER_TAIL_QUERY,
  EVENTS_RETRY_MS,
  EVENTS_TAIL_ARCHIVE_READS_MAX,
  EVENTS_TAIL_CLOSE_MS_MAX,
  EVENTS_TAIL_MS_MAX,
  EVENTS_TAIL_QUERIES_AT_ONCE_MAX,
  EVENTS_TAIL_WARN_EVERY_MS,
  EVENTS_TAILS_MAX,
  EVENTS_TAILS_PER_LEDGER_MAX,
} from '../limits.ts'
import { isStillAdmitted } from '../plugins/authenticate.ts'
import { type FittedPage, formatEventCursor, readFittedPage, requireReadable } from './event-pages.ts'
import { whenHalfClosed } from './half-closed.ts'

type TailSource = {
  readonly ledgerId: Uuid
  readonly filter: WantedEvents
  /** The filter of the tail as text. */
  readonly tag: string
  readonly entriesUrl: string
}

type Tail = {
  readonly source: TailSource
  readonly from: EventPosition
  readonly ends: LedgerEnds
  /**
   * The first page. It is read before the answer begins, so that an error can still be answered with its status.
   * `nothing` if the archive is unavailable.
   */
  readonly first: Next
  readonly isAdmitted: () => Promise<boolean>
  /** Time at which the tail ends, as performance.now(). */
  readonly endsAtMs: number
  readonly signal: AbortSignal
}

/** Progress of a tail. All times are values of performance.now(). */
type TailProgress = {
  position: EventPosition
  /** Size, verified size and newest checkpoint of the ledger, as they were last read. */
  ends: LedgerEnds
  /** True if all events up to `ends` were sent. */
  isAtEnd: boolean
  /** True if the next event must wait until the worker has verified the ledger up to this event. */
  isGated: boolean
  limit: number
  writtenAtMs: number
  keyCheckAtMs: number
}

type Next = FittedPage | 'nothing' | 'over'

/**
 * Answers that follow the events of a ledger (WHATWG server-sent events). All tails that have reached the end of their
 * ledger share one query (LedgerWatch). A page that many tails need is read and rendered once (SharedReads). A slow
 * reader takes at most twice STREAM_STRING_CHARS of memory. If a reader stops reading, its connection is closed
 * (WriteDeadlines).
 */
export class EventTails {
  readonly #deps: Deps
  readonly #slots = new Slots(EVENTS_TAILS_PER_LEDGER_MAX, EVENTS_TAILS_MAX)
  readonly #watch: LedgerWatch
  readonly #reads = new SharedReads<FittedPage>(
    EVENTS_TAIL_QUERIES_AT_ONCE_MAX,
    EVENTS_TAIL_ARCHIVE_READS_MAX,
  )
  readonly #open = new Map<AbortController, Readable>()
  #isClosing = false
  #warnedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: Deps) {
    this.#deps = deps
    this.#watch = new LedgerWatch((ledgerIds) => readEnds(deps.readPool, deps.cursorMac, ledgerIds), deps.log)
    watchStreams(deps.metrics, 'events', this.#slots)
    watchEventReads(deps.metrics, this.#reads)
  }

  /**
   * Ends all tails. Later tails end at once. The clients reconnect, to another server or to this server's next process.
   */
  close(): void {
    this.#isClosing = true
    for (const ending of this.#open.keys()) ending.abort()
    const cutOff = () => {
      for (const stream of this.#open.values()) stream.destroy()
    }
    setTimeout(cutOff, EVENTS_TAIL_CLOSE_MS_MAX).unref()
  }

  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    source: TailSource,
    from: EventPosition,
    ends: LedgerEnds,
  ): Promise<FastifyReply> {
    const release = this.#slots.take(request.caller.ledger)
    try {
      const first = await this.#readFirst(source, from, ends)
      if (first !== 'nothing') requireReadable(first)
      const ending = new AbortController()
      const frames = this.#frames({
        source,
        from,
        ends,
        first,
        isAdmitted: () => isStillAdmitted(request, this.#deps),
        endsAtMs: performance.now() + EVENTS_TAIL_MS_MAX * (0.75 + Math.random() / 4),
        signal: ending.signal,
      })
      return this.#stream(request, reply, frames, ending, release)
    } catch (error) {
      release()
      throw error
    }
  }

  /**
   * Reads the first page. Returns `nothing` if the archive is unavailable. This must not be answered with an error,
   * because an EventSource never reconnects after an error.
   */
  async #readFirst(
    source: TailSource,
    from: EventPosition,
    ends: LedgerEnds,
  ): Promise<FittedPage | 'nothing'> {
    try {
      return await this.#read(source, from, ends, EVENTS_PER_TAIL_QUERY)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      this.#warn(source, error)
      return 'nothing'
    }
  }

  /** Logs that streams wait for the archive. Clients do not see this, because they were already answered with 200. */
  #warn({ ledgerId }: TailSource, err: unknown): void {
    const nowMs = performance.now()
    if (nowMs < this.#warnedAtMs + EVENTS_TAIL_WARN_EVERY_MS) return
    this.#warnedAtMs = nowMs
    this.#deps.log.warn(
      { err, ledger: formatId('led', ledgerId) },
      'event streams are waiting for the archive',
    )
  }

  #stream(
    request: FastifyRequest,
    reply: FastifyReply,
    frames: AsyncGenerator<string>,
    ending: AbortController,
    release: () => void,
  ): FastifyReply {
    const stream = Readable.from(frames, { objectMode: true, highWaterMark: 1 })
    const { socket } = request.raw
    this.#open.set(ending, stream)
    if (this.#isClosing) ending.abort()
    // Destroying a stream does not end a generator that waits, so `ending` is aborted too.
    const abandon = () => {
      ending.abort()
      stream.destroy()
    }
    socket.setMaxListeners(0).once('close', abandon)
    const stay = whenHalfClosed(socket, () => ending.abort())
    stream.once('close', () => {
      stay()
      socket.off('close', abandon)
      this.#open.delete(ending)
      release()
    })
    if (socket.destroyed) abandon()
    return reply
      .header('content-type', EVENT_STREAM)
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(stream)
  }

  async *#frames(tail: Tail): AsyncGenerator<string> {
    const { source, from, ends, first } = tail
    const nowMs = performance.now()
    const at: TailProgress = {
      position: from,
      ends,
      isAtEnd: false,
      isGated: false,
      limit: EVENTS_PER_TAIL_QUERY,
      writtenAtMs: nowMs,
      keyCheckAtMs: nowMs + EVENTS_KEY_CHECK_EVERY_MS,
    }
    // The starting position is sent first. If the connection breaks before the first event, the client reconnects at
    // this position and misses no event.
    yield `retry: ${EVENTS_RETRY_MS}\n${positionFrame(source.ledgerId, from)}`
    for (let next: Next = first; next !== 'over'; next = await this.#next(tail, at)) {
      const text = next === 'nothing' ? '' : advance(at, next)
      if (text !== '' || performance.now() >= at.writtenAtMs + EVENTS_HEARTBEAT_MS) {
        yield text === '' ? positionFrame(source.ledgerId, at.position) : text
        at.writtenAtMs = performance.now()
      }
      if (next === 'nothing' || next.fault === null) continue
      yield ': integrity_fault: what follows is not what was signed\n\n'
      return
    }
  }

  /**
   * Returns the next page. Waits at the end of the ledger for new events. Also waits while the database or the archive
   * is unavailable. Stops waiting when a heartbeat or a check of the key is due, or when the tail ends.
   */
  async #next({ source, isAdmitted, endsAtMs, signal }: Tail, at: TailProgress): Promise<Next> {
    if (at.isAtEnd) {
      const dueAtMs = Math.min(at.keyCheckAtMs, at.writtenAtMs + EVENTS_HEARTBEAT_MS, endsAtMs)
      const msMax = Math.max(0, dueAtMs - performance.now())
      const grown = await this.#watch.grown(source.ledgerId, at.ends, { msMax, isGated: at.isGated, signal })
      at.isAtEnd = grown === null
      at.ends = grown ?? at.ends
    }
    if (signal.aborted || performance.now() >= endsAtMs) return 'over'
    try {
      if (performance.now() >= at.keyCheckAtMs) {
        if (!(await isAdmitted())) return 'over'
        at.keyCheckAtMs = performance.now() + EVENTS_KEY_CHECK_EVERY_MS
      }
      return at.isAtEnd ? 'nothing' : await this.#read(source, at.position, at.ends, at.limit)
    } catch (error) {
      const isOfArchive = isUnreadable(error)
      if (!isOfArchive && !isUnavailable(error as Error)) throw error
      if (isOfArchive) this.#warn(source, error)
      await sleep(isOfArchive ? ARCHIVE_RETRY_AFTER_MS : EVENTS_RETRY_MS, undefined, { signal }).catch(
        () => {},
      )
      return 'nothing'
    }
  }

  #read(source: TailSource, from: EventPosition, ends: LedgerEnds, limit: number): Promise<FittedPage> {
    const values = [
      from.seq,
      from.eventsDelivered,
      from.checkpoint,
      ends.size,
      ends.checkpoint,
      ends.verifiedSize,
      limit,
    ]
    const ledger = source.ledgerId
    return this.#reads.read(ledger, `${ledger} ${source.tag} ${values.join(' ')}`, (turned) =>
      readFittedPage(turned(this.#deps.readPool), source, from, ends, {
        limit,
        charsMax: STREAM_STRING_CHARS,
        render: (event, cursor) => `id: ${cursor}\nevent: ${event.type}\ndata: ${event.json}\n\n`,
      }),
    )
  }
}

/** Moves the position to the end of a page. Returns the text of the page. */
function advance(at: TailProgress, { texts, position, more, isGated, isCut }: FittedPage): string {
  at.position = position
  at.isGated = isGated
  at.isAtEnd = !more
  // If the events are long, the next query reads only about as many events as fit into a page.
  at.limit = isCut ? texts.length : Math.min(2 * at.limit, EVENTS_PER_TAIL_QUERY)
  return texts.join('')
}

/** Returns a frame without an event. The frame contains the client's position, and shows that the server is alive. */
function positionFrame(ledgerId: Uuid, position: EventPosition): string {
  return `id: ${formatEventCursor(ledgerId, position)}\n\n`
}
