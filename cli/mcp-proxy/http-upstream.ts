import { setTimeout as sleep } from 'node:timers/promises'
import { type SseEvent, SseParser } from '../../sdk/http/sse.ts'
import { mediaTypeOf } from '../../src/proof/http-fields.ts'
import { valueAt } from '../calls/message.ts'
import { RequestHeaders } from './http-headers.ts'
import {
  PROXY_HTTP_END_MS,
  PROXY_HTTP_REQUESTS_MAX,
  PROXY_HTTP_RETRY_MS,
  PROXY_HTTP_RETRY_MS_MAX,
  PROXY_MESSAGE_BYTES_MAX,
} from './limits.ts'
import type { Ended, Receive, Upstream } from './upstream.ts'

type HttpOptions = {
  readonly url: URL
  readonly headers: readonly (readonly [string, string])[]
  readonly receive: Receive
}

/** A server behind streamable HTTP (MCP 2025-03-26 and later): each line of the client is the body of a request, and each message of an answer a line. */
export function openHttp(options: HttpOptions): Upstream {
  return new HttpUpstream(options)
}

const SESSION = 'mcp-session-id'
const ANY = 'application/json, text/event-stream'

class HttpUpstream implements Upstream {
  readonly ended: Promise<Ended>
  readonly #options: HttpOptions
  readonly #headers = new RequestHeaders()
  readonly #underWay = new Set<Promise<void>>()
  /** By the request's id, as JSON. */
  readonly #requests = new Map<string, AbortController>()
  readonly #stop = new AbortController()
  #session: string | null = null
  #listening = false
  #held: Buffer[] = []
  #resolve: (ended: Ended) => void = () => {}

  constructor(options: HttpOptions) {
    this.#options = options
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  async send(bytes: Buffer): Promise<void> {
    this.#held.push(bytes)
    if (bytes.at(-1) !== 0x0a) return
    this.#sendHeld()
    if (this.#underWay.size >= PROXY_HTTP_REQUESTS_MAX) await Promise.race(this.#underWay)
  }

  #sendHeld(): void {
    const body = withoutEnd(Buffer.concat(this.#held))
    this.#held = []
    if (body.length === 0) return
    const done = this.#post(body).finally(() => this.#underWay.delete(done))
    this.#underWay.add(done)
  }

  end(): void {
    this.#sendHeld()
    void this.#end()
  }

  async #end(): Promise<void> {
    await Promise.race([Promise.all(this.#underWay), sleep(PROXY_HTTP_END_MS, undefined, { ref: false })])
    if (this.#session !== null) {
      const signal = AbortSignal.timeout(PROXY_HTTP_END_MS)
      await this.#fetch({ method: 'DELETE', headers: {}, signal }).catch(() => {})
    }
    this.stop()
  }

  stop(): void {
    this.#stop.abort()
    this.#resolve({ why: 'the connection to the server was closed', isFailure: false })
  }

  async #post(body: Buffer): Promise<void> {
    const message = tryParse(body.toString('utf8'))
    const method = valueAt(message, ['method'])
    const id = method === undefined ? undefined : valueAt(message, ['id'])
    // A request that is closed is cancelled; a server of an older version is told as well.
    if (method === 'notifications/cancelled')
      this.#requests.get(JSON.stringify(valueAt(message, ['params', 'requestId'])))?.abort()
    const closed = new AbortController()
    const key = JSON.stringify(id)
    if (id !== undefined) this.#requests.set(key, closed)
    try {
      const signal = AbortSignal.any([closed.signal, this.#stop.signal])
      const headers = { ...this.#headers.of(message), 'content-type': 'application/json', accept: ANY }
      const response = await this.#fetch({ method: 'POST', headers, body: new Uint8Array(body), signal })
      this.#session = response.headers.get(SESSION) ?? this.#session
      const isAnswered = await this.#read(response, id)
      if (id !== undefined && !isAnswered) await this.#fail(id, describe(response))
      if (method === 'notifications/initialized' && response.ok) this.#listen()
    } catch (error) {
      if (id !== undefined && !closed.signal.aborted && !this.#stop.signal.aborted)
        await this.#fail(id, `the server cannot be reached: ${causeOf(error)}`)
    } finally {
      if (this.#requests.get(key) === closed) this.#requests.delete(key)
    }
  }

  #fetch(request: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: Uint8Array<ArrayBuffer>
    readonly signal: AbortSignal
  }): Promise<Response> {
    const headers = {
      ...request.headers,
      ...(this.#session !== null && { [SESSION]: this.#session }),
      ...Object.fromEntries(this.#options.headers),
    }
    // A header may hold a secret, which goes to the server that was named, and to no other.
    return fetch(this.#options.url, { ...request, headers, redirect: 'manual' })
  }

  /** Whether the answer to the request was among it. */
  async #read(response: Response, id: unknown): Promise<boolean> {
    const type = mediaTypeOf(response.headers.get('content-type'))
    if (type === 'text/event-stream' && response.body !== null)
      return this.#readStream(response.body, id, new SseParser(PROXY_MESSAGE_BYTES_MAX))
    const text = await readText(response)
    if (type !== 'application/json' || text === '') return false
    return this.#emit(text, id)
  }

  async #readStream(body: ReadableStream<Uint8Array>, id: unknown, parser: SseParser): Promise<boolean> {
    let isAnswered = false
    for await (const piece of body as unknown as AsyncIterable<Uint8Array>)
      for (const event of parser.push(piece)) isAnswered = (await this.#emitEvent(event, id)) || isAnswered
    return isAnswered
  }

  async #emitEvent({ type, data }: SseEvent, id: unknown): Promise<boolean> {
    // An empty event only says where to go on.
    return type === 'message' && data !== '' && (await this.#emit(data, id))
  }

  /** Gives a message to the client as a line: an end of a line in JSON is space. Whether it answers the request. */
  async #emit(text: string, id: unknown): Promise<boolean> {
    const message = tryParse(text)
    if (message === undefined) return false
    const messages = Array.isArray(message) ? message : [message]
    for (const each of messages) this.#headers.learn(each)
    await this.#options.receive(Buffer.from(`${text.replaceAll(/[\r\n]/g, ' ')}\n`))
    return messages.some((each) => valueAt(each, ['method']) === undefined && valueAt(each, ['id']) === id)
  }

  /** Answers a request that has no answer: the client would wait for ever. */
  async #fail(id: unknown, message: string): Promise<void> {
    const error = { code: FAILED_CODE, message: `tallystick mcp-proxy: ${message}` }
    await this.#options.receive(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`))
  }

  /** Servers of versions with sessions send what nobody asked for on a stream of its own. */
  #listen(): void {
    if (this.#listening) return
    this.#listening = true
    void (async () => {
      for (let lastEventId = ''; !this.#stop.signal.aborted; ) {
        const parser = new SseParser(PROXY_MESSAGE_BYTES_MAX)
        try {
          const headers = {
            accept: 'text/event-stream',
            ...(lastEventId !== '' && { 'last-event-id': lastEventId }),
          }
          const response = await this.#fetch({ method: 'GET', headers, signal: this.#stop.signal })
          if (!response.ok || response.body === null) return void (await response.body?.cancel())
          await this.#readStream(response.body, undefined, parser)
        } catch {
          // Tried again.
        }
        lastEventId = parser.lastEventId || lastEventId
        const retryMs = Math.min(parser.retryMs ?? PROXY_HTTP_RETRY_MS, PROXY_HTTP_RETRY_MS_MAX)
        await sleep(retryMs, undefined, { signal: this.#stop.signal }).catch(() => {})
      }
    })()
  }
}

/** As JSON-RPC has it for errors that servers define. */
const FAILED_CODE = -32_091

function describe({ status, ok }: Response): string {
  return ok ? 'the server ended its answer without a result' : `the server answered HTTP ${status}`
}

async function readText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    bytes += piece.length
    if (bytes > PROXY_MESSAGE_BYTES_MAX)
      throw new Error(`it answered with more than the ${PROXY_MESSAGE_BYTES_MAX} bytes that are read`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function withoutEnd(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--
  return bytes.subarray(0, end)
}

/** undefined: it is no JSON. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}
