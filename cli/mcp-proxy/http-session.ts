import { SseParser } from '../../sdk/http/sse.ts'
import { mediaTypeOf } from '../../src/proof/http-fields.ts'
import { valueAt } from '../calls/message.ts'
import { readText, tryParse } from './http-body.ts'
import { RequestHeaders } from './http-headers.ts'
import { answeredIdOf, messagesOf, requestIdOf } from './json-rpc.ts'
import { PROXY_MESSAGE_BYTES_MAX } from './limits.ts'

/** A line of the client, which becomes a request body. */
export type Line = { readonly body: Buffer; readonly value: unknown; readonly method: unknown }

type SessionOptions = {
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  /** Signal that aborts the session's own requests. */
  readonly signal: AbortSignal
  /** Called when a new session has replaced a lost one. */
  readonly onRenewed: () => void
}

/** The server lost the session, and a new session could not be started. The server did not execute the request. */
export class LostSessionError extends Error {}

const SESSION = 'mcp-session-id'
const ANY = 'application/json, text/event-stream'
export const EVENT_STREAM = 'text/event-stream'

/**
 * Sends the requests of one client to a streamable HTTP server. If the server has lost the session, for example after a
 * restart, the proxy starts a new session with the client's own `initialize` and `notifications/initialized`. Then the
 * proxy sends the refused request once more.
 */
export class HttpSession {
  readonly messageHeaders = new RequestHeaders()
  readonly #options: SessionOptions
  #id: string | null = null
  /** Number of sessions so far. */
  #number = 0
  #initialize: Line | null = null
  #initialized: Line | null = null
  #renewal: Promise<void> | null = null

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** The number of the current session. It rises with each new session. */
  get number(): number {
    return this.#number
  }

  /**
   * Sends a message. Throws LostSessionError if the session is lost and cannot be replaced. Throws the errors of fetch.
   */
  async post(line: Line, signal: AbortSignal): Promise<Response> {
    if (line.method === 'initialize') return this.#begin(line, signal)
    const [id, number] = [this.#id, this.#number]
    const response = await this.#post(line, id, signal)
    if (!(await this.#isLost(response, id))) {
      if (line.method === 'notifications/initialized' && response.ok) this.#initialized = line
      return response
    }
    await response.body?.cancel()
    await this.#renew(number)
    return this.#post(line, this.#id, signal)
  }

  /** Opens a stream of messages that are not answers. With `lastEventId`, the stream resumes after that event. */
  listen(lastEventId: string, signal: AbortSignal): Promise<Response> {
    const headers = { accept: EVENT_STREAM, ...(lastEventId !== '' && { 'last-event-id': lastEventId }) }
    return this.#fetch({ method: 'GET', headers, signal }, this.#id)
  }

  /** Ends the session at the server. */
  async close(timeoutMs: number): Promise<void> {
    if (this.#id === null) return
    const request = { method: 'DELETE', headers: {}, signal: AbortSignal.timeout(timeoutMs) }
    await this.#fetch(request, this.#id).catch(() => {})
  }

  async #begin(line: Line, signal: AbortSignal): Promise<Response> {
    const response = await this.#post(line, null, signal)
    if (response.ok) {
      this.#initialize = line
      this.#id = response.headers.get(SESSION)
      this.#number++
    }
    return response
  }

  /**
   * Returns whether the server lost the session. The specification uses HTTP 404 for this (MCP, Transports, Session
   * Management). Servers that follow the official examples answer 400 instead, with "session" in the text.
   */
  async #isLost(response: Response, id: string | null): Promise<boolean> {
    if (response.status === 404) return id !== null
    if (response.status !== 400 || this.#initialize === null) return false
    return /session/i.test(await readText(response.clone()))
  }

  /** Starts a new session. If several requests were refused at the same time, they share the new session. */
  async #renew(number: number): Promise<void> {
    if (number !== this.#number) return
    this.#renewal ??= this.#beginAgain().finally(() => {
      this.#renewal = null
    })
    await this.#renewal
  }

  async #beginAgain(): Promise<void> {
    try {
      if (this.#initialize === null) throw new Error('the client has sent no initialize')
      const { signal } = this.#options
      const response = await this.#post(this.#initialize, null, signal)
      const version = valueAt(await answerOf(response, this.#initialize), ['result', 'protocolVersion'])
      if (version !== this.messageHeaders.negotiated)
        throw new Error(
          `it answered HTTP ${response.status} with protocol version ${JSON.stringify(version) ?? 'none'}`,
        )
      const id = response.headers.get(SESSION)
      if (this.#initialized !== null) {
        const taken = await this.#post(this.#initialized, id, signal)
        await taken.body?.cancel()
        if (!taken.ok) throw new Error(`it answered HTTP ${taken.status} to notifications/initialized`)
      }
      this.#id = id
      this.#number++
    } catch (error) {
      throw new LostSessionError(causeOf(error))
    }
    this.#options.onRenewed()
  }

  #post({ body, value }: Line, id: string | null, signal: AbortSignal): Promise<Response> {
    const headers = {
      ...this.messageHeaders.headersOf(value),
      'content-type': 'application/json',
      accept: ANY,
    }
    return this.#fetch({ method: 'POST', headers, body: new Uint8Array(body), signal }, id)
  }

  #fetch(
    request: {
      readonly method: string
      readonly headers: Record<string, string>
      readonly body?: Uint8Array<ArrayBuffer>
      readonly signal: AbortSignal
    },
    id: string | null,
  ): Promise<Response> {
    const headers = new Headers({ ...this.messageHeaders.headersOf(null), ...request.headers })
    if (id !== null) headers.set(SESSION, id)
    for (const [name, value] of this.#options.headers) headers.set(name, value)
    // Redirects are not followed, because a header may contain a secret that only the configured server may get.
    return fetch(this.#options.url, { ...request, headers, redirect: 'manual' })
  }
}

/** Returns the answer to the proxy's own request. Returns undefined if the response contains no answer. */
async function answerOf(response: Response, { value }: Line): Promise<unknown> {
  const id = requestIdOf(value)
  for await (const text of textsOf(response, new SseParser(PROXY_MESSAGE_BYTES_MAX)))
    for (const each of messagesOf(tryParse(text))) if (answeredIdOf(each) === id) return each
  return undefined
}

/**
 * Yields the message texts of a response: each event of a stream, or the whole body if the response is not a stream.
 */
export async function* textsOf(
  response: Response,
  parser: SseParser,
): AsyncGenerator<string, void, undefined> {
  if (mediaTypeOf(response.headers.get('content-type')) !== EVENT_STREAM) {
    yield await readText(response)
    return
  }
  // Events without data are skipped, because such an event only carries an id for resuming.
  for await (const piece of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>)
    for (const { type, data } of parser.push(piece)) if (type === 'message' && data !== '') yield data
}

/** Returns the message of the innermost error. The message of fetch itself is always "fetch failed". */
export function causeOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}
