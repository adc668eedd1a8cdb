/* Members of `params._meta` and `result._meta` that the proxy reads. */

/** Claude Code's id of a call. Its hooks use the same id. */
export const TOOL_USE_ID = 'claudecode/toolUseId'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
export const VERSION_META = 'io.modelcontextprotocol/protocolVersion'
