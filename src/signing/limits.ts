// Cached statements (src/signing/known-statements.ts)
/**
 * Maximum size of the cached envelopes together, in bytes. With the parsed objects, the cache takes four times as much
 * memory. At 600 gated records per second, the cache contains the envelopes of the last three seconds.
 */
export const KNOWN_STATEMENTS_BYTES_MAX = 8 * 1024 * 1024

// Maximum number of agents' keys that are cached (src/signing/envelope-keys.ts).
export const AGENT_KEYS_KNOWN_MAX = 20_000
