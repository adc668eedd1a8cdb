import { valueAt } from '../calls/message.ts'

export type RequestId = string | number

/** Returns a request id as a map key. The ids 1 and "1" have different keys. Returns null if the value is not an id. */
export function keyOf(id: unknown): string | null {
  return isId(id) ? JSON.stringify(id) : null
}

/** Returns whether a value is an MCP message: a request, notification or answer of JSON-RPC 2.0. */
export function isMessage(value: unknown): boolean {
  return (
    valueAt(value, ['jsonrpc']) === '2.0' &&
    (typeof valueAt(value, ['method']) === 'string' || isAnswer(value))
  )
}

/**
 * Returns the id of a request. Returns undefined if the value is not a request with an id. Its sender then expects no
 * answer.
 */
export function requestIdOf(value: unknown): RequestId | undefined {
  const id = valueAt(value, ['id'])
  return isId(id) && valueAt(value, ['method']) !== undefined ? id : undefined
}

/** Returns the id of an answer. Returns undefined if the value is not an answer, or has no id. */
export function answeredIdOf(value: unknown): RequestId | undefined {
  const id = valueAt(value, ['id'])
  return isId(id) && valueAt(value, ['method']) === undefined && isAnswer(value) ? id : undefined
}

/** Returns the messages of a JSON value. Older versions of MCP send several messages in an array. */
export function messagesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function isAnswer(value: unknown): boolean {
  return valueAt(value, ['result']) !== undefined || valueAt(value, ['error']) !== undefined
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}
