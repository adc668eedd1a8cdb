// Statements that a process has read (src/signing/known-statements.ts)
/**
 * Bytes of their envelopes; as objects they take three times as much. At 600 gated records a second that is the last three
 * seconds.
 */
export const KNOWN_STATEMENTS_BYTES_MAX = 8 * 1024 * 1024
