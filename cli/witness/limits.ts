// Limits of tallystick witness (docs/formats/witnesses.md)
export const WITNESS_REQUEST_MS_MAX = 10_000
export const WITNESS_CONNECTIONS_MAX = 256
/** Requests of one log that wait until earlier ones are on disk. Further requests are refused for the moment. */
export const WITNESS_WAITING_PER_LOG_MAX = 8
/** Limits of one log. A log usually has one checkpoint per second, and several workers may each send it. */
export const WITNESS_REQUESTS_PER_LOG_PER_SECOND = 10
export const WITNESS_REQUESTS_PER_LOG_BURST = 50
/** Limits for all clients together. Verifying a signature takes a tenth of a millisecond. */
export const WITNESS_REQUESTS_PER_SECOND = 500
export const WITNESS_REQUESTS_BURST = 1_000
/**
 * Within this time a repeated newest checkpoint gets the same cosignature again, which costs nothing. Anybody may
 * send that checkpoint.
 */
export const WITNESS_COSIGN_AGAIN_MS = 10_000
/** Limit of stored forks per log. Each fork alone is enough to convict the log. */
export const WITNESS_FORKS_STORED_MAX = 16
/** After this silence another process may take the folder, because the folder's process was probably killed. */
export const WITNESS_LOCK_STALE_MS = 10_000
export const WITNESS_LOGS_MAX = 1_000
