// Answers of tools (src/mcp/answers.ts). They are short, because users pay for each word that a model reads.
export const MCP_PAGE_ITEMS_DEFAULT = 20
export const MCP_PAGE_ITEMS_MAX = 100
/**
 * Maximum size in bytes of the JSON of an answer. The answer contains this JSON twice: as text and as structured
 * content.
 */
export const MCP_ANSWER_BYTES_MAX = 1024 * 1024
/** Maximum number of values in the answer to a completion request. The protocol allows no more. */
export const MCP_COMPLETIONS_MAX = 100
/** Maximum number of records in each list of work that waits for an agent. */
export const MCP_WORK_ITEMS_MAX = 50

// Calls of tools
/** Maximum number of ignored arguments that the answer of a tool names. */
export const MCP_IGNORED_NAMES_MAX = 8
/**
 * Maximum number of retries of a request that a tool makes. A retry may wait for a checkpoint. A new entry is covered
 * by a checkpoint within a second, or within two seconds if the worker is busy.
 */
export const MCP_RETRIES_MAX = 4
/**
 * Maximum time in seconds that a tool waits. It is shorter than the default timeout of MCP clients, which is a minute.
 */
export const MCP_WAIT_SECONDS_MAX = 20

// Standard input and output (src/mcp/line-transport.ts)
/**
 * Maximum size of a message in bytes. It is large enough for the largest record that the server accepts, with its
 * envelope.
 */
export const MCP_LINE_BYTES_MAX = 640 * 1024
/** Maximum depth of nested objects and arrays in a message. The body of a record is inside `params` and `arguments`. */
export const MCP_LINE_DEPTH_MAX = 34
/** Maximum number of requests that were read but not answered yet. When it is reached, the next line is not read. */
export const MCP_REQUESTS_AT_ONCE_MAX = 16
/** Maximum time in ms to answer pending requests after the input has ended. */
export const MCP_DRAIN_MS_MAX = 30_000
