import { ApiError, UsageError } from '../errors.ts'
import type { ErrorCode } from '../generated/errors.ts'
import type { Operation } from '../generated/operations.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import { toJson } from '../json.ts'
import { addressOf, type PathParams, parseBaseUrl, type Query } from './address.ts'
import {
  type CallInfo,
  readBytes,
  readJson,
  readRefusal,
  readText,
  refuseMediaType,
  wrongServer,
} from './answers.ts'
import { Doubt, explain } from './failures.ts'
import { KnownSizes } from './known-sizes.ts'
import { Listing } from './listing.ts'
import { Patience } from './patience.ts'
import { parseRetryPolicy, type RetryPolicy, withRetries } from './retries.ts'
import { watchedStream } from './streams.ts'

export type TransportOptions = {
  /** The server's address. It may include a path. */
  readonly baseUrl: string
  /**
   * The key, or a function that returns the key. The function is called before each attempt, so that keys can be
   * rotated while the process runs.
   */
  readonly apiKey: string | (() => string | Promise<string>)
  /**
   * Time limit in ms for the answer of each attempt. If the answer is streamed, it applies to each chunk. Default:
   * 30,000.
   */
  readonly timeoutMs?: number | undefined
  readonly retries?: Partial<RetryPolicy> | undefined
  /** Replaces the runtime's `fetch`, for a proxy or a connection pool. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Signs the agent's entries with the agent's own key (`@tallystick/sdk/signing`). Default: the server signs. */
  readonly signer?: RequestSigner | undefined
  /**
   * True: reads always return the newest state, never an older state of a replica. Use it in short programs, in which
   * the client has not learned the ledger's size from earlier calls.
   */
  readonly fresh?: boolean | undefined
}

export type CallOptions = {
  /** Aborts the call and the waits between its attempts. The call then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly retriesMax?: number | undefined
  /**
   * Minimum number of entries that a read must show, such as `seq + 1` of an event. A client always requires the size
   * that it has written or read before. Throws ConflictError `ledger_smaller` if the ledger has fewer entries.
   */
  readonly ifKnownSize?: number | undefined
}

export type WriteOptions = CallOptions & {
  /** 1 to 255 visible ASCII characters. Default: a random key. Because of the key, a retry never takes effect twice. */
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context. It is signed with the record. */
  readonly traceparent?: string | undefined
}

export type StepOptions = WriteOptions & {
  /** Expected version of the record. Throws ConflictError `version_mismatch` if the record has another version. */
  readonly ifVersion?: number | undefined
}

export type Call = {
  readonly params?: PathParams
  readonly query?: Query
  readonly body?: unknown
  /** JSON text, instead of `body`. */
  readonly text?: string
  /** Body of another media type, instead of `body`. */
  readonly bytes?: { readonly mediaType: string; readonly content: Uint8Array }
  readonly options?: StepOptions | undefined
  /**
   * True if the record is to be created as gated, false if it is to be notarized. The signer uses this value of the
   * caller, so that no server can change it.
   */
  readonly gated?: boolean
  /** Error codes that the caller expects. A call that fails with one of these codes is not retried. */
  readonly unretried?: readonly ErrorCode[]
  /** Version that the caller already has. While the record has this version, the server answers 304. */
  readonly knownVersion?: number
  /** Maximum time in ms for which the server may delay the answer. It is added to the timeout. */
  readonly answerDelayMs?: number
}

/** Signs an agent's entries before they are sent. */
export type RequestSigner = {
  /** Returns the body of the call with its envelope, or null if calls of this operation are not signed. */
  sign(http: Transport, operation: Operation, call: Call): Promise<object | null>
  /** Forgets the cached facts about the signer, because the server reported other facts. */
  forget(http: Transport): void
}

/**
 * Errors that last until an operator acts. They are not retried. Otherwise the caller would get them only after minutes
 * of retries.
 */
const UNRETRIED_CODES: ReadonlySet<ErrorCode> = new Set(['ledger_closed'])
/**
 * Maximum number of signatures for one call. The limit is needed because, with a wrong clock, the server refuses every
 * signature.
 */
const SIGNATURES_MAX = 3
const TIMEOUT_MS_DEFAULT = 30_000
const HEADER_VALUE = /^[\x21-\x7e]+$/
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Sends every request of the SDK: adds the key, enforces timeouts, retries, and interprets the answer. */
export class Transport {
  readonly baseUrl: URL
  readonly #apiKey: () => string | Promise<string>
  readonly #timeoutMs: number
  readonly #retries: RetryPolicy
  readonly #fetch: typeof globalThis.fetch
  readonly #signer: RequestSigner | undefined
  readonly #isFresh: boolean
  readonly #knownSizes = new KnownSizes()

  constructor({ baseUrl, apiKey, timeoutMs, retries, fetch, signer, fresh }: TransportOptions) {
    this.baseUrl = parseBaseUrl(baseUrl)
    this.#apiKey = typeof apiKey === 'function' ? apiKey : () => apiKey
    if (typeof apiKey !== 'function') requireKey(apiKey)
    this.#timeoutMs = parseTimeout(timeoutMs ?? TIMEOUT_MS_DEFAULT)
    this.#retries = parseRetryPolicy(retries)
    this.#signer = signer
    this.#isFresh = fresh ?? false
    const chosen = fetch ?? globalThis.fetch?.bind(globalThis)
    if (typeof chosen !== 'function')
      throw new UsageError('the option `fetch` must be a function like fetch of the runtime')
    this.#fetch = chosen
  }

  json<T>(operation: Operation, call: Call = {}): Promise<T> {
    const doubt = new Doubt()
    const send = (asked: Call) => this.#call(operation, asked, 'application/json', whole(readJson<T>), doubt)
    return this.#signer ? this.#signed(this.#signer, operation, call, send) : send(call)
  }

  list<T>(operation: Operation, call: Call): Listing<T> {
    return new Listing((cursor) => this.json(operation, { ...call, query: { ...call.query, cursor } }))
  }

  /**
   * Signs and sends a call. Every attempt sends the same bytes. The error `signed_time_refused` means that nothing
   * was written. The call is then signed again under the same Idempotency-Key, because the signature is not part of
   * the request's identity.
   */
  async #signed<T>(
    signer: RequestSigner,
    operation: Operation,
    call: Call,
    send: (call: Call) => Promise<T>,
  ): Promise<T> {
    const { text: _, ...rest } = call
    const options = {
      ...call.options,
      idempotencyKey: call.options?.idempotencyKey ?? makeIdempotencyKey(),
    }
    for (let signatures = 1; ; signatures++) {
      const body = await signer.sign(this, operation, call)
      if (body === null) return send(call)
      try {
        return await send({ ...rest, body, options })
      } catch (error) {
        const code = error instanceof ApiError ? error.code : null
        if (code === 'statement_mismatch') signer.forget(this)
        if (code !== 'signed_time_refused' || signatures === SIGNATURES_MAX) throw error
      }
    }
  }

  /** Like `json`, but returns null if the record still has `knownVersion`. */
  jsonIfMoved<T>(operation: Operation, call: Call & { readonly knownVersion: number }): Promise<T | null> {
    const read = whole<T | null>((response, asked) =>
      response.status === 304 ? Promise.resolve(null) : readJson<T>(response, asked),
    )
    return this.#call(operation, call, 'application/json', read)
  }

  /** Returns the text answer of an operation, such as a note. */
  text(operation: Operation, mediaType: string, call: Call = {}): Promise<string> {
    const read = whole(async (response, asked) => {
      refuseMediaType(response, mediaType, asked)
      return readText(response, asked)
    })
    return this.#call(operation, call, mediaType, read)
  }

  /** Returns the binary answer of an operation, such as a receipt. */
  bytes(operation: Operation, mediaType: string, call: Call = {}): Promise<Uint8Array> {
    const read = whole(async (response, asked) => {
      refuseMediaType(response, mediaType, asked)
      return readBytes(response, asked)
    })
    return this.#call(operation, call, mediaType, read)
  }

  /** Performs an operation without an answer. Resolves after status 204. */
  done(operation: Operation, call: Call = {}): Promise<void> {
    const read = whole(async (response, asked) => {
      const { status } = response
      if (status === 204) return
      await response.body?.cancel()
      throw wrongServer(`${asked.name} answered ${status}, not 204`, asked, status)
    })
    return this.#call(operation, call, 'application/json', read)
  }

  /**
   * Returns the answer of an operation as a stream, once it begins. The timeout applies to each chunk, not to the
   * whole stream.
   */
  stream(operation: Operation, mediaType: string, call: Call = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#call(operation, call, mediaType, async (response, asked, patience) => {
      refuseMediaType(response, mediaType, asked)
      const body = response.body ?? new Blob([]).stream()
      return watchedStream(body, patience, (error) => explain(error, asked, patience))
    })
  }

  retriesOf({ retriesMax }: CallOptions): RetryPolicy {
    return parseRetryPolicy({ ...this.#retries, retriesMax: retriesMax ?? this.#retries.retriesMax })
  }

  async #call<T>(
    operation: Operation,
    call: Call,
    accept: string,
    read: Read<T>,
    doubt = new Doubt(),
  ): Promise<T> {
    const { params = {}, query = {}, options = {}, unretried = [], answerDelayMs = 0 } = call
    const url = addressOf(this.baseUrl, operation.path, params, query)
    const { repeat, method } = operation
    const idempotencyKey = repeat === 'with-key' ? (options.idempotencyKey ?? makeIdempotencyKey()) : null
    const asked: CallInfo = {
      name: `${method} ${url.origin}${url.pathname}`,
      idempotencyKey,
      repeatable: repeat !== 'never',
    }
    const request = makeRequest(method, call, accept, idempotencyKey)
    const { signal } = options
    const timeoutMs = answerDelayMs + parseTimeout(options.timeoutMs ?? this.#timeoutMs)
    const isFinal = (error: unknown) =>
      error instanceof ApiError && (UNRETRIED_CODES.has(error.code) || unretried.includes(error.code))
    const attempt = async () => {
      try {
        return await this.#attempt(url, request, { asked, timeoutMs, signal }, read)
      } catch (error) {
        doubt.note(error)
        throw error
      }
    }
    try {
      return await withRetries(this.retriesOf(options), signal, attempt, isFinal)
    } catch (error) {
      throw signal?.aborted ? error : doubt.ending(error, idempotencyKey)
    }
  }

  /** Returns the headers that require a minimum state for a read. */
  #demands(method: string, apiKey: string, ifKnownSize: number): Record<string, string> {
    if (method !== 'GET') return {}
    const size = Math.max(ifKnownSize, this.#knownSizes.sizeOf(apiKey) ?? 0)
    return {
      ...(size > 0 && { 'if-known-size': `${size}` }),
      ...(this.#isFresh && { 'cache-control': 'no-cache' }),
    }
  }

  async #attempt<T>(
    url: URL,
    { headers, ifKnownSize, ...request }: Request,
    {
      asked,
      timeoutMs,
      signal: callers,
    }: { asked: CallInfo; timeoutMs: number; signal: AbortSignal | undefined },
    read: Read<T>,
  ): Promise<T> {
    const apiKey = requireKey(await this.#apiKey())
    const authorization = `Bearer ${apiKey}`
    const sized = { ...headers, ...this.#demands(request.method, apiKey, ifKnownSize), authorization }
    const patience = new Patience(timeoutMs, callers)
    try {
      const { signal } = patience
      const response = await this.#fetch(url, { ...request, headers: sized, signal })
      this.#knownSizes.note(apiKey, response.headers)
      const isSame = response.status === 304 && 'if-none-match' in headers
      if (!response.ok && !isSame) throw await readRefusal(response, asked)
      return await read(response, asked, patience)
    } catch (error) {
      patience.giveUp()
      if (error instanceof ApiError && error.code === 'ledger_smaller') this.#knownSizes.forget(apiKey)
      throw explain(error, asked, patience)
    }
  }
}

/** A request without the headers that each attempt adds: the key, and the size that the ledger must have. */
type Request = RequestInit & {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly ifKnownSize: number
}

type Read<T> = (response: Response, asked: CallInfo, patience: Patience) => Promise<T>

/** Makes a `Read` from a function that reads the whole answer. The timeout ends when the answer is complete. */
function whole<T>(read: (response: Response, asked: CallInfo) => Promise<T>): Read<T> {
  return async (response, asked, patience) => {
    const answer = await read(response, asked)
    patience.end()
    return answer
  }
}

function makeRequest(method: string, call: Call, accept: string, idempotencyKey: string | null): Request {
  const { ifVersion, ifKnownSize = 0, traceparent } = call.options ?? {}
  if (idempotencyKey !== null && !IDEMPOTENCY_KEY.test(idempotencyKey))
    throw new UsageError('an idempotency key must have 1 to 255 visible ASCII characters')
  if (ifVersion !== undefined && !(Number.isSafeInteger(ifVersion) && ifVersion > 0))
    throw new UsageError('`ifVersion` must be the `version` of a record, a whole number')
  if (!(Number.isSafeInteger(ifKnownSize) && ifKnownSize >= 0))
    throw new UsageError('`ifKnownSize` must be a number of entries, a whole number')
  if (traceparent !== undefined && !HEADER_VALUE.test(traceparent))
    throw new UsageError('a traceparent must have only visible ASCII characters')
  const json = call.text ?? (call.body === undefined ? undefined : toJson(call.body))
  const body = call.bytes?.content ?? json
  return {
    method,
    headers: {
      accept,
      ...(body !== undefined && { 'content-type': call.bytes?.mediaType ?? 'application/json' }),
      ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
      ...(ifVersion !== undefined && { 'if-match': `"${ifVersion}"` }),
      ...(call.knownVersion !== undefined && { 'if-none-match': `"${call.knownVersion}"` }),
      ...(traceparent !== undefined && { traceparent }),
    },
    ifKnownSize,
    // Redirects are never followed, because the API key must reach only the named server.
    redirect: 'manual',
    ...(body !== undefined && { body: body as NonNullable<RequestInit['body']> }),
  }
}

/**
 * Returns the key without the white space around it, which files and variables often have. Throws UsageError, whose
 * text does not show the key.
 */
function requireKey(apiKey: unknown): string {
  const key = typeof apiKey === 'string' ? apiKey.trim() : ''
  if (key === '')
    throw new UsageError(
      'no API key: set the option `apiKey`, or the environment variable TALLYSTICK_API_KEY',
    )
  const at = key.search(/[^\x21-\x7e]/)
  if (at < 0) return key
  throw new UsageError(
    `the API key has a space, a control character or a non-ASCII letter after its first ${at} characters: is it one complete key?`,
  )
}

function parseTimeout(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs
  throw new UsageError('`timeoutMs` must be a number of milliseconds above 0')
}
