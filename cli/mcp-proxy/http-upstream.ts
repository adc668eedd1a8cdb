import { setTimeout as sleep } from 'node:timers/promises'
import { SseParser } from '../../sdk/http/sse.ts'
import { withoutMark } from '../../src/proof/bytes.ts'
import { mediaTypeOf } from '../../src/proof/http-fields.ts'
import { valueAt } from '../calls/message.ts'
import { readText, tryParse } from './http-body.ts'
import { causeOf, EVENT_STREAM, HttpSession, type Line, LostSessionError, textsOf } from './http-session.ts'
import { answeredIdOf, isMessage, keyOf, messagesOf, type RequestId, requestIdOf } from './json-rpc.ts'
import {
  PROXY_CANCELLED_MS,
  PROXY_HTTP_END_MS,
  PROXY_HTTP_ORDER_MS,
  PROXY_HTTP_REQUESTS_MAX,
  PROXY_HTTP_RESUMES_MAX,
  PROXY_HTTP_RETRY_MS,
  PROXY_HTTP_RETRY_MS_MAX,
  PROXY_MESSAGE_BYTES_MAX,
} from './limits.ts'
import { strayText } from './stray.ts'
import type { Downstream, NoAnswer, Upstream, UpstreamEnd } from './upstream.ts'

type HttpOptions = {
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  readonly downstream: Downstream
}

/**
 * Opens a streamable HTTP server (MCP 2025-03-26 and later). Each line of the client becomes a request body, and each
 * message of an answer becomes a line.
 */
export function openHttp(options: HttpOptions): Upstream {
  return new HttpUpstream(options)
}

type OpenRequest = {
  readonly id: RequestId
  readonly closed: AbortController
  /** Called when the request is answered. */
  readonly taken: () => void
  isCancelled: boolean
}

const NO_RESULT = 'the server ended its answer without a result'

class HttpUpstream implements Upstream {
  readonly ended: Promise<UpstreamEnd>
  readonly #downstream: Downstream
  readonly #session: HttpSession
  readonly #underWay = new Set<Promise<void>>()
  /** Maps a request id (as JSON) to the open request. */
  readonly #open = new Map<string, OpenRequest>()
  readonly #stop = new AbortController()
  /** Resolves when the server has accepted all notifications and answers that the client has written so far. */
  #order: Promise<unknown> = Promise.resolve()
  #isListening = false
  #waiting: Buffer[] = []
  #resolve: (ended: UpstreamEnd) => void = () => {}

  constructor({ url, headers, downstream }: HttpOptions) {
    this.#downstream = downstream
    this.#session = new HttpSession({
      ...{ url, headers, signal: this.#stop.signal },
      onRenewed: () => {
        downstream.say('the server had lost the session: a new one was started')
        this.#listen()
      },
    })
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  async send(bytes: Buffer): Promise<void> {
    this.#waiting.push(bytes)
    if (bytes.at(-1) !== LINE_FEED) return
    this.#sendLine()
    if (this.#underWay.size >= PROXY_HTTP_REQUESTS_MAX) await Promise.race(this.#underWay)
  }

  /**
   * Sends a line. A line whose order matters waits until the server has accepted all earlier notifications and answers,
   * and has answered `initialize`. Requests do not wait for each other, because their answers may come in any order, as
   * over stdio.
   */
  #sendLine(): void {
    const body = bodyOf(Buffer.concat(this.#waiting))
    this.#waiting = []
    const text = body.toString('utf8')
    if (text.trim() === '') return
    const value = tryParse(text)
    const line = { body, value, method: valueAt(value, ['method']) }
    if (line.method === 'notifications/cancelled') this.#cancel(valueAt(value, ['params', 'requestId']))
    const turn = this.#order
    const isRequest = messagesOf(value).some((each) => requestIdOf(each) !== undefined)
    let taken = () => {}
    if (!isRequest || line.method === 'initialize')
      this.#order = atMost(PROXY_HTTP_ORDER_MS, new Promise<void>((resolve) => (taken = resolve)))
    const done = this.#exchange(line, turn, taken).finally(() => {
      taken()
      this.#underWay.delete(done)
    })
    this.#underWay.add(done)
  }

  end(): void {
    this.#sendLine()
    void (async () => {
      await atMost(PROXY_HTTP_END_MS, Promise.all(this.#underWay))
      this.stop()
    })()
  }

  stop(): void {
    if (this.#stop.signal.aborted) return
    this.#stop.abort()
    void this.#session.close(PROXY_HTTP_END_MS).finally(() => {
      this.#resolve({ why: 'the connection to the server was closed', isFailure: false })
    })
  }

  async #exchange(line: Line, turn: Promise<unknown>, taken: () => void): Promise<void> {
    const closed = new AbortController()
    const ids = messagesOf(line.value)
      .map(requestIdOf)
      .filter((id) => id !== undefined)
    const requests = ids.map((id): OpenRequest => ({ id, closed, taken, isCancelled: false }))
    for (const request of requests) this.#open.set(keyOf(request.id)!, request)
    const isOpen = (request: OpenRequest) => this.#open.get(keyOf(request.id)!) === request
    const isAnswered = () => !requests.some(isOpen)
    let reason: NoAnswer
    try {
      await turn
      const signal = AbortSignal.any([closed.signal, this.#stop.signal])
      signal.throwIfAborted()
      const response = await this.#session.post(line, signal)
      if (line.method !== 'initialize') taken()
      reason = await this.#read(response, { requests: requests.filter(isOpen), isAnswered, signal })
      if (line.method === 'notifications/initialized' && response.ok) this.#listen()
    } catch (error) {
      reason = reasonOf(error)
    }
    for (const request of requests) {
      if (!isOpen(request)) continue
      this.#open.delete(keyOf(request.id)!)
      if (!request.isCancelled && !this.#stop.signal.aborted)
        await this.#downstream.noAnswer(request.id, reason)
    }
  }

  /**
   * Forwards the messages of a response to the client. Returns the error for requests that the response does not
   * answer.
   */
  async #read(
    response: Response,
    exchange: {
      readonly requests: readonly OpenRequest[]
      readonly isAnswered: () => boolean
      readonly signal: AbortSignal
    },
  ): Promise<NoAnswer> {
    if (mediaTypeOf(response.headers.get('content-type')) === EVENT_STREAM)
      return this.#follow(response, exchange.isAnswered, exchange.signal)
    const text = await readText(response)
    const [first, ...others] = exchange.requests
    const value = tryParse(text)
    if (isAllMessages(value)) {
      const error = valueAt(value, ['error'])
      const isOfAnother = !exchange.requests.some(({ id }) => id === valueAt(value, ['id']))
      // A server that refuses a request without reading the request does not know its id. Its answer then has no id, or
      // a wrong id.
      const isForIt = error !== undefined && isOfAnother && first !== undefined && others.length === 0
      await this.#emit(isForIt ? JSON.stringify({ jsonrpc: '2.0', id: first.id, error }) : text)
    }
    return refusalOf(response, text)
  }

  /** Reads a stream. If the stream breaks and the server has sent an event id, resumes after that event. */
  async #follow(first: Response, isAnswered: () => boolean, signal: AbortSignal): Promise<NoAnswer> {
    let lastEventId = ''
    let failures = 0
    for (let response = first; ; ) {
      const parser = new SseParser(PROXY_MESSAGE_BYTES_MAX)
      let why = NO_RESULT
      try {
        for await (const text of textsOf(response, parser)) await this.#emit(text)
      } catch (error) {
        why = `the connection broke before the answer: ${causeOf(error)}`
      }
      lastEventId = parser.lastEventId || lastEventId
      if (isAnswered() || signal.aborted || lastEventId === '') return unknown(why)
      const retryMs = parser.retryMs ?? PROXY_HTTP_RETRY_MS
      for (;;) {
        await sleep(Math.min(retryMs, PROXY_HTTP_RETRY_MS_MAX), undefined, { signal })
        try {
          response = await this.#session.listen(lastEventId, signal)
          break
        } catch (error) {
          if (signal.aborted || ++failures > PROXY_HTTP_RESUMES_MAX)
            return unknown(`${why}, and the server cannot be reached to resume it: ${causeOf(error)}`)
        }
      }
      failures = 0
      if (!isStream(response)) {
        await response.body?.cancel()
        return unknown(`${why}, and the server answered HTTP ${response.status} when it was resumed`)
      }
    }
  }

  /**
   * Forwards messages to the client as one line. Line breaks are replaced by spaces, which is safe because JSON has
   * line breaks only between tokens.
   */
  async #emit(text: string): Promise<void> {
    const value = tryParse(text)
    if (!isAllMessages(value)) {
      this.#downstream.say(`the server sent a text that is not an MCP message: ${strayText(text)}`)
      return
    }
    const messages = messagesOf(value)
    for (const each of messages) this.#session.messageHeaders.learn(each)
    await this.#downstream.receive(Buffer.from(`${text.replaceAll(/[\r\n]/g, ' ')}\n`))
    for (const each of messages) {
      const key = keyOf(answeredIdOf(each)) ?? ''
      this.#open.get(key)?.taken()
      this.#open.delete(key)
    }
  }

  /**
   * Cancels a request. In versions with a handshake, the client's own notification cancels it at the server, and an
   * answer may still come. The connection therefore stays open for PROXY_CANCELLED_MS. In later versions, closing the
   * connection cancels the request.
   */
  #cancel(id: unknown): void {
    const request = this.#open.get(keyOf(id) ?? '')
    if (request === undefined) return
    request.isCancelled = true
    if (this.#session.messageHeaders.negotiated === null) request.closed.abort()
    else setTimeout(() => request.closed.abort(), PROXY_CANCELLED_MS).unref()
  }

  /**
   * Reads messages that are not answers. In versions with a handshake, the server sends these messages on a separate
   * stream.
   */
  #listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    void this.#readStreams().finally(() => {
      this.#isListening = false
    })
  }

  async #readStreams(): Promise<void> {
    const { signal } = this.#stop
    let lastEventId = ''
    while (!signal.aborted) {
      const { number } = this.#session
      const parser = new SseParser(PROXY_MESSAGE_BYTES_MAX)
      try {
        const response = await this.#session.listen(lastEventId, signal)
        if (!isStream(response)) {
          await response.body?.cancel()
          return
        }
        for await (const text of textsOf(response, parser)) await this.#emit(text)
      } catch {
        // The error is ignored, because the loop opens the stream again.
      }
      lastEventId = number === this.#session.number ? parser.lastEventId || lastEventId : ''
      const retryMs = Math.min(parser.retryMs ?? PROXY_HTTP_RETRY_MS, PROXY_HTTP_RETRY_MS_MAX)
      await sleep(retryMs, undefined, { signal }).catch(() => {})
    }
  }
}

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d]

/** Returns the bytes of a line without its line break and byte order mark. */
function bodyOf(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] === LINE_FEED || bytes[end - 1] === CARRIAGE_RETURN)) end--
  return withoutMark(bytes.subarray(0, end))
}

function isAllMessages(value: unknown): boolean {
  const messages = messagesOf(value)
  return messages.length > 0 && messages.every(isMessage)
}

function isStream({ ok, headers }: Response): boolean {
  return ok && mediaTypeOf(headers.get('content-type')) === EVENT_STREAM
}

function unknown(why: string): NoAnswer {
  return { why, sent: null, isRefused: false }
}

function reasonOf(error: unknown): NoAnswer {
  return error instanceof LostSessionError
    ? {
        ...unknown(`the server has lost the session, and a new one could not be started: ${error.message}`),
        isRefused: true,
      }
    : unknown(`the server cannot be reached: ${causeOf(error)}`)
}

/**
 * Interprets an HTTP status. With 4xx, 307 and 308, the request was not executed. With 408, 5xx and other redirects, it
 * is unknown whether the request was executed. After 303, for example, the result is at another address. `why` is
 * recorded in clear text, so it contains no text of the server.
 */
function refusalOf({ status, ok, headers }: Response, text: string): NoAnswer {
  if (ok) return { ...unknown(NO_RESULT), sent: text === '' ? null : text }
  const isRefused = (status >= 400 && status < 500 && status !== 408) || status === 307 || status === 308
  const location = status < 400 ? headers.get('location') : null
  const why = `the server answered HTTP ${status}`
  if (location === null) return { why, sent: text === '' ? null : text, isRefused }
  const advice =
    'a redirect to another address. The proxy does not follow it, because headers may contain secrets: if you trust that address, use it with --upstream'
  return { why: `${why}, ${advice}`, sent: location, isRefused }
}

/** Resolves when the promise resolves, or after `ms`. */
async function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  await Promise.race([promise, sleep(ms, undefined, { signal: over.signal, ref: false }).catch(() => {})])
  over.abort()
}
