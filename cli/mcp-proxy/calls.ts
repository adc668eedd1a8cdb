import { randomUUID } from 'node:crypto'
import { referencesOf, type Sha256, short } from '../../sdk/actions/content.ts'
import { makeIdempotencyKey } from '../../sdk/idempotency-key.ts'
import { putInInbox } from '../../sdk/node/inbox.ts'
import { type Item, makeItem, type RecordOptions } from '../../sdk/notarizer/items.ts'
import { contentAt, type Message, traceparentOf, valueAt } from '../calls/message.ts'
import type { OpenCalls } from '../outbox/calls.ts'
import { PROXY_CANCELLED_MS, PROXY_OPEN_CALLS_MAX } from './limits.ts'

type Options = {
  readonly directory: string
  readonly open: OpenCalls
  readonly keep: boolean
  readonly held: boolean
  /** Stands in the records; null: as the server calls itself, or else `command`. */
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
}

/** An action that was put into the outbox. `call`: undefined where no answer is waited for. */
export type Begun = {
  readonly handle: string
  readonly request: string | null
  readonly call: Call | undefined
}

const ACTION = 'agent-action/1'
const OUTCOME = 'agent-outcome/1'
const FRAMEWORK = 'mcp-proxy'
/** Claude Code says by it which of its calls it is; its hooks have the same id. */
const TOOL_USE_ID = 'claudecode/toolUseId'
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'

/** Records of the calls that pass. Throws where the outbox cannot be written. */
export class Calls {
  readonly #options: Options
  readonly #session = randomUUID()
  /** By the request's id, as JSON; a client that uses an id twice at a time has the first answered first. */
  readonly #byRequest = new Map<string, Call[]>()
  #size = 0
  #client: unknown
  #initialize: string | null = null
  #serverName: string | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** A message of the client, before it is forwarded. An action that was put into the outbox, if it is a call of a tool. */
  fromClient(message: Message): Begun | null {
    const { value } = message
    switch (valueAt(value, ['method'])) {
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
        return null
    }
  }

  #begin(message: Message): Begun {
    const { directory, open, keep, held, sha256, say } = this.#options
    const { value, inexact } = message
    const params = (...path: string[]) => valueAt(value, ['params', ...path])
    const id = randomUUID()
    const request = keyOf(valueAt(value, ['id']))
    const callId = short(params('_meta', TOOL_USE_ID), 256) ?? id
    const members = {
      kind: 'tool',
      name: short(params('name'), 512) ?? 'unknown',
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
    const content = contentAt('arguments', message, ['params', 'arguments'], { keep, sha256 })
    const payload = { ...members, ...content, told: held ? 'held' : 'before', attributes }
    const action = makeItem(payload, { ...options, type: ACTION, handle }, Date.now())
    const outcomeOptions = { ...options, parentHandle: handle }
    const isAnswered = request !== null && this.#size < PROXY_OPEN_CALLS_MAX
    if (isAnswered) open.begin(id, outcomeOf(members, outcomeOptions, NO_OUTCOME))
    try {
      putInInbox(directory, action, makeIdempotencyKey())
    } catch (error) {
      open.forget(id)
      throw error
    }
    if (!isAnswered) {
      if (request !== null) say('too many calls are under way: no outcome is recorded of this one')
      return { handle, request, call: undefined }
    }
    const call = {
      id,
      members,
      options: outcomeOptions,
      startedAtMs: performance.now(),
      attributes: {},
      timer: null,
    }
    this.#add(request, call)
    return { handle, request, call }
  }

  #add(request: string, call: Call): void {
    this.#byRequest.set(request, [...(this.#byRequest.get(request) ?? []), call])
    this.#size++
  }

  /** A message of the server, after it was forwarded. */
  fromServer(message: Message): void {
    const { value } = message
    if (valueAt(value, ['method']) !== undefined) return
    const request = keyOf(valueAt(value, ['id']))
    if (request === null) return
    if (request === this.#initialize)
      this.#serverName = short(valueAt(value, ['result', 'serverInfo', 'name']), 512)
    const call = this.#byRequest.get(request)?.[0]
    if (call === undefined) return
    this.#remove(request, call)
    this.#settle(call, this.#endOf(message, call))
  }

  /** The outcome of a call as its answer tells it. The text of an error is content. */
  #endOf(message: Message, call: Call): Record<string, unknown> {
    const { keep, sha256 } = this.#options
    const { value } = message
    const error = valueAt(value, ['error'])
    const resultType = short(valueAt(value, ['result', 'resultType']), 128)
    if (resultType !== undefined) call.attributes['resultType'] = resultType
    if (error !== undefined) {
      const code = valueAt(error, ['code'])
      const told = keep ? short(valueAt(error, ['message']), 4_096) : undefined
      return {
        status: 'error',
        errorType: typeof code === 'number' ? `${code}` : 'error',
        ...(told !== undefined && { error: told }),
        ...contentAt('result', message, ['error'], { keep, sha256, besides: told }),
      }
    }
    const isError = valueAt(value, ['result', 'isError']) === true
    return {
      status: isError ? 'error' : 'ok',
      ...(isError && { errorType: 'isError' }),
      ...contentAt('result', message, ['result'], { keep, sha256 }),
    }
  }

  /** The call is not forwarded. */
  refuse({ request, call }: Begun, why: string): void {
    if (request === null || call === undefined) return
    this.#remove(request, call)
    this.#settle(call, { status: 'denied', errorType: 'not_recorded', error: short(why, 4_096) })
  }

  /** Bytes of the client that nobody here understands, or that were too many to be read, and were forwarded all the same. */
  unread(why: string, sha256: string, length: number): void {
    const { directory, server, command, say } = this.#options
    say(`a message of the client was forwarded unread: ${why}`)
    const payload = {
      kind: 'other',
      name: 'unread message',
      server: short(server ?? this.#serverName ?? command, 512) ?? 'unknown',
      session: this.#session,
      framework: FRAMEWORK,
      argumentsDigest: { sha256, of: 'bytes', length },
      told: 'after',
      attributes: { why: short(why, 512) },
    }
    const references = referencesOf({ 'gen_ai.conversation.id': this.#session })
    putInInbox(directory, makeItem(payload, { type: ACTION, references }, Date.now()), makeIdempotencyKey())
  }

  /** No answer comes any more to what was not answered. */
  end(why: string): void {
    for (const calls of this.#byRequest.values())
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
      this.#remove(request!, call)
      const error = 'the client cancelled it, and no answer came'
      this.#settle(call, { status: 'unknown', errorType: 'cancelled', error })
    }, PROXY_CANCELLED_MS)
  }

  #remove(request: string, call: Call): void {
    const others = (this.#byRequest.get(request) ?? []).filter((each) => each !== call)
    if (others.length === 0) this.#byRequest.delete(request)
    else this.#byRequest.set(request, others)
    this.#size--
  }

  #settle(call: Call, end: Record<string, unknown>): void {
    if (call.timer !== null) clearTimeout(call.timer)
    const durationMs = Math.round((performance.now() - call.startedAtMs) * 1000) / 1000
    const attributes = Object.keys(call.attributes).length > 0 ? { attributes: call.attributes } : {}
    try {
      this.#options.open.settle(
        call.id,
        outcomeOf(call.members, call.options, { ...end, durationMs, ...attributes }),
      )
    } catch (error) {
      this.#options.say(`an outcome could not be written: ${(error as Error).message}`)
    }
  }
}

/** Written before the call is forwarded, and read only if its proxy is killed: its time is the call's. */
const NO_OUTCOME = {
  status: 'unknown',
  errorType: 'proxy_ended',
  error: 'no outcome came: the proxy ended before the answer',
}

function outcomeOf(members: object, options: RecordOptions, end: object): Item {
  return makeItem({ ...members, ...end }, { ...options, type: OUTCOME }, Date.now())
}

/** The id of a request as a key; null: it has none. 1 and "1" are two. */
function keyOf(id: unknown): string | null {
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : null
}

function clientOf(info: unknown): { client?: string } {
  const name = short(valueAt(info, ['name']), 256)
  const version = short(valueAt(info, ['version']), 128)
  return name === undefined ? {} : { client: version === undefined ? name : `${name}/${version}` }
}
