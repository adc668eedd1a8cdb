import type { BuiltInTypes } from '../generated/built-in-types.ts'

type Intent = BuiltInTypes['agent-action/1']['payload']
type Ended = BuiltInTypes['agent-outcome/1']['payload']
type Decided = BuiltInTypes['approval/1']['payload']

/** An action that an agent is about to begin. */
export type Call = Pick<Intent, 'kind' | 'name'> & {
  /** Where that is: name or URL of an MCP server, host of an API. */
  readonly server?: string | undefined
  /** The call's id, as the framework has it. */
  readonly callId?: string | undefined
  /** Conversation, session or thread. */
  readonly session?: string | undefined
  /** Name of the agent or subagent that acts. */
  readonly agent?: string | undefined
  /** Any value. Recorded by its digest, or with `content` as it is. */
  readonly arguments?: unknown
  /** The program that tells it, with its version; absent: that of the `Actions`. */
  readonly framework?: string | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  /** The action that it is a part of. */
  readonly parent?: Action | undefined
  /** W3C Trace Context; absent: the parent's trace, or a new one. */
  readonly traceparent?: string | undefined
  readonly occurredAt?: Date | string | undefined
}

/**
 * `held`: the deed MUST wait for `permitted`, for the record says that it did. `before`: it may begin sooner, because the record waits in
 * memory or in a spool. `after`: it is done.
 */
export type Told = NonNullable<Intent['told']>

/**
 * How an action ended (docs/reference/outcomes.md). `ok`: it is known to have succeeded. `error`: it is known to have failed. `denied`: it
 * did not begin, because a person, a rule or its caller stopped it. `unknown`: every other case. An error with `ok` does not compile.
 */
export type Outcome = {
  /** Any value. Recorded by its digest, or with `content` as it is. */
  readonly result?: unknown
  /** A class or a code, such as `timeout`: letters, digits and `_ $ . : -`. Default: the class of the error. */
  readonly errorType?: string | undefined
  /** Absent: since `begin`. */
  readonly durationMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly occurredAt?: Date | string | undefined
} & (
  | { readonly status: 'ok'; readonly error?: never }
  | {
      readonly status: Exclude<Ended['status'], 'ok'>
      /**
       * The thrown value. The presence of this member says that something was thrown, even if the value is undefined. The record has its class
       * as `errorType`, and the digest of its text, or with `content` the text.
       */
      readonly error?: unknown
    }
)

/** Outcome of a deed that threw, or whose promise rejected: `error`, or `unknown` if the error means that the caller stopped waiting. */
export function outcomeOfThrown(error: unknown): {
  readonly status: 'error' | 'unknown'
  readonly error: unknown
} {
  return { status: isBrokenOff(error) ? 'unknown' : 'error', error }
}

/** Names of such errors: AbortError, CanceledError, APIUserAbortError, ReadTimeoutError. */
const BROKEN_OFF = /(Abort|Aborted|Cancel|Canceled|Cancelled|Timeout)(Error|Exception)$/
/** Codes of Node, undici and axios, which have one class for all errors: ETIMEDOUT, ECONNABORTED, UND_ERR_HEADERS_TIMEOUT. */
const BROKEN_OFF_CODE = /TIMEDOUT|TIMEOUT|ABORT|CANCEL/

function isBrokenOff(error: unknown): boolean {
  try {
    const { name, constructor: kind, code, cause, message } = error as Error & { code?: unknown }
    return (
      [name, kind?.name].some((name) => typeof name === 'string' && BROKEN_OFF.test(name)) ||
      (typeof code === 'string' && BROKEN_OFF_CODE.test(code)) ||
      // The error of `fetch` itself. Another error is one of the deed, whatever it was caused by.
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

/** Writes what becomes of an action: `Actions`. */
export type Writer = {
  end(action: Action, outcome: Outcome): void
  decide(action: Action, decision: Decision): void
}

/** An action that was begun, and how to say what became of it. Made by `Actions.begin`. */
export class Action {
  /** Without the arguments: an action that is open for long must not keep them in memory. */
  readonly call: Omit<Call, 'arguments'>
  /** Name of its record, until the record has an id. */
  readonly handle: string
  readonly traceparent: string
  readonly depth: number
  /**
   * Resolves when it may begin: at once, or of one that is held as soon as its record is in the ledger. Rejects with NotRecordedError if it is
   * not; its outcome `denied` is then recorded.
   */
  readonly permitted: Promise<unknown>
  /** Id of its record, as soon as the ledger has it; null of one that did not ask for it. Rejects as `permitted` does. */
  readonly recorded: Promise<string | null>
  readonly beganAtMs: number
  /** The action at the top of its tree: itself, if it has no parent. */
  readonly root: Action
  /** Actions below this root that have not ended; empty in any other action. */
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

  /** Its trace's id: all records of a run have the same (`GET /v1/records?traceId=`). */
  get traceId(): string {
    return this.traceparent.slice(3, 35)
  }

  /**
   * Records how the action ended. Only the first call counts. The end of a root also ends all open actions below it that have begun, as
   * `unknown`. Never throws.
   */
  end(outcome: Outcome): void {
    this.#writer.end(this, outcome)
  }

  /** Records a decision about it. Never throws. */
  decide(decision: Decision): void {
    this.#writer.decide(this, decision)
  }

  isOf(writer: Writer): boolean {
    return this.#writer === writer
  }
}
