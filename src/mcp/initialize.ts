import { isInitializeRequest } from '@modelcontextprotocol/server'

export const INVALID_PARAMS = -32602

/**
 * Returns what is wrong with an `initialize` message. Returns null if it is valid, or if the message is of another
 * kind. Without this check, the SDK would report an internal error.
 */
export function refusedInitialize(message: object): string | null {
  const isInitialize = 'method' in message && message.method === 'initialize' && 'id' in message
  return isInitialize && !isInitializeRequest(message)
    ? 'initialize needs protocolVersion (a string), capabilities (an object) and clientInfo (name and version)'
    : null
}
