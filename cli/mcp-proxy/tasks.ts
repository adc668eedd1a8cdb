import { hasTwice, type Message, valueAt } from '../calls/message.ts'
import { statusOfResult } from './answer-status.ts'
import { keyOf } from './json-rpc.ts'
import { PROXY_OPEN_CALLS_MAX } from './limits.ts'

/** End of a task. `path`: path of the task's result in the message, or null if the message has no result. */
export type TaskEnd = {
  readonly status: 'ok' | 'error' | 'unknown'
  readonly errorType?: string
  readonly path: readonly string[] | null
}

type Settle<Call> = (call: Call, end: TaskEnd, message: Message) => void

const [ASK_STATE, ASK_RESULT] = [new Set<unknown>(['tasks/get', 'tasks/cancel']), 'tasks/result']

/**
 * Tool calls that continue as tasks. The outcome of a call is the outcome of its task: the final result, or a final
 * state. The state `completed` alone is not an outcome, because the result may still have `isError`.
 */
export class Tasks<Call> {
  readonly #settle: Settle<Call>
  readonly #calls = new Map<string, Call>()
  /** Maps the id of an open request about a task to the task. */
  readonly #requests = new Map<string, { readonly taskId: string; readonly isForResult: boolean }>()

  constructor(settle: Settle<Call>) {
    this.#settle = settle
  }

  get size(): number {
    return this.#calls.size
  }

  fromClient(value: unknown): void {
    const method = valueAt(value, ['method'])
    const isForResult = method === ASK_RESULT
    if (!isForResult && !ASK_STATE.has(method)) return
    const [key, taskId] = [keyOf(valueAt(value, ['id'])), valueAt(value, ['params', 'taskId'])]
    if (key === null || typeof taskId !== 'string' || !this.#calls.has(taskId)) return
    if (this.#requests.size < PROXY_OPEN_CALLS_MAX) this.#requests.set(key, { taskId, isForResult })
  }

  /** Adds a call whose answer begins a task. */
  begin(taskId: string, call: Call, message: Message): void {
    const earlier = this.#calls.get(taskId)
    if (earlier !== undefined) this.#settle(earlier, { ...UNKNOWN, path: null }, message)
    this.#calls.set(taskId, call)
    // The answer may already contain the task's final state.
    const isInside = valueAt(message.value, ['result', 'task']) !== undefined
    this.#readState(taskId, message, isInside ? ['result', 'task'] : ['result'])
  }

  /** Handles a message of the server. Returns whether it answers a request about a task. */
  fromServer(message: Message): boolean {
    const { value } = message
    const method = valueAt(value, ['method'])
    if (typeof method === 'string') {
      const taskId = valueAt(value, ['params', 'taskId'])
      if (method.startsWith('notifications/tasks') && typeof taskId === 'string')
        this.#readState(taskId, message, ['params'])
      return false
    }
    const key = keyOf(valueAt(value, ['id'])) ?? ''
    const asked = this.#requests.get(key)
    if (asked === undefined) return false
    this.#requests.delete(key)
    if (asked.isForResult) this.#readResult(asked.taskId, message)
    else this.#readState(asked.taskId, message, ['result'])
    return true
  }

  /** Removes and returns all calls with open tasks. */
  takeAll(): Call[] {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    this.#requests.clear()
    return calls
  }

  /**
   * Reads a task's result. A JSON-RPC error is ignored, because it may be about this request only, for example if the
   * result has expired.
   */
  #readResult(taskId: string, message: Message): void {
    const { status, errorType } = statusOfResult(message, ['result'])
    if (status === 'unknown') return
    this.#end(taskId, { status, ...(errorType !== undefined && { errorType }), path: ['result'] }, message)
  }

  #readState(taskId: string, message: Message, path: readonly string[]): void {
    // The message is ignored if a deciding name occurs twice in it. A later message may report the state.
    if (hasTwice(message, path, ['taskId', 'status', 'result'])) return
    const state = valueAt(message.value, [...path, 'status'])
    const has = (name: string) => valueAt(message.value, [...path, name]) !== undefined
    if (state === 'cancelled') this.#end(taskId, { ...UNKNOWN, path: null }, message)
    else if (state === 'failed') {
      const where = ['error', 'result'].find(has)
      const end = { status: 'error', errorType: 'task_failed' } as const
      this.#end(taskId, { ...end, path: where === undefined ? null : [...path, where] }, message)
    } else if (state === 'completed' && has('result')) {
      const { status, errorType } = statusOfResult(message, [...path, 'result'])
      const end = { status, ...(errorType !== undefined && { errorType }) }
      this.#end(taskId, { ...end, path: [...path, 'result'] }, message)
    }
  }

  #end(taskId: string, end: TaskEnd, message: Message): void {
    const call = this.#calls.get(taskId)
    if (call === undefined) return
    this.#calls.delete(taskId)
    this.#settle(call, end, message)
  }
}

/** The status is unknown, because a cancelled task may have been done in part. */
const UNKNOWN = { status: 'unknown', errorType: 'task_cancelled' } as const
