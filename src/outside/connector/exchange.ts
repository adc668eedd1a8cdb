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
   * The peer's Retry-After, at most RETRY_AFTER_MS_MAX; the caller MUST bound it further. null: the header is absent.
   */
  readonly retryAfterMs: number | null
  /**
   * Beginning of the body as text, with any content encoding still applied. null if the peer is on a private network.
   */
  readonly excerpt: string | null
  /** The whole body, if the caller wanted it and all of it came; otherwise null. The body is untrusted. */
  readonly body: Buffer | null
  /** Time since `post` was called. */
  readonly durationMs: number
  /** The answer's Date header as a time. null: the header is absent. */
  readonly dateMs: number | null
  /** How the body ended: `whole`; `long` or `slow`, if it exceeded our limits; or `cut`, if the connection broke. */
  readonly ended: AnswerEnd
}

type AnswerEnd = 'whole' | 'long' | 'slow' | 'cut'

type ExchangeOptions = {
  readonly connection: Connection
  readonly request: Dispatcher.DispatchOptions
  /** The clock with which the answer's Date header is compared. */
  readonly now: () => number
  /** Start of the exchange, on the clock of `performance.now()`. */
  readonly startedAtMs: number
  readonly deadlineMs: number
  readonly signal: AbortSignal
  /** Maximum size of the body that is stored; 0: the caller needs only an excerpt. */
  readonly answerBytesMax: number
  readonly takeMemory: (bytes: number) => boolean
  /** Called once when the exchange has ended. `reusable`: the connection may be used again; otherwise destroy it. */
  readonly release: (reusable: boolean) => void
}

/**
 * One request and its answer on one connection.
 *
 * Resolves once a status and the body have come. The body is bounded in time and size, and a status counts even if
 * the body never ends. Rejects with an OutboundError.
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
    // Copied, because a chunk is a view of a buffer that may be much larger.
    if (wantedBytes > 0) this.#excerpt.push(Buffer.from(chunk.subarray(0, wantedBytes)))
    const { answerBytesMax } = this.#options
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes > Math.max(answerBytesMax, OUTBOUND_BODY_BYTES_MAX)) this.#finish('long')
    else if (answerBytesMax > 0) this.#store(chunk)
  }

  /** Stores a chunk. It takes memory twice: once as a chunk, once in the joined body. */
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

/** Maps a failure of an open connection; `dial` maps earlier ones. */
function explain(error: Error): Error {
  if (error instanceof OutboundError) return error
  // One of our headers is invalid. This is our error, not a failure of the peer.
  if (error instanceof errors.InvalidArgumentError) return error
  if (error instanceof errors.ClientDestroyedError) return new OutboundError('aborted')
  const malformed =
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.ResponseContentLengthMismatchError ||
    // The peer sent an upgrade that we did not request, or more `100 Continue` answers than the filter removes.
    // undici reports both only by this message.
    (error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message))
  return new OutboundError(malformed ? 'malformed_answer' : 'reset')
}
