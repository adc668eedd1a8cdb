// Answers of tools (src/mcp/answers.ts): what a model reads costs its user by the word
export const MCP_PAGE_ITEMS_DEFAULT = 20
export const MCP_PAGE_ITEMS_MAX = 100
/** An answer holds its JSON twice: as text, and as structure. This bounds it once. */
export const MCP_ANSWER_BYTES_MAX = 1024 * 1024
/** Values that a completion offers; the protocol allows no more. */
export const MCP_COMPLETIONS_MAX = 100
/** Records of each list that waits for an agent. */
export const MCP_WORK_ITEMS_MAX = 50

// A tool's call
/** Ignored arguments that the answer of a tool names. */
export const MCP_IGNORED_NAMES_MAX = 8
/** How often its client asks the server again: a checkpoint comes a second after an entry, two at most while the worker keeps up. */
export const MCP_RETRIES_MAX = 4
/** Less than clients of MCP wait for an answer by default, which is a minute. */
export const MCP_WAIT_SECONDS_MAX = 20

// Standard input and output (src/mcp/line-transport.ts)
/** A message: as much as the server takes of a record, and its envelope. */
export const MCP_LINE_BYTES_MAX = 640 * 1024
/** Objects and arrays in each other: those of a record's body, in a message's `params` and `arguments`. */
export const MCP_LINE_DEPTH_MAX = 34
/** Requests that were read and not answered; the next line is read when there are fewer. */
export const MCP_REQUESTS_AT_ONCE_MAX = 16
/** When the input has ended: for the requests that came before. */
export const MCP_DRAIN_MS_MAX = 30_000
