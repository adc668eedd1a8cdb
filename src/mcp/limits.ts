// Answers of tools (src/mcp/answers.ts): their users pay for each word that a model reads
export const MCP_PAGE_ITEMS_DEFAULT = 20
export const MCP_PAGE_ITEMS_MAX = 100
/** Limit of the JSON in an answer, which contains it twice: as text and as structure. */
export const MCP_ANSWER_BYTES_MAX = 1024 * 1024
/** Values that a completion offers. The protocol allows no more. */
export const MCP_COMPLETIONS_MAX = 100
/** Records in each list of work that waits for an agent. */
export const MCP_WORK_ITEMS_MAX = 50

// Calls of tools
/** Ignored arguments that the answer of a tool names. */
export const MCP_IGNORED_NAMES_MAX = 8
/** Retries of a tool's client. A checkpoint follows an entry within a second, or two while the worker keeps up. */
export const MCP_RETRIES_MAX = 4
/** Less than the default timeout of MCP clients, which is a minute. */
export const MCP_WAIT_SECONDS_MAX = 20

// Standard input and output (src/mcp/line-transport.ts)
/** Largest message: the largest record that the server accepts, and its envelope. */
export const MCP_LINE_BYTES_MAX = 640 * 1024
/** Nesting of objects and arrays: that of a record's body, in `params` and `arguments` of a message. */
export const MCP_LINE_DEPTH_MAX = 34
/** Requests that were read and not answered. The next line is read when there are fewer. */
export const MCP_REQUESTS_AT_ONCE_MAX = 16
/** Time for pending requests after the input has ended. */
export const MCP_DRAIN_MS_MAX = 30_000
