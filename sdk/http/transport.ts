import { ApiError, UsageError } from '../errors.ts'
import type { ErrorCode } from '../generated/errors.ts'
import type { Operation } from '../generated/operations.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import { toJson } from '../json.ts'
import { addressOf, type PathParams, parseBaseUrl, type Query } from './address.ts'
import {
  type Asked,
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
  /** The server's address; a path of its own is kept. */
  readonly baseUrl: string
  /** Or what gives it, asked before each attempt: a key that is rotated while the process runs. */
  readonly apiKey: string | (() => string | Promise<string>)
  /** For an answer, or for the next piece of one that is streamed; each attempt has so long. */
  readonly timeoutMs?: number | undefined
  readonly retries?: Partial<RetryPolicy> | undefined
  /** Instead of the runtime's own, for a proxy or a pool of one's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Signs what the agent does with a key of its own (`@tallystick/sdk/signing`); absent: the server signs. */
  readonly signer?: RequestSigner | undefined
  /** Whether reads always rest on the newest state, and so on no replica: for programs that end before they could remember a size. */
  readonly fresh?: boolean | undefined
}

/** Options of every call. */
export type CallOptions = {
  /** Stops the call, and the waiting between its attempts; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly retriesMax?: number | undefined
  /**
   * Fewest entries of the ledger that a read shows, such as `seq + 1` of an event. By itself a client demands what it has written
   * or read before. ConflictError `ledger_smaller`: the ledger has fewer.
   */
  readonly ifKnownSize?: number | undefined
}

/** Options of calls that write. */
export type WriteOptions = CallOptions & {
  /** 1 to 255 visible ASCII characters. One is made where none is given, so that a retry never does it twice. */
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context: signed with the record. */
  readonly traceparent?: string | undefined
}

/** Options of steps of a gated record. */
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
  /** A body that is no JSON; instead of `body`. */
  readonly bytes?: { readonly mediaType: string; readonly content: Uint8Array }
  readonly options?: StepOptions | undefined
  /** Whether the record is to be created, not notarized: the caller's word, which no server can change. */
  readonly gated?: boolean
  /** Answers, not obstacles: no retry because of these. */
  readonly unretried?: readonly ErrorCode[]
  /** Version of the record that the caller has: 304 while it is the same. */
  readonly knownVersion?: number
  /** How long the server may hold the answer back, beyond the time for it. */
  readonly heldMs?: number
}

/** Signs what an agent does, before it is sent. */
export type RequestSigner = {
  /** Body of the call with its envelope; null: such calls are not signed. */
  sign(http: Transport, operation: Operation, call: Call): Promise<object | null>
  /** Forgets who signs: the server says that it is somebody else by now. */
  forget(http: Transport): void
}

/** These last until an operator has acted: the caller should know, not wait for minutes. */
const OPERATORS: ReadonlySet<ErrorCode> = new Set(['ledger_closed'])
/** With a clock that is off it is refused as often as it is signed. */
const SIGNATURES_MAX = 3
const TIMEOUT_MS_DEFAULT = 30_000
const HEADER_VALUE = /^[\x21-\x7e]+$/
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Every request of the library goes through here: authenticated, timed, retried, and its answer understood. */
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
    if (typeof chosen !== 'function') throw new UsageError('fetch is a function like that of the runtime')
    this.#fetch = chosen
  }

  /** The answer of an operation that answers JSON. */
  json<T>(operation: Operation, call: Call = {}): Promise<T> {
    const doubt = new Doubt()
    const send = (asked: Call) => this.#call(operation, asked, 'application/json', whole(readJson<T>), doubt)
    return this.#signer ? this.#signed(this.#signer, operation, call, send) : send(call)
  }

  /** The list of an operation that answers pages. */
  list<T>(operation: Operation, call: Call): Listing<T> {
    return new Listing((cursor) => this.json(operation, { ...call, query: { ...call.query, cursor } }))
  }

  /**
   * Every attempt of a call sends the same bytes. If they come too late, nothing was written, and they are signed anew under the same
   * Idempotency-Key, for which a signature makes no other request.
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

  /** The same, or null where the record still has `knownVersion`. */
  jsonIfMoved<T>(operation: Operation, call: Call & { readonly knownVersion: number }): Promise<T | null> {
    const read = whole<T | null>((response, asked) =>
      response.status === 304 ? Promise.resolve(null) : readJson<T>(response, asked),
    )
    return this.#call(operation, call, 'application/json', read)
  }

  /** The answer of an operation that answers text, such as a note. */
  text(operation: Operation, mediaType: string, call: Call = {}): Promise<string> {
    const read = whole(async (response, asked) => {
      refuseMediaType(response, mediaType, asked)
      return readText(response, asked)
    })
    return this.#call(operation, call, mediaType, read)
  }

  /** The answer of an operation that answers bytes, such as a receipt. */
  bytes(operation: Operation, mediaType: string, call: Call = {}): Promise<Uint8Array> {
    const read = whole(async (response, asked) => {
      refuseMediaType(response, mediaType, asked)
      return readBytes(response, asked)
    })
    return this.#call(operation, call, mediaType, read)
  }

  /** An operation that answers nothing, and has done it when this returns. */
  done(operation: Operation, call: Call = {}): Promise<void> {
    const read = whole(async (response, asked) => {
      const { status } = response
      if (status === 204) return
      await response.body?.cancel()
      throw wrongServer(`${asked.name} answered ${status}, not 204`, asked, status)
    })
    return this.#call(operation, call, 'application/json', read)
  }

  /** The answer of an operation that answers a stream, once it begins. Its length is its own; each piece of it is waited for as an answer is. */
  stream(operation: Operation, mediaType: string, call: Call = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#call(operation, call, mediaType, async (response, asked, patience) => {
      refuseMediaType(response, mediaType, asked)
      const body = response.body ?? new Blob([]).stream()
      return watchedStream(body, patience, (error) => explain(error, asked, patience))
    })
  }

  /** How a call with these options is retried. */
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
    const { params = {}, query = {}, options = {}, unretried = [], heldMs = 0 } = call
    const url = addressOf(this.baseUrl, operation.path, params, query)
    const { repeat, method } = operation
    const idempotencyKey = repeat === 'with-key' ? (options.idempotencyKey ?? makeIdempotencyKey()) : null
    const asked: Asked = {
      name: `${method} ${url.origin}${url.pathname}`,
      idempotencyKey,
      repeatable: repeat !== 'never',
    }
    const request = makeRequest(method, call, accept, idempotencyKey)
    const { signal } = options
    const timeoutMs = heldMs + parseTimeout(options.timeoutMs ?? this.#timeoutMs)
    const isFinal = (error: unknown) =>
      error instanceof ApiError && (OPERATORS.has(error.code) || unretried.includes(error.code))
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

  /** Headers of a read: what it must rest on. */
  #demands(method: string, apiKey: string, ifKnownSize: number): Record<string, string> {
    if (method !== 'GET') return {}
    const size = Math.max(ifKnownSize, this.#knownSizes.of(apiKey) ?? 0)
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
    }: { asked: Asked; timeoutMs: number; signal: AbortSignal | undefined },
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

/** A request without its key, which each attempt adds, and without what only its ledger says. */
type Request = RequestInit & {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly ifKnownSize: number
}

type Read<T> = (response: Response, asked: Asked, patience: Patience) => Promise<T>

/** Reader of a whole answer. */
function whole<T>(read: (response: Response, asked: Asked) => Promise<T>): Read<T> {
  return async (response, asked, patience) => {
    const answer = await read(response, asked)
    patience.end()
    return answer
  }
}

function makeRequest(method: string, call: Call, accept: string, idempotencyKey: string | null): Request {
  const { ifVersion, ifKnownSize = 0, traceparent } = call.options ?? {}
  if (idempotencyKey !== null && !IDEMPOTENCY_KEY.test(idempotencyKey))
    throw new UsageError('an idempotency key has 1 to 255 visible ASCII characters')
  if (ifVersion !== undefined && !(Number.isSafeInteger(ifVersion) && ifVersion > 0))
    throw new UsageError('ifVersion is the `version` of a record')
  if (!(Number.isSafeInteger(ifKnownSize) && ifKnownSize >= 0))
    throw new UsageError('ifKnownSize is a number of entries')
  if (traceparent !== undefined && !HEADER_VALUE.test(traceparent))
    throw new UsageError('a traceparent is visible ASCII characters')
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
    // An API key goes to the server that was named, and to no other.
    redirect: 'manual',
    ...(body !== undefined && { body: body as NonNullable<RequestInit['body']> }),
  }
}

/** The key without white space around it, which files and variables often have. Throws UsageError, without the key. */
function requireKey(apiKey: unknown): string {
  const key = typeof apiKey === 'string' ? apiKey.trim() : ''
  if (key === '') throw new UsageError('an API key is needed: `apiKey`, or the variable TALLYSTICK_API_KEY')
  const at = key.search(/[^\x21-\x7e]/)
  if (at < 0) return key
  throw new UsageError(
    `the API key has a space, a control character or a letter beyond ASCII behind its first ${at} characters: is it one key, and whole?`,
  )
}

function parseTimeout(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs
  throw new UsageError('timeoutMs is a number of milliseconds, more than 0')
}
