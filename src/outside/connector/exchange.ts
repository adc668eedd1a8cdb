import { type Dispatcher, errors } from 'undici'
import { httpDateMsOf, retryAfterMsOf } from '../../proof/http-fields.ts'
import type { Connection } from './connection.ts'
import { OutboundError } from './error.ts'
import { excerptOf } from './excerpt.ts'
import {
  OUTBOUND_BODY_BYTES_MAX,
  OUTBOUND_BODY_MS_MAX,
  OUTBOUND_EXCERPT_BYTES_MAX,
  OUTBOUND_INTERIM_ANSWERS_MAX,
  OUTBOUND_REQUEST_MS_MAX,
} from './limits.ts'

export type OutboundAnswer = {
  /** Status of the answer, from 200 to 999. Redirects are not followed. */
  readonly status: number
  /**
   * The peer's Retry-After in ms, at most RETRY_AFTER_MS_MAX. The caller MUST limit it further. null if the header is
   * absent.
   */
  readonly retryAfterMs: number | null
  /**
   * Beginning of the body as text. A content coding such as gzip is not decoded. null if the peer is on a private
   * network.
   */
  readonly excerpt: string | null
  /** The whole body, if the caller wanted it and all of it arrived. Otherwise null. The body is untrusted. */
  readonly body: Buffer | null
  /** Time in ms since `post` was called. */
  readonly durationMs: number
  /** Time in the Date header of the answer. null if the header is absent. */
  readonly dateMs: number | null
  /**
   * How the body ended. `whole`: all of it arrived. `long` or `slow`: it exceeded our limits. `cut`: the connection
   * broke.
   */
  readonly ended: AnswerEnd
}

type AnswerEnd = 'whole' | 'long' | 'slow' | 'cut'

type ExchangeOptions = {
  readonly connection: Connection
  readonly request: Dispatcher.DispatchOptions
  /** The clock with which the Date header of the answer is compared. */
  readonly now: () => number
  /** Start of the exchange, as performance.now(). */
  readonly startedAtMs: number
  readonly deadlineMs: number
  readonly signal: AbortSignal
  /** Maximum size in bytes of the body that is stored. 0 if the caller needs only an excerpt. */
  readonly answerBytesMax: number
  readonly takeMemory: (bytes: number) => boolean
  /**
   * Called once when the exchange has ended. If `reusable` is true, the connection may be used again. Otherwise it must
   * be destroyed.
   */
  readonly release: (reusable: boolean) => void
}

/**
 * One request and its answer on one connection.
 *
 * Resolves when the status and the body have arrived. The body is limited in time and size. The status is returned even
 * if the body never ends. Rejects with an OutboundError.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions
  readonly #answer = Promise.withResolvers<OutboundAnswer>()
  readonly #giveUp = () => this.#fail(new OutboundError('aborted'))
  #timer: NodeJS.Timeout
  #settled = false
  #interimAnswers = 0
  #status: number | null = null
  #retryAfterMs: number | null = null
  #dateMs: number | null = null
  #isPrivate = true
  readonly #excerpt: Buffer[] = []
  readonly #body: Buffer[] = []
  #bodyBytes = 0

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.#timer = setTimeout(() => this.#fail(new OutboundError('timeout')), this.#leftMs())
    options.signal.addEventListener('abort', this.#giveUp, { once: true })
  }

  run(): Promise<OutboundAnswer> {
    if (this.#options.signal.aborted) this.#giveUp()
    else this.#options.connection.dispatch(this.#options.request, this)
    return this.#answer.promise
  }

  get hasAnswerBegun(): boolean {
    return this.#options.connection.hasAnswerBegun
  }

  onRequestStart(): void {}

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      this.#interimAnswers++
      const tooMany = this.#interimAnswers > OUTBOUND_INTERIM_ANSWERS_MAX
      if (tooMany) this.#fail(new OutboundError('malformed_answer'))
      return
    }
    this.#status = status
    const nowMs = this.#options.now()
    const date = headers['date']
    this.#retryAfterMs = retryAfterMsOf(headers['retry-after'], nowMs)
    this.#dateMs = typeof date === 'string' ? httpDateMsOf(date, nowMs) : null
    this.#isPrivate = this.#options.connection.isPrivate
    clearTimeout(this.#timer)
    const bodyMsMax = this.#options.answerBytesMax > 0 ? OUTBOUND_REQUEST_MS_MAX : OUTBOUND_BODY_MS_MAX
    this.#timer = setTimeout(() => this.#finish('slow'), Math.min(bodyMsMax, this.#leftMs()))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const wantedBytes = this.#isPrivate ? 0 : OUTBOUND_EXCERPT_BYTES_MAX - this.#bodyBytes
    // The chunk is copied, because it is a view of a buffer that may be much larger.
    if (wantedBytes > 0) this.#excerpt.push(Buffer.from(chunk.subarray(0, wantedBytes)))
    const { answerBytesMax } = this.#options
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes > Math.max(answerBytesMax, OUTBOUND_BODY_BYTES_MAX)) this.#finish('long')
    else if (answerBytesMax > 0) this.#store(chunk)
  }

  /** Stores a chunk. Its memory is counted twice: for the chunk itself, and for its part of the joined body. */
  #store(chunk: Buffer): void {
    if (this.#options.takeMemory(2 * chunk.length)) this.#body.push(Buffer.from(chunk))
    else this.#fail(new OutboundError('aborted', 'too many answers were being received'))
  }

  onResponseEnd(): void {
    this.#finish('whole')
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#status !== null) this.#finish('cut')
    else this.#fail(explain(error))
  }

  #finish(ended: AnswerEnd): void {
    if (this.#settled) return
    this.#end(ended === 'whole')
    this.#answer.resolve({
      status: this.#status!,
      retryAfterMs: this.#retryAfterMs,
      excerpt: this.#isPrivate ? null : excerptOf(this.#excerpt),
      body: ended !== 'whole' || this.#options.answerBytesMax === 0 ? null : Buffer.concat(this.#body),
      durationMs: Math.round(performance.now() - this.#options.startedAtMs),
      dateMs: this.#dateMs,
      ended,
    })
  }

  #fail(error: Error): void {
    if (this.#settled) return
    this.#end(false)
    this.#answer.reject(error)
  }

  #end(reusable: boolean): void {
    this.#settled = true
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.#giveUp)
    this.#options.release(reusable)
  }

  #leftMs(): number {
    return Math.max(0, this.#options.deadlineMs - performance.now())
  }
}

/** Converts a failure of an open connection. `dial` converts earlier failures. */
function explain(error: Error): Error {
  if (error instanceof OutboundError) return error
  // One of our own headers is invalid. This is a bug here, not a failure of the peer.
  if (error instanceof errors.InvalidArgumentError) return error
  if (error instanceof errors.ClientDestroyedError) return new OutboundError('aborted')
  const malformed =
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.ResponseContentLengthMismatchError ||
    // The peer sent an upgrade that we did not request, or more `100 Continue` answers than the filter removes. Only
    // the message of undici's error shows this.
    (error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message))
  return new OutboundError(malformed ? 'malformed_answer' : 'reset')
}
