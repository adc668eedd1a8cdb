import { short } from '../../sdk/actions/content.ts'
import { SDK_TIMEOUT_CODE } from '../../src/json-rpc-codes.ts'
import { hasTwice, type Message, valueAt } from '../calls/message.ts'

/* Derives the status of a tool call from the server's answer (docs/reference/outcomes.md). */

export type AnswerStatus = {
  readonly status: 'ok' | 'error' | 'unknown'
  readonly errorType?: string
}

/** Timeout codes: the code of MCP's TypeScript SDK, and the HTTP statuses that its Python SDK and gateways use. */
const TIMEOUT_CODES: ReadonlySet<unknown> = new Set([SDK_TIMEOUT_CODE, 408, 504])
/** Values of `resultType` in a final answer (MCP 2026-07-28). Earlier versions have no `resultType`. */
const FINAL: ReadonlySet<unknown> = new Set([undefined, 'complete'])
/** Members of a result that decide how the call ended. */
const DECIDING = ['isError', 'resultType', 'task', 'taskId']
const NO_ERROR: ReadonlySet<unknown> = new Set([undefined, null, false])

const TWICE: AnswerStatus = { status: 'unknown', errorType: 'doubled_name' }

/**
 * Returns the status of an answer to `tools/call`.
 *
 * - `error`: the server reports a failure.
 * - `ok`: the answer is final and has no error.
 * - `unknown`: every other answer, such as a task that continues, a request for input, both a result and an error, an
 *   unknown kind of answer, or a deciding name that occurs twice.
 */
export function statusOf(message: Message): AnswerStatus {
  const { value } = message
  if (hasTwice(message, [], ['error', 'result'])) return TWICE
  const error = valueAt(value, ['error'])
  if (error === undefined || error === null) return statusOfResult(message, ['result'])
  if (hasTwice(message, ['error'], ['code'])) return TWICE
  const code = valueAt(error, ['code'])
  const errorType = typeof code === 'number' ? `${code}` : 'error'
  const isBoth = (valueAt(value, ['result']) ?? null) !== null
  return { status: isBoth || TIMEOUT_CODES.has(code) ? 'unknown' : 'error', errorType }
}

/** Returns the status of the result at the path: the result of an answer, or the final result of a task. */
export function statusOfResult(message: Message, path: readonly string[]): AnswerStatus {
  const result = valueAt(message.value, path)
  if (result === null || typeof result !== 'object') return { status: 'unknown', errorType: 'no_result' }
  if (hasTwice(message, path, DECIDING)) return TWICE
  const isError = valueAt(result, ['isError'])
  if (isError === true) return { status: 'error', errorType: 'isError' }
  const resultType = valueAt(result, ['resultType'])
  if (!FINAL.has(resultType)) return { status: 'unknown', errorType: short(resultType, 128) ?? 'resultType' }
  if (taskIdOf(result) !== undefined) return { status: 'unknown', errorType: 'task' }
  return NO_ERROR.has(isError) ? { status: 'ok' } : { status: 'unknown', errorType: 'isError' }
}

/**
 * Returns the id of the task that a result begins: `task.taskId` (MCP 2025-11-25), or `taskId` with `resultType: task`
 * (the later extension of MCP for tasks).
 */
export function taskIdOf(result: unknown): string | undefined {
  const id = valueAt(result, ['task', 'taskId'])
  if (typeof id === 'string') return id
  const own = valueAt(result, ['resultType']) === 'task' ? valueAt(result, ['taskId']) : undefined
  return typeof own === 'string' ? own : undefined
}
