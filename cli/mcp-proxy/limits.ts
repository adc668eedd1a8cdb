// Limits of tallystick mcp-proxy (docs/integrations/mcp-proxy.md)
/**
 * Maximum length of a message in bytes. A longer message is forwarded without being parsed, and a record reports this.
 * With --fail-closed, a longer message is refused.
 */
export const PROXY_MESSAGE_BYTES_MAX = 32 * 1024 * 1024
/** Time in ms in which an answer to a cancelled call may still come. */
export const PROXY_CANCELLED_MS = 5_000
/**
 * Maximum time in ms to send the remaining records after client or server have ended. Records that are not sent by then
 * are sent in the background.
 */
export const PROXY_CLOSE_MS_MAX = 1_000
/** Maximum number of open calls. Further calls get no outcome. */
export const PROXY_OPEN_CALLS_MAX = 10_000
/** Time in ms between the end of a server's input and SIGTERM. */
export const PROXY_END_MS = 5_000
/**
 * Time in ms between SIGTERM and SIGKILL for a server. It is shorter than the time after which clients kill the proxy.
 */
export const PROXY_KILL_MS = 1_500
/** Maximum number of parallel requests to an HTTP server. Further requests wait. */
export const PROXY_HTTP_REQUESTS_MAX = 256
/**
 * Maximum time in ms that later messages wait. They wait until the server has accepted an earlier notification or
 * answer, or has answered `initialize`.
 */
export const PROXY_HTTP_ORDER_MS = 10_000
/** Maximum number of consecutive failures to resume an answer whose connection broke. */
export const PROXY_HTTP_RESUMES_MAX = 5
/** Maximum number of characters that an error or a log line quotes from a server's text that is not a message. */
export const PROXY_STRAY_CHARS_MAX = 400
/** Maximum time in ms for open answers and the end of the session, after the client has ended. */
export const PROXY_HTTP_END_MS = 2_000
/** Delay in ms before a broken stream of an HTTP server is opened again. */
export const PROXY_HTTP_RETRY_MS = 1_000
/** Maximum delay in ms that a server can set. Without this limit, a timer of 2^31 ms or more would fire immediately. */
export const PROXY_HTTP_RETRY_MS_MAX = 3_600_000
/** Maximum number of tools for which the proxy stores the parameters that the server requires in headers. */
export const PROXY_HEADER_TOOLS_MAX = 10_000
