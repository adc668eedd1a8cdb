import { ApiError, ConnectionError, TallystickError, TimeoutError, UnknownOutcomeError } from '../errors.ts'
import { adviceToCheckFirst, type CallInfo } from './answers.ts'
import type { Patience } from './patience.ts'

/**
 * Returns the error that the caller gets for a failed attempt. If the caller has aborted the call, throws the reason of
 * the abort.
 */
export function explain(error: unknown, asked: CallInfo, patience: Patience): unknown {
  patience.throwIfCallerStopped()
  if (error instanceof TallystickError) return error
  return patience.timedOut ? timedOut(asked, patience.timeoutMs) : disconnected(asked, error)
}

function timedOut(asked: CallInfo, timeoutMs: number): TimeoutError {
  const { name, repeatable, idempotencyKey } = asked
  return new TimeoutError(
    `${name} did not answer within ${timeoutMs} ms: check the server's load, or use a longer timeoutMs${adviceToCheckFirst(asked)}`,
    { retryable: repeatable, idempotencyKey },
  )
}

/** Codes of connections that were never established, so that the server cannot have done anything. */
const NEVER_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
]

function disconnected(asked: CallInfo, error: unknown): ConnectionError {
  const { name, repeatable, idempotencyKey } = asked
  const { code, reason } = reasonOf(error)
  if (code !== null && NEVER_CONNECTED.includes(code)) {
    return new ConnectionError(
      `${name}: no connection (${code}); is the server running, and is the address right?`,
      { retryable: true, idempotencyKey: null, nothingDone: true, cause: error },
    )
  }
  return new ConnectionError(`${name}: the connection broke (${reason})${adviceToCheckFirst(asked)}`, {
    retryable: repeatable,
    idempotencyKey,
    cause: error,
  })
}

const CAUSES_MAX = 4

/**
 * Returns the innermost code of an error and its causes. Also returns a text for people with that code and the
 * innermost message.
 */
function reasonOf(error: unknown): { readonly code: string | null; readonly reason: string } {
  let code: string | null = null
  let message = `${error}`
  for (let at = error, causes = 0; typeof at === 'object' && at !== null && causes <= CAUSES_MAX; causes++) {
    const found = at as { readonly code?: unknown; readonly message?: unknown; readonly cause?: unknown }
    // Only text is used as a code, because the code of a DOMException is a number.
    if (typeof found.code === 'string' && found.code !== '') code = found.code
    if (causes > 0) message = `${found.message ?? ''}`
    at = found.cause
  }
  const said = [code, message].filter((part) => part !== null && part !== '').join(': ')
  // The reason may be missing, because fetch hides status 407 and gives no reason for it (Fetch §4.4).
  return { code, reason: said || 'no reason given; perhaps a proxy requires authentication' }
}

/**
 * Statuses that a server may answer before it checks the idempotency key. These statuses do not prove that an earlier
 * attempt had no effect.
 */
const BEFORE_THE_KEY: ReadonlySet<number> = new Set([401, 403, 421, 429])

/** Remembers whether an attempt of a call may have taken effect. A later failure does not change that. */
export class Doubt {
  #mayBeDone = false

  note(error: unknown): void {
    this.#mayBeDone ||= isUnknown(error)
  }

  /**
   * Returns the error that ends the call: `error` itself, or UnknownOutcomeError with the key if an earlier attempt
   * may have taken effect.
   */
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
