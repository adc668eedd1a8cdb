import { sha256 } from '@noble/hashes/sha2.js'
import { toHex } from '../../src/proof/bytes.ts'
import { Tallystick } from '../client.ts'
import { NotRecordedError } from '../errors.ts'
import { TIMER_MS_MAX } from '../http/patience.ts'
import type { RecordOptions } from '../notarizer/items.ts'
import type { Notarizer } from '../notarizer/notarizer.ts'
import type { NotarizerOptions, NotarizerStats } from '../notarizer/options.ts'
import type { WaitOptions } from '../notarizer/wait.ts'
import type { AnyTypes } from '../typed.ts'
import {
  Action,
  type Call,
  type Decision,
  type Outcome,
  outcomeOfThrown,
  type Told,
  type Writer,
} from './action.ts'
import {
  attributesOf,
  type ContentOptions,
  contentOf,
  defined,
  type ErrorMembers,
  errorOf,
  errorType,
  isOfDigest,
  referencesOf,
  short,
} from './content.ts'
import { follow } from './follow.ts'

export type ActionsOptions = Omit<NotarizerOptions, 'onError'> & {
  /** Client that sends the records. Default: a client made from TALLYSTICK_URL and TALLYSTICK_API_KEY. */
  readonly tallystick?: Tallystick | undefined
  /** Name and version of the reporting program. Every record contains it. */
  readonly framework?: string | undefined
  /** True: records contain arguments and results themselves, each up to 48 KiB, instead of their digests. */
  readonly content?: boolean | undefined
  /**
   * True: an action begins only when its record is in the ledger, and is denied otherwise. Default: actions do not
   * wait.
   */
  readonly failClosed?: boolean | undefined
  /** Maximum time in ms that an action waits for its record if `failClosed` is set. Default: 10,000. */
  readonly holdMsMax?: number | undefined
  /**
   * Called for failed attempts, and for records that could not be accepted. Default: `console.error`, as for a
   * notarizer.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

const HOLD_MS_MAX = 10_000
/**
 * Time in ms that `close` waits for open actions if `timeoutMs` is not given. With `timeoutMs`, `close` waits half of
 * that time for open actions and uses the rest to send.
 */
const OPEN_MS_MAX = 5_000
/**
 * Maximum number of open actions. The limit is needed because some actions may never end. Above the limit the oldest
 * action ends as `unknown`.
 */
const OPEN_MAX = 10_000
/**
 * Maximum depth of an action. The server accepts record trees with 16 levels, and an outcome takes one level. An action
 * that would be deeper gets its ancestor at this depth as its parent.
 */
const ACTION_DEPTH_MAX = 14
const NAME_CHARS_MAX = 512
const ID_CHARS_MAX = 256
const FRAMEWORK_CHARS_MAX = 128
const REASON_CHARS_MAX = 4_096

/**
 * Returns whether `digest` is the digest of `value`. Never throws.
 *
 * `digest` is a member of a record, such as `payload.resultDigest`. If its member `of` is `json`, pass the JSON text
 * as `value`. Returns false if `of` is `none`, or if `digest` is not a digest.
 */
export function matchesDigest(value: unknown, digest: unknown): boolean {
  return isOfDigest(value, digest, sha256Hex)
}

const sha256Hex = (bytes: Uint8Array) => toHex(sha256(bytes))

/**
 * Records what agents do: an action before it begins, its outcome afterwards, and approvals between them.
 *
 * The records have the types `agent-action/1`, `agent-outcome/1` and `approval/1`, and form the tree of the run.
 *
 *     const actions = new Actions()
 *     const found = await actions.run({ kind: 'tool', name: 'search', arguments: query }, () => search(query))
 *
 * Recording never throws into the agent. Only with `failClosed` do `run` and `permitted` throw.
 */
export class Actions implements Writer {
  readonly #failClosed: boolean
  readonly #notarizer: Notarizer<AnyTypes>
  readonly #framework: string | undefined
  readonly #content: ContentOptions
  readonly #holdMsMax: number
  readonly #onError: ((error: unknown) => unknown) | undefined
  readonly #open = new Set<Action>()
  readonly #ended = new WeakSet<Action>()
  /** Actions that have not begun yet, because they wait for their record. */
  readonly #waiting = new WeakSet<Action>()
  #onIdle: (() => void) | undefined
  /** Maps the handle of a record to a callback, for records whose id a caller awaits. */
  readonly #awaited = new Map<string, (id: string | null, error?: unknown) => void>()
  /**
   * Number of records lost since the last accepted record. The next record states this number, so that the ledger
   * shows the gap.
   */
  #lost = 0

  constructor(options: ActionsOptions = {}) {
    const { tallystick = new Tallystick(), framework, content = false, failClosed = false } = options
    this.#failClosed = failClosed
    this.#framework = short(framework, FRAMEWORK_CHARS_MAX)
    this.#content = { include: content, sha256: sha256Hex }
    this.#holdMsMax = options.holdMsMax ?? HOLD_MS_MAX
    this.#onError = options.onError
    const { onRecorded, onRefused } = options
    this.#notarizer = tallystick.notarizer({
      ...options,
      onRecorded: (batch) => {
        for (const { tag, id } of batch.records) if (tag !== undefined) this.#awaited.get(tag)?.(id)
        return onRecorded?.(batch)
      },
      onRefused: (record, error) => {
        if (record.tag !== undefined) this.#awaited.get(record.tag)?.(null, error)
        return onRefused ? onRefused(record, error) : complain(`refused: ${error.message}`)
      },
    })
  }

  /** Value of `told` for an action that can wait for its record: `held` with `failClosed`, otherwise `before`. */
  get toldFirst(): Told {
    return this.#failClosed ? 'held' : 'before'
  }

  /**
   * Begins an action, calls `deed`, and records how the action ended.
   *
   * `deed` gets the action, so that actions within it can name it as their parent. If the result is a generator, an
   * async iterable or a stream, the action ends when the result ends. `run` returns the same object, but for a
   * ReadableStream a new stream that reads the original. Throws the errors of `deed`, and NotRecordedError with
   * `failClosed`.
   */
  async run<Result>(call: Call, deed: (action: Action) => Result | Promise<Result>): Promise<Result> {
    const action = this.begin(call, this.toldFirst)
    await action.permitted
    let result: Result
    try {
      result = await deed(action)
    } catch (error) {
      action.end(outcomeOfThrown(error))
      throw error
    }
    return follow(result, (outcome) => action.end(outcome))
  }

  /** Records an action and returns it. With `isAwaited`, the action's `recorded` resolves with the record's id. */
  begin(call: Call, told: Told = 'before', isAwaited = told === 'held'): Action {
    const parent = call.parent && ancestorWithRoom(call.parent)
    const handle = crypto.randomUUID()
    const traceparent = call.traceparent ?? makeTraceparent(call.parent?.traceId)
    const payload = {
      ...this.#payloadOf(call),
      ...contentOf('arguments', call.arguments, this.#content),
      told,
    }
    const options = {
      ...optionsOf(call, traceparent),
      handle,
      ...(parent?.isOf(this) && { parentHandle: parent.handle }),
    }
    const recorded = isAwaited ? this.#await(payload, options, handle) : Promise.resolve(null)
    if (!isAwaited) this.#record('agent-action/1', payload, options)
    recorded.then(
      () => this.#waiting.delete(action),
      (error) => {
        if (told === 'held') action.end({ status: 'denied', error })
      },
    )
    const permitted = told === 'held' ? recorded : Promise.resolve()
    const depth = parent ? parent.depth + 1 : 0
    const { arguments: _recorded, ...described } = call
    const action = new Action(this, {
      call: described,
      handle,
      traceparent,
      depth,
      permitted,
      recorded,
      beganAtMs: performance.now(),
    })
    if (told === 'held') this.#waiting.add(action)
    this.#open.add(action)
    if (action.root !== action) action.root.open.add(action)
    if (this.#open.size > OPEN_MAX) this.#write(this.#open.values().next().value!, UNSEEN)
    return action
  }

  end(action: Action, outcome: Outcome): void {
    this.#write(action, outcome)
    // A child action that waits for its record is not ended here. It ends as `denied` if its wait fails; otherwise it
    // begins and ends by itself.
    for (const part of action.open) if (!this.#waiting.has(part)) part.end(UNSEEN)
  }

  #write(action: Action, outcome: Outcome): void {
    if (this.#ended.has(action)) return
    this.#ended.add(action)
    action.root.open.delete(action)
    this.#open.delete(action)
    const { result, durationMs, attributes, occurredAt } = outcome
    const told = this.#errorOf(outcome)
    const payload = {
      ...this.#payloadOf({ ...action.call, attributes }),
      status: statusOf(outcome),
      ...told,
      ...contentOf('result', result, { ...this.#content, textInSameRecord: told.error }),
      durationMs: durationMs ?? Math.round((performance.now() - action.beganAtMs) * 1_000) / 1_000,
    }
    this.#record('agent-outcome/1', payload, optionsAfter(action, occurredAt))
    if (this.#open.size === 0) this.#onIdle?.()
  }

  /**
   * Returns the members for an error. The text of a NotRecordedError is always stored, because the SDK wrote it and
   * it is not content.
   */
  #errorOf(outcome: Outcome): ErrorMembers {
    const include = this.#content.include || outcome.error instanceof NotRecordedError
    const told = 'error' in outcome ? errorOf(outcome.error, { ...this.#content, include }) : {}
    return { ...told, ...defined({ errorType: errorType(outcome.errorType) }) }
  }

  decide(action: Action, { decision, by, why, lasts, occurredAt }: Decision): void {
    const id = short(by.id, ID_CHARS_MAX)
    const payload = {
      ...this.#payloadOf({ ...action.call, attributes: undefined }),
      decision,
      by: { kind: by.kind, ...(id !== undefined && { id }) },
      ...defined({ why: short(why, REASON_CHARS_MAX), lasts }),
    }
    this.#record('approval/1', payload, optionsAfter(action, occurredAt))
  }

  /** Resolves when all records so far are in the ledger, like a notarizer's `flush`. */
  flush(options?: WaitOptions): Promise<void> {
    return this.#notarizer.flush(options)
  }

  /**
   * Ends recording. Waits for open actions: half of `timeoutMs`, or 5 s without `timeoutMs`. Then ends the remaining
   * open actions as `unknown`, accepts no new ones, and flushes. Throws if the flush fails; records in a spool then
   * stay there for the next process.
   */
  async close(options: WaitOptions = {}): Promise<void> {
    const { timeoutMs, signal } = options
    const beganAtMs = performance.now()
    await this.#idle(timeoutMs === undefined ? OPEN_MS_MAX : timeoutMs / 2, signal)
    for (const action of this.#open) action.end(UNSEEN)
    const spentMs = performance.now() - beganAtMs
    await this.#notarizer.close({
      ...options,
      ...(timeoutMs !== undefined && { timeoutMs: timeoutMs - spentMs }),
    })
  }

  get stats(): NotarizerStats {
    return this.#notarizer.stats
  }

  #payloadOf({
    kind,
    name,
    server,
    callId,
    session,
    agent,
    framework,
    attributes,
  }: Action['call']): Record<string, unknown> {
    return {
      kind,
      name: short(name, NAME_CHARS_MAX) ?? '(without a name)',
      ...defined({
        server: short(server, NAME_CHARS_MAX),
        callId: short(callId, ID_CHARS_MAX),
        session: short(session, ID_CHARS_MAX),
        agent: short(agent, ID_CHARS_MAX),
        framework: short(framework, FRAMEWORK_CHARS_MAX) ?? this.#framework,
      }),
      ...this.#attributesOf(attributes),
    }
  }

  #attributesOf(attributes: Call['attributes']): { attributes?: object } {
    const lost = this.#lost > 0 ? { lostBefore: this.#lost } : {}
    const found = attributesOf({ ...attributes, ...lost })
    // The attributes and `lostBefore` together are too long. So only `lostBefore` is recorded.
    return found.attributes === undefined ? attributesOf(lost) : found
  }

  /** Resolves when no action is open, when `waitMs` is over, or when `signal` aborts. */
  async #idle(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#open.size === 0 || signal?.aborted) return
    const { promise, resolve } = withResolvers<void>()
    const timer = setTimeout(resolve, Math.min(waitMs, TIMER_MS_MAX))
    signal?.addEventListener('abort', () => resolve(), { once: true })
    const others = this.#onIdle
    this.#onIdle = () => {
      others?.()
      resolve()
    }
    await promise
    clearTimeout(timer)
  }

  #record(type: `${string}/1`, payload: object, options: RecordOptions): void {
    try {
      this.#take(type, payload, options)
    } catch (error) {
      this.#lose(error)
    }
  }

  #lose(error: unknown): void {
    if (this.#lost++ === 0 && !this.#onError) complain(`lost: ${error}`)
    this.#tell(error)
  }

  #take(type: `${string}/1`, payload: object, options: RecordOptions): void {
    this.#notarizer.record(payload, { ...options, type })
    this.#lost = 0
  }

  /** Resolves with the record's id when the record is in the ledger. Rejects with NotRecordedError. */
  #await(payload: object, options: RecordOptions, handle: string): Promise<string | null> {
    const { promise, resolve, reject } = withResolvers<string | null>()
    const holdMsMax = this.#holdMsMax
    const timer =
      holdMsMax <= TIMER_MS_MAX
        ? setTimeout(() => reject(`no confirmation after ${holdMsMax} ms`), holdMsMax)
        : undefined
    this.#awaited.set(handle, (id, error) => (error === undefined ? resolve(id) : reject(error)))
    try {
      this.#take('agent-action/1', payload, { ...options, tag: handle })
      // Sends the record now. If an error occurs that only a person can solve, the returned promise rejects at once.
      this.#notarizer.flush({ timeoutMs: holdMsMax }).catch(reject)
    } catch (error) {
      this.#lose(error)
      reject(error)
    }
    return promise
      .catch((cause) => {
        const detail = cause instanceof Error ? cause.message : cause
        throw new NotRecordedError(`the action was not started, because it is not in the ledger: ${detail}`, {
          retryable: true,
          cause,
        })
      })
      .finally(() => {
        clearTimeout(timer)
        this.#awaited.delete(handle)
      })
  }

  #tell(error: unknown): void {
    try {
      this.#onError?.(error)
    } catch {
      // Errors of the callback are ignored, because they must not reach the agent.
    }
  }
}

const UNSEEN: Outcome = { status: 'unknown' }

/**
 * Returns the outcome's status. Callers without TypeScript may leave it out; it is then derived from the other
 * members.
 */
function statusOf(outcome: Outcome): Outcome['status'] {
  return outcome.status ?? ('error' in outcome ? 'error' : 'result' in outcome ? 'ok' : 'unknown')
}

function complain(what: string): void {
  console.error(`tallystick: a record was ${what}`)
}

function optionsOf({ callId, session, occurredAt }: Call, traceparent: string): RecordOptions {
  const references = referencesOf({
    'gen_ai.tool.call.id': callId,
    'gen_ai.conversation.id': session,
  })
  return { traceparent, occurredAt, ...(references.length > 0 && { references }) }
}

function optionsAfter(
  { call, traceparent, handle }: Action,
  occurredAt: Date | string | undefined,
): RecordOptions {
  return { ...optionsOf({ ...call, occurredAt }, traceparent), parentHandle: handle }
}

function ancestorWithRoom(action: Action): Action {
  let found = action
  while (found.depth >= ACTION_DEPTH_MAX && found.call.parent) found = found.call.parent
  return found
}

function makeTraceparent(traceId = random(16)): string {
  return `00-${traceId}-${random(8)}-01`
}

function random(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)))
}

function withResolvers<Value>(): {
  promise: Promise<Value>
  resolve: (value: Value) => void
  reject: (error: unknown) => void
} {
  let resolve!: (value: Value) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
