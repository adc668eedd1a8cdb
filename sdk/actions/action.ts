import type { BuiltInTypes } from '../generated/built-in-types.ts'

type Intent = BuiltInTypes['agent-action/1']['payload']
type OutcomePayload = BuiltInTypes['agent-outcome/1']['payload']
type Decided = BuiltInTypes['approval/1']['payload']

/** An action that an agent is about to begin. */
export type Call = Pick<Intent, 'kind' | 'name'> & {
  /** Name or URL of the MCP server, or host of the API. */
  readonly server?: string | undefined
  /** Id that the framework gave the call. */
  readonly callId?: string | undefined
  /** Id of the conversation, session or thread. */
  readonly session?: string | undefined
  readonly agent?: string | undefined
  /** Any value. The record contains its digest, or the value itself if `content` is set. */
  readonly arguments?: unknown
  /** Name and version of the reporting program. Default: `framework` of the `Actions`. */
  readonly framework?: string | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  /** Action that this action is part of. */
  readonly parent?: Action | undefined
  /** Trace of the action, as W3C Trace Context. Default: the parent's trace, or a new one. */
  readonly traceparent?: string | undefined
  readonly occurredAt?: Date | string | undefined
}

/**
 * Says when the record is written, relative to the action.
 *
 * - `held`: the caller MUST wait for `permitted` before it acts. The record states that the caller waited.
 * - `before`: the action may begin before its record is in the ledger, because the record waits in memory or in a
 *   spool.
 * - `after`: the action has ended already.
 */
export type Told = NonNullable<Intent['told']>

/**
 * How an action ended (docs/reference/outcomes.md). With TypeScript, an error together with `ok` does not compile.
 *
 * - `ok`: the action is known to have succeeded.
 * - `error`: the action is known to have failed.
 * - `denied`: the action did not begin, because a person, a rule or its caller stopped it.
 * - `unknown`: every other case.
 */
export type Outcome = {
  /** Any value. The record contains its digest, or the value itself if `content` is set. */
  readonly result?: unknown
  /** A class or a code, such as `timeout`: letters, digits and `_ $ . : -`. Default: the class of the error. */
  readonly errorType?: string | undefined
  /** Duration in milliseconds. Default: the time since `begin`. */
  readonly durationMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly occurredAt?: Date | string | undefined
} & (
  | { readonly status: 'ok'; readonly error?: never }
  | {
      readonly status: Exclude<OutcomePayload['status'], 'ok'>
      /**
       * The thrown value. If this member is present, a value was thrown, even if the value is undefined. The record
       * contains the class of the error as `errorType`, and the digest of its text, or the text itself if `content`
       * is set.
       */
      readonly error?: unknown
    }
)

/**
 * Returns the outcome of an action that threw, or whose promise rejected. The status is `unknown` if the error means
 * that the caller stopped waiting (abort, cancellation, timeout), otherwise `error`.
 */
export function outcomeOfThrown(error: unknown): {
  readonly status: 'error' | 'unknown'
  readonly error: unknown
} {
  return { status: isBrokenOff(error) ? 'unknown' : 'error', error }
}

/**
 * Matches names of errors which mean that the caller stopped waiting: AbortError, CanceledError, APIUserAbortError,
 * ReadTimeoutError.
 */
const BROKEN_OFF = /(Abort|Aborted|Cancel|Canceled|Cancelled|Timeout)(Error|Exception)$/
/**
 * Matches codes of errors which mean that the caller stopped waiting: ETIMEDOUT, ECONNABORTED, UND_ERR_HEADERS_TIMEOUT.
 * Codes are needed because Node, undici and axios use one class for all errors.
 */
const BROKEN_OFF_CODE = /TIMEDOUT|TIMEOUT|ABORT|CANCEL/

function isBrokenOff(error: unknown): boolean {
  try {
    const { name, constructor: kind, code, cause, message } = error as Error & { code?: unknown }
    return (
      [name, kind?.name].some((name) => typeof name === 'string' && BROKEN_OFF.test(name)) ||
      (typeof code === 'string' && BROKEN_OFF_CODE.test(code)) ||
      // The cause is checked only for the error of `fetch` itself. Any other error is a failure of the action, whatever
      // its cause is.
      (name === 'TypeError' && message === 'fetch failed' && cause !== error && isBrokenOff(cause))
    )
  } catch {
    return false
  }
}

export type Decision = Pick<Decided, 'decision' | 'by'> & {
  readonly why?: string | undefined
  readonly lasts?: Decided['lasts'] | undefined
  readonly occurredAt?: Date | string | undefined
}

/** Writes the records of an action. Implemented by `Actions`. */
export type Writer = {
  end(action: Action, outcome: Outcome): void
  decide(action: Action, decision: Decision): void
}

/** An action that has begun. `Actions.begin` returns it. */
export class Action {
  /** The call without its arguments. They are left out because a long-running action would keep them in memory. */
  readonly call: Omit<Call, 'arguments'>
  /** Identifies the record until the record has an id. */
  readonly handle: string
  readonly traceparent: string
  readonly depth: number
  /**
   * Resolves when the action may begin: at once, or for a `held` action when its record is in the ledger. Rejects
   * with NotRecordedError if the record was not written. The outcome `denied` is then recorded.
   */
  readonly permitted: Promise<unknown>
  /**
   * Resolves with the record's id when the record is in the ledger. Resolves with null if `begin` was called without
   * `isAwaited`. Rejects like `permitted`.
   */
  readonly recorded: Promise<string | null>
  readonly beganAtMs: number
  /** Root of the tree that the action belongs to. An action without a parent is its own root. */
  readonly root: Action
  /** Open actions below this root. The set is always empty for an action that is not a root. */
  readonly open = new Set<Action>()
  readonly #writer: Writer

  constructor(
    writer: Writer,
    given: Pick<Action, 'call' | 'handle' | 'traceparent' | 'depth' | 'permitted' | 'recorded' | 'beganAtMs'>,
  ) {
    this.#writer = writer
    this.call = given.call
    this.handle = given.handle
    this.traceparent = given.traceparent
    this.depth = given.depth
    this.permitted = given.permitted
    this.recorded = given.recorded
    this.beganAtMs = given.beganAtMs
    this.root = given.call.parent?.root ?? this
  }

  /** Trace id. All records of a run have the same trace id (`GET /v1/records?traceId=`). */
  get traceId(): string {
    return this.traceparent.slice(3, 35)
  }

  /**
   * Records how the action ended. Only the first call counts. If the action is a root, open actions below it end as
   * `unknown`, except those that have not begun yet. Never throws.
   */
  end(outcome: Outcome): void {
    this.#writer.end(this, outcome)
  }

  /** Records a decision about the action. Never throws. */
  decide(decision: Decision): void {
    this.#writer.decide(this, decision)
  }

  isOf(writer: Writer): boolean {
    return this.#writer === writer
  }
}
