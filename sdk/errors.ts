import { marked } from '../src/proof/quoted.ts'
import type { Problem } from './generated/api.ts'
import { ADVICE, type ErrorCode } from './generated/errors.ts'

/**
 * Every error that this library throws on purpose. `retryable`: whether the same call may succeed later. `message`
 * tells people what was wrong and what to do about it; programs look at the class, and at `code` if there is one.
 */
export class TallystickError extends Error {
  readonly retryable: boolean
  /** Wait that the server asked for, in milliseconds. */
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

/** An argument of the library is meaningless: nothing was sent. */
export class UsageError extends TallystickError {}

/**
 * The answer with a secret was lost, and the server answers it once. The key or endpoint was made, and nobody has its
 * secret.
 */
export class SecretLostError extends TallystickError {
  /** Id of the API key, or of the webhook. */
  readonly id: string

  constructor(id: string) {
    super(`the secret of ${id} was lost with the first answer. What to do: rotate ${id}, which makes another`)
    this.id = id
  }
}

/** The notarizer's buffer, or its spool, is full: nothing was taken. `await ledger.ready`, then record it. */
export class BufferFullError extends TallystickError {
  constructor(what: string) {
    super(`${what}: nothing was taken. What to do: await \`ready\` before the next record`, {
      retryable: true,
    })
  }
}

/** The spool can't keep what it should, or another process has it. No record was taken. */
export class SpoolError extends TallystickError {}

/** Another process has the spool, or this one has it already. */
export class SpoolInUseError extends SpoolError {}

/**
 * Records that `flush` or `close` waited for were not recorded in time; `cause` is why, if that is known. Nothing is lost by
 * it.
 */
export class NotRecordedError extends TallystickError {}

/** The server answered that it did not do it (RFC 9457). Its subclasses are the families that callers tell apart. */
export class ApiError extends TallystickError {
  readonly status: number
  readonly code: ErrorCode
  /** Names the request in the server's log: tell the operator. */
  readonly requestId: string
  /** As the server sent it, with whatever else the code brings. */
  readonly problem: Problem

  constructor(problem: Problem, retryAfterMs: number | null = null) {
    // A newer server has codes that are not in the table; one that only pretends has any.
    const advice = Object.hasOwn(ADVICE, problem.code) ? `. What to do: ${ADVICE[problem.code]}` : ''
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
/** 403: the key may not do this: it lacks `problem.scope`, the step is another agent's, or the ledger is frozen. */
export class PermissionError extends ApiError {}
/** 404: nothing there that this key may know of. */
export class NotFoundError extends ApiError {}
/** 400, 413, 415, 422, 431: the request would be refused as often as it is sent. */
export class InvalidRequestError extends ApiError {}
/**
 * 409, 412: the current state does not allow it. `state`, `version` and `nextEvents` of a gated record say which steps
 * are allowed.
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
/** 429: nothing was done. */
export class RateLimitError extends ApiError {}
/** 503: nothing was written. */
export class UnavailableError extends ApiError {}
/** 500, and whatever else has no family. */
export class ServerError extends ApiError {}

type UnknownOutcome = {
  readonly retryable: boolean
  readonly idempotencyKey: string | null
  readonly nothingDone?: boolean
  readonly retryAfterMs?: number | null
  readonly cause?: unknown
}

/**
 * Whether it was done is not known. With `idempotencyKey` a write is repeated without being done twice. The class itself is thrown
 * when an attempt had no answer and a later one was refused: `cause` is the refusal.
 */
export class UnknownOutcomeError extends TallystickError {
  /** null: the call took none, or nothing was sent. */
  readonly idempotencyKey: string | null
  /** Nothing was done after all: there was no connection, or the status proves it (docs/reference/client-outcomes.md). */
  readonly nothingDone: boolean

  constructor(message: string, options: UnknownOutcome) {
    const { idempotencyKey, nothingDone = false } = options
    const repeat =
      idempotencyKey === null || nothingDone
        ? ''
        : `; whether it was written is not known: repeat it with the idempotency key ${JSON.stringify(idempotencyKey)}`
    super(message + repeat, options)
    this.idempotencyKey = idempotencyKey
    this.nothingDone = nothingDone
  }
}

/** 503 `outcome_unknown`: the server lost its database before that answered. */
export class OutcomeUnknownError extends UnknownOutcomeError {
  readonly status = 503
  readonly code = 'outcome_unknown'
  readonly requestId: string
  readonly problem: Problem

  constructor(problem: Problem, { idempotencyKey, retryAfterMs, repeatable }: Circumstances) {
    const { requestId } = problem
    const look = repeatable ? '' : '; whether it was done is not known: look before you repeat it'
    super(
      `503 outcome_unknown: the server lost its database before that answered [request ${requestId}]${look}`,
      { retryable: problem.retryable && repeatable, retryAfterMs, idempotencyKey },
    )
    this.requestId = requestId
    this.problem = problem
  }
}
/** No connection, or it broke off. */
export class ConnectionError extends UnknownOutcomeError {}
/** No answer, or not all of it, within `timeoutMs`. */
export class TimeoutError extends UnknownOutcomeError {}
/** Something answered that is not a Tallystick server, or is broken: a proxy's page, a cut-off body, a redirect. */
export class UnexpectedAnswerError extends UnknownOutcomeError {
  /** HTTP status of the answer. null: the answer broke, or was understood only in part. */
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

/** Facts about the refused call. */
type Circumstances = {
  readonly retryAfterMs: number | null
  readonly idempotencyKey: string | null
  /** Can be repeated without doing it twice. */
  readonly repeatable: boolean
}

/** The error that a problem document stands for. */
export function errorOf(problem: Problem, circumstances: Circumstances): TallystickError {
  if (problem.code === 'outcome_unknown') return new OutcomeUnknownError(problem, circumstances)
  const Family = FAMILIES[problem.status] ?? ServerError
  return new Family(problem, circumstances.retryAfterMs)
}
