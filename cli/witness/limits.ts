// Limits of tallystick witness (docs/formats/witnesses.md)
export const WITNESS_REQUEST_MS_MAX = 10_000
export const WITNESS_CONNECTIONS_MAX = 256
/**
 * Maximum number of requests of one log that wait until earlier requests are on disk. Further requests are refused and
 * may be sent again.
 */
export const WITNESS_WAITING_PER_LOG_MAX = 8
/**
 * Maximum number of requests of one log per second. A log usually has one checkpoint per second, and several workers
 * may each send that checkpoint.
 */
export const WITNESS_REQUESTS_PER_LOG_PER_SECOND = 10
export const WITNESS_REQUESTS_PER_LOG_BURST = 50
/**
 * Maximum number of requests of all clients together per second. Verifying a signature takes a tenth of a millisecond.
 */
export const WITNESS_REQUESTS_PER_SECOND = 500
export const WITNESS_REQUESTS_BURST = 1_000
/**
 * Time in ms for which the cosignature of the newest checkpoint is returned again without a new signature. Anybody may
 * send that checkpoint again.
 */
export const WITNESS_COSIGN_AGAIN_MS = 10_000
/** Maximum number of stored forks per log. A single fork is enough to convict the log. */
export const WITNESS_FORKS_STORED_MAX = 16
/**
 * Time in ms without a sign of life after which another process may take the folder. The folder's process was then
 * probably killed.
 */
export const WITNESS_LOCK_STALE_MS = 10_000
export const WITNESS_LOGS_MAX = 1_000
