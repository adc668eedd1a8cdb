/**
 * Matches a traceparent of W3C Trace Context, version 00. It is in a file of its own because clients include it, and
 * `tallystick hook` must import nothing that loads slowly.
 */
export const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
