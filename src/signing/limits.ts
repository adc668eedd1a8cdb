// Statements that a process has read (src/signing/known-statements.ts)
/**
 * Bytes of their envelopes; with what they say as objects they take four times as much. At 600 gated records a second that is the last three
 * seconds.
 */
export const KNOWN_STATEMENTS_BYTES_MAX = 8 * 1024 * 1024

// Keys of agents that a process knows (src/signing/envelope-keys.ts)
export const AGENT_KEYS_KNOWN_MAX = 20_000
