// Answers of tools (src/mcp/answers.ts). They are short, because users pay for each word that a model reads
export const MCP_PAGE_ITEMS_DEFAULT = 20
export const MCP_PAGE_ITEMS_MAX = 100
/** Largest JSON of an answer. The answer contains it twice: as text and as structure. */
export const MCP_ANSWER_BYTES_MAX = 1024 * 1024
/** Number of values in an answer to a completion request. The protocol allows no more. */
export const MCP_COMPLETIONS_MAX = 100
/** Number of records in each list of work that waits for an agent. */
export const MCP_WORK_ITEMS_MAX = 50

// Calls of tools
/** Number of ignored arguments that a tool's answer names. */
export const MCP_IGNORED_NAMES_MAX = 8
/**
 * Maximum number of retries that a tool's client makes. A retry may wait for a checkpoint: a new entry is covered
 * within a second, or within two seconds if the worker is busy.
 */
export const MCP_RETRIES_MAX = 4
/** Maximum time that a tool waits. The time is shorter than the default timeout of MCP clients, which is a minute. */
export const MCP_WAIT_SECONDS_MAX = 20

// Standard input and output (src/mcp/line-transport.ts)
/** Largest message. The largest record that the server accepts fits in, with its envelope. */
export const MCP_LINE_BYTES_MAX = 640 * 1024
/** How deep objects and arrays may nest. A record's body lies inside `params` and `arguments` of a message. */
export const MCP_LINE_DEPTH_MAX = 34
/** Requests that were read but not answered yet. If there are so many, the next line is not read. */
export const MCP_REQUESTS_AT_ONCE_MAX = 16
/** Time in which pending requests must be answered after the input has ended. */
export const MCP_DRAIN_MS_MAX = 30_000
