import { errorOf, type TallystickError, UnexpectedAnswerError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'

/** More than any answer that is read whole: a page of the largest records. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const PROXY_STATUSES = [500, 502, 503, 504]

/** What an answer is read for: who asked, and how the asking can be repeated. */
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
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw unexpected(`${asked.name} answered something that begins as JSON and is none`, asked, cause)
  }
}

/** Throws unless the answer is of this type: a wrong server, or something between, answers pages. */
export function refuseMediaType(response: Response, mediaType: string, asked: Asked): void {
  const found = response.headers.get('content-type') ?? 'no content type'
  if (found.startsWith(mediaType)) return
  throw new UnexpectedAnswerError(
    `${asked.name} answered ${response.status} with ${found}, not with ${mediaType}: check that the address is a Tallystick server's`,
    { retryable: false, idempotencyKey: null },
  )
}

/** The error of an answer that says that it was not done. */
export async function readRefusal(response: Response, asked: Asked): Promise<TallystickError> {
  const { status } = response
  if (response.headers.get('content-type')?.startsWith('application/problem+json')) {
    const problem = parseProblem(await readText(response, asked))
    if (problem?.status === status) {
      const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
      return errorOf(problem, { retryAfterMs, idempotencyKey: asked.idempotencyKey })
    }
  }
  await response.body?.cancel()
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return new UnexpectedAnswerError(
      `${asked.name} redirects: give the server's own address, because an API key is sent nowhere else`,
      { retryable: false, idempotencyKey: null },
    )
  }
  if (PROXY_STATUSES.includes(status))
    return unexpected(`something before the server answered ${asked.name} with ${status}`, asked)
  return new UnexpectedAnswerError(
    `${asked.name} answered ${status} without saying why: check that the address is a Tallystick server's`,
    { retryable: false, idempotencyKey: null },
  )
}

function unexpected(message: string, { repeatable, idempotencyKey }: Asked, cause?: unknown) {
  return new UnexpectedAnswerError(message, { retryable: repeatable, idempotencyKey, cause })
}

function parseProblem(text: string): Problem | null {
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null
    const isProblem = typeof problem?.code === 'string' && typeof problem.status === 'number'
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
export async function readText(response: Response, asked: Asked): Promise<string> {
  if (!response.body) return ''
  const decoder = new TextDecoder()
  const pieces: string[] = []
  let bytes = 0
  for await (const piece of bytesOf(response.body)) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX)
      throw unexpected(`${asked.name} answered more than ${ANSWER_BYTES_MAX} bytes`, {
        ...asked,
        repeatable: false,
      })
    pieces.push(decoder.decode(piece, { stream: true }))
  }
  pieces.push(decoder.decode())
  return pieces.join('')
}

/** A stream's pieces; not every browser's streams are async iterable. Whoever stops early cancels the stream. */
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
