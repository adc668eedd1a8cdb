import { ConnectionError, TallystickError, TimeoutError } from '../errors.ts'
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
  const reason = code ?? cause?.message ?? (error as Error).message
  if (code !== undefined && NEVER_CONNECTED.includes(code)) {
    return new ConnectionError(
      `${name}: no connection (${reason}); is the server running, and the address right?`,
      { retryable: true, idempotencyKey: null, cause: error },
    )
  }
  return new ConnectionError(`${name}: the connection broke (${reason})${lookFirst(asked)}`, {
    retryable: repeatable,
    idempotencyKey,
    cause: error,
  })
}
