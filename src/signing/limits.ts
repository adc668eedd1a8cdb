// Cached statements (src/signing/known-statements.ts)
/**
 * Bytes of the cached envelopes. With the parsed objects they take four times as much memory. At 600 gated records
 * per second the cache has those of the last three seconds.
 */
export const KNOWN_STATEMENTS_BYTES_MAX = 8 * 1024 * 1024

// Cached keys of agents (src/signing/envelope-keys.ts)
export const AGENT_KEYS_KNOWN_MAX = 20_000
