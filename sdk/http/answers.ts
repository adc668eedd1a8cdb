import { concat } from '../../src/proof/bytes.ts'
import { errorOf, type TallystickError, UnexpectedAnswerError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'

/** More than any answer that is read whole: a page of the largest records. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const PROBLEM_BYTES_MAX = 1024 * 1024
const PROXY_STATUSES = [429, 500, 502, 503, 504]

/** Request that an answer belongs to, and how it can be repeated. */
export type Asked = {
  /** For people: method and address without a query. */
  readonly name: string
  readonly idempotencyKey: string | null
  /** Can be repeated without doing it twice. */
  readonly repeatable: boolean
}

/** The JSON of an answer. Throws what the answer says, or UnexpectedAnswerError. */
export async function readJson<T>(response: Response, asked: Asked): Promise<T> {
  refuseMediaType(response, 'application/json', asked)
  const text = await readText(response, asked)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw unexpected(`${asked.name} answered something that begins as JSON and is none`, asked, { cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as T
  throw wrongServer(`${asked.name} answered JSON that is no object`)
}

/** Throws unless the answer is of this type: a wrong server, or something between, answers pages. */
export function refuseMediaType(response: Response, mediaType: string, { name }: Asked): void {
  const found = response.headers.get('content-type') ?? 'no content type'
  if (found.toLowerCase().startsWith(mediaType)) return
  throw wrongServer(`${name} answered ${response.status} with ${found.slice(0, 100)}, not with ${mediaType}`)
}

/** The error of an answer that says that it was not done. */
export async function readRefusal(response: Response, asked: Asked): Promise<TallystickError> {
  const { status, headers } = response
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'))
  if (headers.get('content-type')?.startsWith('application/problem+json')) {
    const problem = parseProblem(await readText(response, asked, PROBLEM_BYTES_MAX))
    if (problem?.status === status) return errorOf(problem, { retryAfterMs, ...asked })
  }
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return new UnexpectedAnswerError(
      `${asked.name} redirects: give the server's own address, because an API key is sent nowhere else`,
      { retryable: false, idempotencyKey: null },
    )
  }
  if (PROXY_STATUSES.includes(status)) {
    return unexpected(
      `something before the server answered ${asked.name} with ${status}: look whether the server runs, and at the proxy`,
      asked,
      { retryAfterMs },
    )
  }
  return wrongServer(`${asked.name} answered ${status} without saying why`)
}

/** It may be the server's answer, damaged on the way. */
export function unexpected(
  message: string,
  asked: Asked,
  options: { retryAfterMs?: number | null; cause?: unknown } = {},
): UnexpectedAnswerError {
  return new UnexpectedAnswerError(`${message}${lookFirst(asked)}`, {
    retryable: asked.repeatable,
    idempotencyKey: asked.idempotencyKey,
    ...options,
  })
}

/** It is nothing that the server answers: to ask again is of no use. */
export function wrongServer(message: string): UnexpectedAnswerError {
  return new UnexpectedAnswerError(`${message}: check that the address is a Tallystick server's`, {
    retryable: false,
    idempotencyKey: null,
  })
}

/** Advice about a write that nobody answered, and that has no key by which it could be repeated. */
export function lookFirst({ repeatable }: Asked): string {
  return repeatable ? '' : '; whether it was done is not known: look before you repeat it'
}

/** null: the server did not write it. */
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

/** RFC 9110 §10.2.3: seconds, or a date; null for anything else. */
export function parseRetryAfter(text: string | null, nowMs = Date.now()): number | null {
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

/** All of the body as text. An answer without an end must not fill the memory. */
export async function readText(
  response: Response,
  asked: Asked,
  bytesMax = ANSWER_BYTES_MAX,
): Promise<string> {
  const decoder = new TextDecoder()
  const pieces: string[] = []
  for await (const piece of piecesOf(response, asked, bytesMax))
    pieces.push(decoder.decode(piece, { stream: true }))
  pieces.push(decoder.decode())
  return pieces.join('')
}

/** All of the body as bytes. */
export async function readBytes(response: Response, asked: Asked): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of piecesOf(response, asked, ANSWER_BYTES_MAX)) pieces.push(piece)
  return concat(pieces)
}

async function* piecesOf(
  response: Response,
  { name }: Asked,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!response.body) return
  let bytes = 0
  for await (const piece of bytesOf(response.body)) {
    bytes += piece.length
    if (bytes > bytesMax) throw wrongServer(`${name} answered more than ${bytesMax} bytes`)
    yield piece
  }
}

/** A stream's pieces; not every browser's streams are async iterable. An early end cancels the stream. */
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
