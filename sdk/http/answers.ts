import { concat } from '../../src/proof/bytes.ts'
import { mediaTypeOf, retryAfterMsOf } from '../../src/proof/http-fields.ts'
import { errorOf, type TallystickError, UnexpectedAnswerError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'
import { meaningOf } from './statuses.ts'

/** Maximum size of an answer that is read as a whole. A page of the largest records is smaller. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const PROBLEM_BYTES_MAX = 1024 * 1024

/** Facts about a request that its answer and its errors need. */
export type CallInfo = {
  /** Method and address without the query, for messages. */
  readonly name: string
  readonly idempotencyKey: string | null
  /** True if repeating the request cannot take effect twice. */
  readonly repeatable: boolean
}

/** Returns the JSON object of an answer. Throws UnexpectedAnswerError if the answer is not a JSON object. */
export async function readJson<T>(response: Response, asked: CallInfo): Promise<T> {
  refuseMediaType(response, 'application/json', asked)
  const text = await readText(response, asked)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw unexpected(`${asked.name} answered with invalid JSON`, asked, cause)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as T
  throw wrongServer(`${asked.name} answered with JSON that is not an object`, asked, response.status)
}

/**
 * Throws UnexpectedAnswerError if the answer has another media type. This happens with wrong servers and with
 * proxies, which answer with HTML pages.
 */
export function refuseMediaType({ status, headers }: Response, mediaType: string, asked: CallInfo): void {
  const found = headers.get('content-type')
  if (mediaTypeOf(found) === mediaType) return
  const type = found?.slice(0, 100) ?? 'no content type'
  throw wrongServer(`${asked.name} answered ${status} with ${type}, not with ${mediaType}`, asked, status)
}

/**
 * Returns the error for an answer that is not a success: an ApiError for a problem document, otherwise
 * UnexpectedAnswerError.
 */
export async function readRefusal(response: Response, asked: CallInfo): Promise<TallystickError> {
  const { status, headers } = response
  const retryAfterMs = retryAfterMsOf(headers.get('retry-after'), Date.now())
  if (mediaTypeOf(headers.get('content-type')) === 'application/problem+json') {
    const problem = parseProblem(await readText(response, asked, PROBLEM_BYTES_MAX))
    if (problem?.status === status) return errorOf(problem, { retryAfterMs, ...asked })
  }
  const { name, idempotencyKey, repeatable } = asked
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const redirects = `${name} redirects, but the API key is only sent to the named server: use the server's own address`
    return new UnexpectedAnswerError(`${redirects}${adviceToCheckFirst(asked)}`, {
      retryable: false,
      idempotencyKey,
      status: status || null,
    })
  }
  const { passing, nothingDone, advice } = meaningOf(status)
  const what = passing
    ? `something in front of the server answered ${name} with ${status}`
    : `${name} answered ${status} without a reason`
  const outcome = nothingDone ? '; nothing was done' : adviceToCheckFirst(asked)
  return new UnexpectedAnswerError(`${what}: ${advice}${outcome}`, {
    retryable: passing && (repeatable || nothingDone),
    idempotencyKey,
    status,
    nothingDone,
    retryAfterMs,
  })
}

/** Returns the error for an answer that may come from the server, but was damaged on the way. */
export function unexpected(message: string, asked: CallInfo, cause?: unknown): UnexpectedAnswerError {
  return new UnexpectedAnswerError(`${message}${adviceToCheckFirst(asked)}`, {
    retryable: asked.repeatable,
    idempotencyKey: asked.idempotencyKey,
    cause,
  })
}

/**
 * Returns the error for an answer that no Tallystick server gives. The error is not retryable, because a retry is
 * useless. `asked` describes the request. It is null if the request has no key.
 */
export function wrongServer(
  message: string,
  asked: CallInfo | null = null,
  status: number | null = null,
): UnexpectedAnswerError {
  const look = asked ? adviceToCheckFirst(asked) : ''
  return new UnexpectedAnswerError(
    `${message}: check that the address is that of a Tallystick server${look}`,
    {
      retryable: false,
      idempotencyKey: asked?.idempotencyKey ?? null,
      status,
    },
  )
}

/**
 * Returns advice for a write with an unknown outcome that cannot be repeated safely. Returns an empty text for
 * repeatable calls.
 */
export function adviceToCheckFirst({ repeatable }: CallInfo): string {
  return repeatable ? '' : '; it is unknown whether it was done: check before you repeat it'
}

/** Returns the problem document of a server, or null if the text is not one. */
function parseProblem(text: string): Problem | null {
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null
    const isProblem =
      typeof problem?.status === 'number' &&
      typeof problem.retryable === 'boolean' &&
      [problem.code, problem.title, problem.detail, problem.requestId].every((of) => typeof of === 'string')
    return isProblem ? (problem as Problem) : null
  } catch {
    return null
  }
}

/**
 * Returns the whole body as text. Throws if the body is longer than `bytesMax`, because an endless answer must not fill
 * the memory.
 */
export async function readText(
  response: Response,
  asked: CallInfo,
  bytesMax = ANSWER_BYTES_MAX,
): Promise<string> {
  const decoder = new TextDecoder()
  const pieces: string[] = []
  for await (const piece of piecesOf(response, asked, bytesMax))
    pieces.push(decoder.decode(piece, { stream: true }))
  pieces.push(decoder.decode())
  return pieces.join('')
}

/** Returns the whole body as bytes. Throws if the body is longer than ANSWER_BYTES_MAX. */
export async function readBytes(response: Response, asked: CallInfo): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of piecesOf(response, asked, ANSWER_BYTES_MAX)) pieces.push(piece)
  return concat(pieces)
}

async function* piecesOf(
  response: Response,
  asked: CallInfo,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!response.body) return
  let bytes = 0
  for await (const piece of bytesOf(response.body)) {
    bytes += piece.length
    if (bytes > bytesMax)
      throw wrongServer(`${asked.name} answered with more than ${bytesMax} bytes`, asked, response.status)
    yield piece
  }
}

/**
 * Yields the chunks of a stream. It is needed because not every browser's streams are async iterable. If the caller
 * stops early, the stream is cancelled.
 */
export async function* bytesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
