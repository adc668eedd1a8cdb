import { ConnectionError, TallystickError, TimeoutError, UsageError } from '../errors.ts'
import type { Operation } from '../generated/operations.ts'
import { addressOf, type PathParams, parseBaseUrl, type Query } from './address.ts'
import { type Asked, readJson, readRefusal, readText, refuseMediaType } from './answers.ts'
import { RETRIES_DEFAULT, type RetryPolicy, withRetries } from './retries.ts'

export type TransportOptions = {
  /** The server's address; a path of its own is kept. */
  readonly baseUrl: string
  readonly apiKey: string
  /** For an answer, or the beginning of one that is streamed; each attempt has so long. */
  readonly timeoutMs?: number | undefined
  readonly retries?: Partial<RetryPolicy> | undefined
  /** Instead of the runtime's own, for a proxy or a pool of one's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** What any single call may ask for. */
export type CallOptions = {
  /** Stops the call, and the waiting between its attempts; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly retriesMax?: number | undefined
}

/** What a call that writes may ask for besides. */
export type WriteOptions = CallOptions & {
  /** 1 to 255 visible ASCII characters. One is made where none is given, so that a retry never does it twice. */
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context: signed with the record. */
  readonly traceparent?: string | undefined
}

/** What a step of a gated record may ask for besides. */
export type StepOptions = WriteOptions & {
  /** Only if the record still has this version; otherwise ConflictError `version_mismatch`. */
  readonly ifVersion?: number | undefined
}

export type Call = {
  readonly params?: PathParams
  readonly query?: Query
  readonly body?: unknown
  /** Text of JSON that was made already; instead of `body`. */
  readonly text?: string
  readonly options?: StepOptions | undefined
}

const TIMEOUT_MS_DEFAULT = 30_000
const HEADER_VALUE = /^[\x21-\x7e]+$/
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Every request of the library goes through here: authenticated, timed, retried, and its answer understood. */
export class Transport {
  readonly baseUrl: URL
  readonly #apiKey: string
  readonly #timeoutMs: number
  readonly #retries: RetryPolicy
  readonly #fetch: typeof globalThis.fetch

  constructor({ baseUrl, apiKey, timeoutMs, retries, fetch }: TransportOptions) {
    this.baseUrl = parseBaseUrl(baseUrl)
    if (!HEADER_VALUE.test(apiKey))
      throw new UsageError('an API key is needed: `apiKey`, or the variable TALLYSTICK_API_KEY')
    this.#apiKey = apiKey
    this.#timeoutMs = timeoutMs ?? TIMEOUT_MS_DEFAULT
    this.#retries = { ...RETRIES_DEFAULT, ...retries }
    this.#fetch = fetch ?? globalThis.fetch.bind(globalThis)
  }

  /** The answer of an operation that answers JSON. */
  json<T>(operation: Operation, call: Call = {}): Promise<T> {
    return this.#call(operation, call, 'application/json', (response, asked) => readJson<T>(response, asked))
  }

  /** The answer of an operation that answers text, such as a note. */
  text(operation: Operation, mediaType: string, call: Call = {}): Promise<string> {
    return this.#call(operation, call, mediaType, (response, asked) => {
      refuseMediaType(response, mediaType, asked)
      return readText(response, asked)
    })
  }

  /** The answer of an operation that answers a stream, from its first byte on: reading it is the caller's, and takes as long as it takes. */
  stream(operation: Operation, mediaType: string, call: Call = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#call(operation, call, mediaType, async (response, asked) => {
      refuseMediaType(response, mediaType, asked)
      return response.body ?? new Blob([]).stream()
    })
  }

  #call<T>(
    operation: Operation,
    { params = {}, query = {}, body, text, options = {} }: Call,
    accept: string,
    read: (response: Response, asked: Asked) => Promise<T>,
  ): Promise<T> {
    const url = addressOf(this.baseUrl, operation.path, params, query)
    const isWrite = operation.method !== 'GET'
    const idempotencyKey =
      isWrite && operation.idempotent ? (options.idempotencyKey ?? makeIdempotencyKey()) : null
    if (idempotencyKey !== null && !IDEMPOTENCY_KEY.test(idempotencyKey))
      throw new UsageError('an idempotency key has 1 to 255 visible ASCII characters')
    const asked: Asked = {
      name: `${operation.method} ${url.origin}${url.pathname}`,
      idempotencyKey,
      repeatable: operation.idempotent,
    }
    const json = text ?? (body === undefined ? undefined : JSON.stringify(body))
    const request: RequestInit = {
      method: operation.method,
      headers: {
        authorization: `Bearer ${this.#apiKey}`,
        accept,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
        ...(options.ifVersion !== undefined && { 'if-match': `"${options.ifVersion}"` }),
        ...(options.traceparent !== undefined && { traceparent: options.traceparent }),
      },
      // An API key goes to the server that was named, and to no other.
      redirect: 'manual',
      ...(json !== undefined && { body: json }),
    }
    const { retriesMax = this.#retries.retriesMax, timeoutMs = this.#timeoutMs, signal } = options
    return withRetries({ ...this.#retries, retriesMax }, signal, () =>
      this.#attempt(url, request, { asked, timeoutMs, signal }, read),
    )
  }

  async #attempt<T>(
    url: URL,
    request: RequestInit,
    { asked, timeoutMs, signal }: { asked: Asked; timeoutMs: number; signal: AbortSignal | undefined },
    read: (response: Response, asked: Asked) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), timeoutMs)
    const either = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal
    try {
      const response = await this.#fetch(url, { ...request, signal: either })
      if (response.ok) return await read(response, asked)
      throw await readRefusal(response, asked)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof TallystickError) throw error
      throw timeout.signal.aborted ? timedOut(asked, timeoutMs) : disconnected(asked, error)
    } finally {
      clearTimeout(timer)
    }
  }
}

function timedOut({ name, repeatable, idempotencyKey }: Asked, timeoutMs: number): TimeoutError {
  return new TimeoutError(`${name} did not answer within ${timeoutMs} ms`, {
    retryable: repeatable,
    idempotencyKey,
  })
}

/** Of a connection that never came about, nothing can have been done. */
const NEVER_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
]

function disconnected({ name, repeatable, idempotencyKey }: Asked, error: unknown): ConnectionError {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause
  const code = cause?.code ?? (error as { code?: string }).code
  const never = code !== undefined && NEVER_CONNECTED.includes(code)
  const reason = code ?? cause?.message ?? (error as Error).message
  return new ConnectionError(
    never
      ? `${name}: no connection (${reason}); is the server running, and the address right?`
      : `${name}: the connection broke (${reason})`,
    { retryable: repeatable || never, idempotencyKey: never ? null : idempotencyKey, cause: error },
  )
}

/** 128 random bits as hex: needs no secure context, as `crypto.randomUUID` does in browsers. */
export function makeIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
