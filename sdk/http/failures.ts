import { ApiError, ConnectionError, TallystickError, TimeoutError, UnknownOutcomeError } from '../errors.ts'
import { type Asked, lookFirst } from './answers.ts'
import type { Patience } from './patience.ts'

/** Error for the caller about an attempt that broke off: the reason of the signal, if that was the cause. */
export function explain(error: unknown, asked: Asked, patience: Patience): unknown {
  patience.throwIfCallerStopped()
  if (error instanceof TallystickError) return error
  return patience.timedOut ? timedOut(asked, patience.timeoutMs) : disconnected(asked, error)
}

function timedOut(asked: Asked, timeoutMs: number): TimeoutError {
  const { name, repeatable, idempotencyKey } = asked
  return new TimeoutError(
    `${name} did not answer within ${timeoutMs} ms: look at the server's load, or give it a longer timeoutMs${lookFirst(asked)}`,
    { retryable: repeatable, idempotencyKey },
  )
}

/** Codes of connections that were never made: nothing can have been done. */
const NEVER_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
]

function disconnected(asked: Asked, error: unknown): ConnectionError {
  const { name, repeatable, idempotencyKey } = asked
  const cause = (error as { cause?: { code?: string; message?: string } }).cause
  const code = cause?.code ?? (error as { code?: string }).code
  // fetch gives no reason for a 407 (Fetch §4.4).
  const reason =
    code ?? (cause ? cause.message || 'no reason given: a proxy that asks for authentication?' : `${error}`)
  if (code !== undefined && NEVER_CONNECTED.includes(code)) {
    return new ConnectionError(
      `${name}: no connection (${reason}); is the server running, and the address right?`,
      { retryable: true, idempotencyKey: null, nothingDone: true, cause: error },
    )
  }
  return new ConnectionError(`${name}: the connection broke (${reason})${lookFirst(asked)}`, {
    retryable: repeatable,
    idempotencyKey,
    cause: error,
  })
}

/** Statuses that a server may answer before it looks up the idempotency key: they say nothing about an earlier attempt. */
const BEFORE_THE_KEY: ReadonlySet<number> = new Set([401, 403, 421, 429])

/** Remembers whether an attempt of a call may have been done: what a later attempt meets does not undo it. */
export class Doubt {
  #mayBeDone = false

  note(error: unknown): void {
    this.#mayBeDone ||= isUnknown(error)
  }

  /** The error that ends the call: as it is, or UnknownOutcomeError with the key if an earlier attempt may have been done. */
  ending(error: unknown, idempotencyKey: string | null): unknown {
    if (!this.#mayBeDone || idempotencyKey === null) return error
    const isKnown =
      error instanceof ApiError ? error.status < 500 && !BEFORE_THE_KEY.has(error.status) : isUnknown(error)
    if (isKnown) return error
    const { message } = error as Error
    const { retryable = false, retryAfterMs = null } = error instanceof TallystickError ? error : {}
    return new UnknownOutcomeError(`${message}; an earlier attempt had no answer`, {
      retryable,
      idempotencyKey,
      retryAfterMs,
      cause: error,
    })
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof UnknownOutcomeError && !error.nothingDone
}
