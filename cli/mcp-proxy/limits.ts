// tallystick mcp-proxy (docs/mcp-proxy.md)
/** A longer message is forwarded unread, and a record says so; with --fail-closed it is refused. */
export const PROXY_MESSAGE_BYTES_MAX = 32 * 1024 * 1024
/** A call that the client cancelled has so long for an answer after all. */
export const PROXY_CANCELLED_MS = 5_000
/** For what is left to be sent when client or server have ended; the rest is sent in the background. */
export const PROXY_CLOSE_MS_MAX = 1_000
/** Calls under way; with more, no outcome is recorded of further ones. */
export const PROXY_OPEN_CALLS_MAX = 10_000
/** Time between the end of a server's input and SIGTERM. */
export const PROXY_END_MS = 5_000
/** Time between SIGTERM and SIGKILL for a server: less than clients wait before they kill the proxy. */
export const PROXY_KILL_MS = 1_500
/** Requests to a server behind HTTP at a time; more wait. */
export const PROXY_HTTP_REQUESTS_MAX = 256
/** Later messages wait at most so long until the server accepts a notification, or answers `initialize`. */
export const PROXY_HTTP_ORDER_MS = 10_000
/** Failed attempts in a row to resume an answer after its connection broke. */
export const PROXY_HTTP_RESUMES_MAX = 5
/** Characters that an error or a log line quotes of a server's text that is not a message. */
export const PROXY_STRAY_CHARS_MAX = 400
/** For answers that are under way when the client has ended, and for the end of the session. */
export const PROXY_HTTP_END_MS = 2_000
/** Before a stream of a server behind HTTP is opened again that was cut off. */
export const PROXY_HTTP_RETRY_MS = 1_000
/** The same, if the server asks for it: a timer for 2^31 ms and more would go off at once. */
export const PROXY_HTTP_RETRY_MS_MAX = 3_600_000
/** Tools whose parameters a server wants to see in headers. */
export const PROXY_HEADER_TOOLS_MAX = 10_000
