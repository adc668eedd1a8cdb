import { namedMembers } from '../src/proof/named-members.ts'
import { marked } from '../src/proof/quoted.ts'
import type { Problem } from './generated/api.ts'
import { ADVICE, type ErrorCode } from './generated/errors.ts'

/**
 * Base class of every error that the SDK throws on purpose.
 *
 * `retryable` is true if the same call may succeed later. `message` says what was wrong and what to do. Programs check
 * the class, and `code` if the error has one.
 */
export class TallystickError extends Error {
  readonly retryable: boolean
  /** Delay in ms that the server asked for, or null if it asked for no delay. */
  readonly retryAfterMs: number | null

  constructor(
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(marked(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.retryable = options.retryable ?? false
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}

/** An argument is invalid. Nothing was sent. */
export class UsageError extends TallystickError {}

/**
 * The answer with a secret was lost, and the server returns a secret only once. The key or webhook exists, but nobody
 * knows its secret.
 */
export class SecretLostError extends TallystickError {
  /** Id of the API key, or of the webhook. */
  readonly id: string

  constructor(id: string) {
    super(`the secret of ${id} was lost with the first answer. What to do: rotate ${id}, to get a new secret`)
    this.id = id
  }
}

/**
 * The notarizer's buffer or spool is full. The record was not accepted: wait with `await notarizer.ready`, then
 * record it again.
 */
export class BufferFullError extends TallystickError {
  constructor(what: string) {
    super(`${what}: the record was not accepted. What to do: await \`ready\` before the next record`, {
      retryable: true,
    })
  }
}

/** The spool cannot store records, or another process uses it. No record was accepted. */
export class SpoolError extends TallystickError {}

/** The spool is already open, in another process or in this process. */
export class SpoolInUseError extends SpoolError {}

/**
 * Records were not recorded within the time of `flush` or `close`. `cause` is the reason, if it is known. No record
 * is lost.
 */
export class NotRecordedError extends TallystickError {}

/**
 * The server refused the call with a problem document (RFC 9457). Each subclass covers the statuses that callers
 * handle in the same way.
 */
export class ApiError extends TallystickError {
  readonly status: number
  readonly code: ErrorCode
  /** Identifies the request in the server's log. Give it to the operator. */
  readonly requestId: string
  /** The problem document as the server sent it, with all members that belong to its code. */
  readonly problem: Problem

  constructor(problem: Problem, retryAfterMs: number | null = null) {
    // `hasOwn` is needed, because `code` may be any text: a newer server may send codes that are not in the table, and
    // a hostile server a name such as `toString`.
    const todo = Object.hasOwn(ADVICE, problem.code) ? ADVICE[problem.code] : undefined
    const advice = todo === undefined ? '' : `. What to do: ${todo}${namedMembers(todo, problem)}`
    const detail = problem.detail || problem.title
    const where = problem.path ? ` (at ${problem.path})` : ''
    const wait = retryAfterMs === null ? '' : ` (in ${Math.ceil(retryAfterMs / 1000)} s)`
    super(
      `${problem.status} ${problem.code}: ${detail}${where}${advice}${wait} [request ${problem.requestId}]`,
      { retryable: problem.retryable, retryAfterMs },
    )
    this.status = problem.status
    this.code = problem.code
    this.requestId = problem.requestId
    this.problem = problem
  }
}

/** 401: the key is missing, wrong, expired or revoked. */
export class AuthenticationError extends ApiError {}
/**
 * 403: the key may not do this. It lacks a scope, the step belongs to another agent, or the ledger is frozen. The
 * message names the scopes that would do, or the party.
 */
export class PermissionError extends ApiError {}
/** 404: the object does not exist, or this key may not see it. */
export class NotFoundError extends ApiError {}
/** 400, 413, 415, 422, 431: the request is invalid. If it is repeated, it fails again. */
export class InvalidRequestError extends ApiError {}
/**
 * 409, 412: the current state does not allow the call. For a gated record, `state`, `version` and `nextEvents` say
 * which steps are allowed.
 */
export class ConflictError extends ApiError {
  get state(): Problem['state'] {
    return this.problem.state
  }
  get version(): Problem['version'] {
    return this.problem.version
  }
  get nextEvents(): Problem['nextEvents'] {
    return this.problem.nextEvents
  }
}
/** 429: the rate limit is exceeded. Nothing was done. */
export class RateLimitError extends ApiError {}
/** 503: the server is unavailable. Nothing was written. */
export class UnavailableError extends ApiError {}
/** 500, and all statuses without a class of their own. */
export class ServerError extends ApiError {}

type UnknownOutcome = {
  readonly retryable: boolean
  readonly idempotencyKey: string | null
  readonly nothingDone?: boolean
  readonly retryAfterMs?: number | null
  readonly cause?: unknown
}

/**
 * It is unknown whether the call took effect.
 *
 * Repeating a write with `idempotencyKey` is safe, because the write cannot take effect twice. UnknownOutcomeError
 * itself, and not a subclass, is thrown if one attempt got no answer and a later attempt was refused. `cause` is then
 * the refusal.
 */
export class UnknownOutcomeError extends TallystickError {
  /** Idempotency key of the call. null if the call has no idempotency key, or if nothing was sent. */
  readonly idempotencyKey: string | null
  /**
   * True if the call certainly had no effect: there was no connection, or the status proves it
   * (docs/reference/client-outcomes.md).
   */
  readonly nothingDone: boolean

  constructor(message: string, options: UnknownOutcome) {
    const { idempotencyKey, nothingDone = false } = options
    const repeat =
      idempotencyKey === null || nothingDone
        ? ''
        : `; it is unknown whether it was written: repeat it with the idempotency key ${JSON.stringify(idempotencyKey)}`
    super(message + repeat, options)
    this.idempotencyKey = idempotencyKey
    this.nothingDone = nothingDone
  }
}

/** 503 `outcome_unknown`: the server lost its database connection before the database answered. */
export class OutcomeUnknownError extends UnknownOutcomeError {
  readonly status = 503
  readonly code = 'outcome_unknown'
  readonly requestId: string
  readonly problem: Problem

  constructor(problem: Problem, { idempotencyKey, retryAfterMs, repeatable }: Circumstances) {
    const { requestId } = problem
    const look = repeatable ? '' : '; it is unknown whether it was done: check before you repeat it'
    super(
      `503 outcome_unknown: the server lost its database connection before the answer [request ${requestId}]${look}`,
      { retryable: problem.retryable && repeatable, retryAfterMs, idempotencyKey },
    )
    this.requestId = requestId
    this.problem = problem
  }
}
/** No connection was made, or the connection was lost. */
export class ConnectionError extends UnknownOutcomeError {}
/** The answer did not arrive completely within `timeoutMs`. */
export class TimeoutError extends UnknownOutcomeError {}
/**
 * The answer does not come from a working Tallystick server. It is, for example, a proxy's page, a cut-off body or a
 * redirect.
 */
export class UnexpectedAnswerError extends UnknownOutcomeError {
  /** HTTP status of the answer. null if the answer was incomplete, or only some of it was understood. */
  readonly status: number | null

  constructor(message: string, options: UnknownOutcome & { status?: number | null }) {
    super(message, options)
    this.status = options.status ?? null
  }
}

const FAMILIES: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
  431: InvalidRequestError,
  503: UnavailableError,
}

type Circumstances = {
  readonly retryAfterMs: number | null
  readonly idempotencyKey: string | null
  /** True if repeating the call cannot take effect twice. */
  readonly repeatable: boolean
}

export function errorOf(problem: Problem, circumstances: Circumstances): TallystickError {
  if (problem.code === 'outcome_unknown') return new OutcomeUnknownError(problem, circumstances)
  const Family = FAMILIES[problem.status] ?? ServerError
  return new Family(problem, circumstances.retryAfterMs)
}
