import { randomUUID } from 'node:crypto'
import { referencesOf, type Sha256, short } from '../../sdk/actions/content.ts'
import { makeIdempotencyKey } from '../../sdk/idempotency-key.ts'
import { putInInbox } from '../../sdk/node/inbox.ts'
import { type Item, makeItem, type RecordOptions } from '../../sdk/notarizer/items.ts'
import { contentAt, hasTwice, type Message, traceparentOf, valueAt } from '../calls/message.ts'
import type { OpenCalls } from '../outbox/calls.ts'
import { TOOL_NAME_CHARS_MAX } from './ambiguity.ts'
import { statusOf, taskIdOf } from './answer-status.ts'
import { answeredIdOf, keyOf, type RequestId } from './json-rpc.ts'
import { PROXY_CANCELLED_MS, PROXY_OPEN_CALLS_MAX } from './limits.ts'
import { CLIENT_INFO, SERVER_INFO, TOOL_USE_ID } from './names.ts'
import { strayText } from './stray.ts'
import { type TaskEnd, Tasks } from './tasks.ts'
import type { NoAnswer } from './upstream.ts'

type Options = {
  readonly directory: string
  readonly open: OpenCalls
  readonly include: boolean
  readonly failClosed: boolean
  /** Server name for the records. With null, the records have the name that the server reports, or else `command`. */
  readonly server: string | null
  readonly command: string
  readonly sha256: Sha256
  readonly say: (message: string) => void
}

type Call = {
  readonly id: string
  readonly members: Readonly<Record<string, unknown>>
  readonly options: RecordOptions
  readonly startedAtMs: number
  readonly attributes: Record<string, unknown>
  timer: ReturnType<typeof setTimeout> | null
  /**
   * True if another request with the same id was open at the same time. An answer then cannot be assigned to either
   * request.
   */
  isShared: boolean
}

/** An action in the outbox. `call` is undefined if the client expects no answer. */
export type BegunCall = {
  readonly handle: string
  readonly request: string | null
  readonly call: Call | undefined
}

const ACTION = 'agent-action/1'
const OUTCOME = 'agent-outcome/1'
const FRAMEWORK = 'mcp-proxy'

/** Records the tool calls that pass through the proxy. Throws if the outbox cannot be written. */
export class Calls {
  readonly #options: Options
  readonly #session = randomUUID()
  /** Maps a request id (as JSON) to its open calls. */
  readonly #byRequest = new Map<string, Call[]>()
  /** The newest ids of other requests that may still be answered, and of cancelled calls. */
  readonly #otherRequests = new Set<string>()
  readonly #tasks = new Tasks<Call>((call, end, message) => this.#settle(call, this.#endOfTask(end, message)))
  #size = 0
  #client: unknown
  #initialize: string | null = null
  #serverName: string | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Handles a client's message before it is forwarded. Returns the action in the outbox if the message is a tool
   * call.
   */
  fromClient(message: Message): BegunCall | null {
    const { value } = message
    const method = valueAt(value, ['method'])
    if (method !== 'tools/call' && method !== undefined) this.#noteRequestId(keyOf(valueAt(value, ['id'])))
    switch (method) {
      case 'tools/call':
        return this.#begin(message)
      case 'initialize':
        this.#client = valueAt(value, ['params', 'clientInfo'])
        this.#initialize = keyOf(valueAt(value, ['id']))
        return null
      case 'notifications/cancelled':
        this.#cancel(keyOf(valueAt(value, ['params', 'requestId'])))
        return null
      default:
        this.#tasks.fromClient(value)
        return null
    }
  }

  #begin(message: Message): BegunCall {
    const { directory, open, include, failClosed, sha256, say } = this.#options
    const { value, inexact } = message
    const params = (...path: string[]) => valueAt(value, ['params', ...path])
    const id = randomUUID()
    const request = keyOf(valueAt(value, ['id']))
    const callId = short(params('_meta', TOOL_USE_ID), 256) ?? id
    const members = {
      kind: 'tool',
      name: short(params('name'), TOOL_NAME_CHARS_MAX) ?? 'unknown',
      server: short(this.#options.server ?? this.#serverName ?? this.#options.command, 512) ?? 'unknown',
      callId,
      session: this.#session,
      framework: FRAMEWORK,
    }
    const references = referencesOf({
      'gen_ai.tool.call.id': callId,
      'gen_ai.conversation.id': this.#session,
    })
    const options = { references, traceparent: traceparentOf(params('_meta', 'traceparent')) }
    const handle = `mcp:${id}`
    const attributes = {
      ...(request !== null && { request: short(request, 256) }),
      ...clientOf(params('_meta', CLIENT_INFO) ?? this.#client),
      ...(inexact !== null && { inexact: short(inexact, 512) }),
    }
    const content = contentAt('arguments', message, ['params', 'arguments'], { include, sha256 })
    const payload = { ...members, ...content, told: failClosed ? 'held' : 'before', attributes }
    const action = makeItem(payload, { ...options, type: ACTION, handle }, Date.now())
    const outcomeOptions = { ...options, parentHandle: handle }
    const isAnswered = request !== null && this.#size + this.#tasks.size < PROXY_OPEN_CALLS_MAX
    if (isAnswered) open.begin(id, outcomeOf(members, outcomeOptions, NO_OUTCOME))
    try {
      putInInbox(directory, action, makeIdempotencyKey())
    } catch (error) {
      open.forget(id)
      throw error
    }
    if (!isAnswered) {
      if (request !== null) say('too many calls are open: the outcome of this one is not recorded')
      return { handle, request, call: undefined }
    }
    const call = {
      id,
      members,
      options: outcomeOptions,
      startedAtMs: performance.now(),
      attributes: {},
      timer: null,
      isShared: this.#otherRequests.has(request),
    }
    this.#add(request, call)
    return { handle, request, call }
  }

  #add(request: string, call: Call): void {
    const calls = [...(this.#byRequest.get(request) ?? []), call]
    if (calls.length > 1) for (const each of calls) each.isShared = true
    this.#byRequest.set(request, calls)
    this.#size++
  }

  #noteRequestId(request: string | null): void {
    if (request === null) return
    for (const call of this.#byRequest.get(request) ?? []) call.isShared = true
    if (this.#otherRequests.size >= PROXY_OPEN_CALLS_MAX)
      this.#otherRequests.delete(this.#otherRequests.values().next().value!)
    this.#otherRequests.add(request)
  }

  /** Handles a server's message after it was forwarded. */
  fromServer(message: Message): void {
    const { value } = message
    const request = keyOf(answeredIdOf(value))
    if (request !== null) this.#otherRequests.delete(request)
    if (this.#tasks.fromServer(message) || request === null) return
    if (request === this.#initialize || this.#serverName === undefined)
      this.#serverName = short(serverNameOf(value), 512)
    const call = this.#take(request)
    if (call === undefined) return
    const isTwice = hasTwice(message, ['result'], ['task', 'taskId'])
    const taskId = isTwice ? undefined : taskIdOf(valueAt(value, ['result']))
    if (taskId === undefined) this.#settle(call, this.#endOf(message, call))
    else {
      call.attributes['task'] = short(taskId, 256)
      this.#tasks.begin(taskId, call, message)
    }
  }

  /** Returns the outcome of a call, as the answer reports it. */
  #endOf(message: Message, call: Call): Record<string, unknown> {
    const { value } = message
    const resultType = short(valueAt(value, ['result', 'resultType']), 128)
    if (resultType !== undefined) call.attributes['resultType'] = resultType
    const { status, errorType } = statusOf(message)
    // An error after a cancellation may only report that cancellation.
    const isCut = status === 'error' && call.attributes['cancelled'] === true
    const hasError = (valueAt(value, ['error']) ?? null) !== null
    return {
      status: isCut ? 'unknown' : status,
      ...(errorType !== undefined && { errorType }),
      ...this.#contentAt(message, [hasError ? 'error' : 'result']),
    }
  }

  #endOfTask({ path, ...end }: TaskEnd, message: Message): Record<string, unknown> {
    return { ...end, ...(path !== null && this.#contentAt(message, path)) }
  }

  /** Returns the content of a result or an error. The text of a JSON-RPC error also counts as content. */
  #contentAt(message: Message, path: readonly string[]): Record<string, unknown> {
    const { include, sha256 } = this.#options
    const text = path.at(-1) === 'error' ? valueAt(message.value, [...path, 'message']) : undefined
    const told = include ? short(text, 4_096) : undefined
    return {
      ...(told !== undefined && { error: told }),
      ...contentAt('result', message, path, { include, sha256, textInSameRecord: told }),
    }
  }

  /**
   * Ends the call of a request that got no JSON-RPC message as its answer. `sent`: other text that the server sent
   * instead, or null. It counts as content.
   */
  noAnswer(id: RequestId, { why, sent, isRefused }: NoAnswer): void {
    const request = keyOf(id)!
    this.#otherRequests.delete(request)
    const call = this.#take(request)
    if (call === undefined) return
    const told = this.#options.include && sent !== null ? `${why}: ${strayText(sent)}` : why
    this.#settle(call, {
      status: isRefused ? 'error' : 'unknown',
      errorType: isRefused ? 'refused' : 'no_answer',
      error: short(told, 4_096),
    })
  }

  /** Records the call as denied, because it is not forwarded. */
  refuse({ request, call }: BegunCall, why: string): void {
    if (request === null || call === undefined || !this.#remove(request, call)) return
    this.#settle(call, { status: 'denied', errorType: 'not_recorded', error: short(why, 4_096) })
  }

  /**
   * Records a message that was not parsed: its digest, the reason, and none of the calls in the message. Throws if the
   * outbox cannot be written.
   */
  unread(why: string, sha256: string, length: number): BegunCall {
    const { directory, server, command, failClosed, say } = this.#options
    say(`only the digest of a client's message is recorded: ${why}`)
    const handle = `mcp:${randomUUID()}`
    const payload = {
      kind: 'other',
      name: 'unread message',
      server: short(server ?? this.#serverName ?? command, 512) ?? 'unknown',
      session: this.#session,
      framework: FRAMEWORK,
      argumentsDigest: { sha256, of: 'bytes', length },
      told: failClosed ? 'held' : 'after',
      attributes: { why: short(why, 512) },
    }
    const references = referencesOf({ 'gen_ai.conversation.id': this.#session })
    const action = makeItem(payload, { type: ACTION, references, handle }, Date.now())
    putInInbox(directory, action, makeIdempotencyKey())
    return { handle, request: null, call: undefined }
  }

  /** Ends all open calls with outcome `unknown`, because no more answers will come. */
  end(why: string): void {
    const calls = [...this.#byRequest.values(), this.#tasks.takeAll()].flat()
    for (const call of calls)
      this.#settle(call, { status: 'unknown', errorType: 'upstream_ended', error: short(why, 4_096) })
    this.#byRequest.clear()
    this.#size = 0
  }

  #cancel(request: string | null): void {
    const call = request === null ? undefined : this.#byRequest.get(request)?.[0]
    if (call === undefined || call.timer !== null) return
    call.attributes['cancelled'] = true
    call.timer = setTimeout(() => {
      const error = 'the client cancelled the call, and no answer came'
      if (!this.#remove(request!, call)) return
      this.#noteRequestId(request)
      this.#settle(call, { status: 'unknown', errorType: 'cancelled', error })
    }, PROXY_CANCELLED_MS)
  }

  /** Removes and returns the first open call with this request id. */
  #take(request: string): Call | undefined {
    const call = this.#byRequest.get(request)?.[0]
    if (call !== undefined) this.#remove(request, call)
    return call
  }

  /** Removes a call. Returns whether the call was open. */
  #remove(request: string, call: Call): boolean {
    const calls = this.#byRequest.get(request) ?? []
    const others = calls.filter((each) => each !== call)
    if (others.length === calls.length) return false
    if (others.length === 0) this.#byRequest.delete(request)
    else this.#byRequest.set(request, others)
    this.#size--
    return true
  }

  #settle(call: Call, end: Record<string, unknown>): void {
    if (call.timer !== null) clearTimeout(call.timer)
    const durationMs = Math.round((performance.now() - call.startedAtMs) * 1000) / 1000
    const attributes = Object.keys(call.attributes).length > 0 ? { attributes: call.attributes } : {}
    const shared =
      call.isShared && end['status'] !== 'denied' ? { status: 'unknown', errorType: 'same_id' } : {}
    try {
      this.#options.open.settle(
        call.id,
        outcomeOf(call.members, call.options, { ...end, ...shared, durationMs, ...attributes }),
      )
    } catch (error) {
      this.#options.say(`the outcome of a call could not be recorded: ${(error as Error).message}`)
    }
  }
}

/**
 * Record that is stored before the call is forwarded. It is used only if the proxy is killed. Its time is the time of
 * the call.
 */
const NO_OUTCOME = {
  status: 'unknown',
  errorType: 'proxy_ended',
  error: 'no outcome came: the proxy ended before the answer',
}

function outcomeOf(members: object, options: RecordOptions, end: object): Item {
  return makeItem({ ...members, ...end }, { ...options, type: OUTCOME }, Date.now())
}

/** Returns the server's name from an answer to `initialize`. Since MCP 2026-07-28, any answer can contain the name. */
function serverNameOf(answer: unknown): unknown {
  const paths = [['serverInfo'], ['_meta', SERVER_INFO]]
  return paths.map((path) => valueAt(answer, ['result', ...path, 'name'])).find((name) => name !== undefined)
}

function clientOf(info: unknown): { client?: string } {
  const name = short(valueAt(info, ['name']), 256)
  const version = short(valueAt(info, ['version']), 128)
  return name === undefined ? {} : { client: version === undefined ? name : `${name}/${version}` }
}
