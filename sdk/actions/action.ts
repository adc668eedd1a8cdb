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

export type Outcome = {
  /** Absent: `ok`, or `error` if there is an `error`. */
  readonly status?: Ended['status'] | undefined
  /** Any value. Recorded by its digest, or with `content` as it is. */
  readonly result?: unknown
  /** The error that was thrown. */
  readonly error?: unknown
  /** Absent: since `begin`. */
  readonly durationMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly occurredAt?: Date | string | undefined
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
  readonly call: Call
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
  }

  /** Its trace's id: all records of a run have the same (`GET /v1/records?traceId=`). */
  get traceId(): string {
    return this.traceparent.slice(3, 35)
  }

  /** Records how it ended: the first time that it is called. Never throws. */
  end(outcome: Outcome = {}): void {
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
