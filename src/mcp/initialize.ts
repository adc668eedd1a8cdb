import { isInitializeRequest } from '@modelcontextprotocol/server'

export const INVALID_PARAMS = -32602

/** Returns the fault of an invalid `initialize`; null for all other messages. The SDK would report it as an internal error. */
export function refusedInitialize(message: object): string | null {
  const isInitialize = 'method' in message && message.method === 'initialize' && 'id' in message
  return isInitialize && !isInitializeRequest(message)
    ? 'initialize needs protocolVersion (a string), capabilities (an object) and clientInfo (name and version)'
    : null
}
