// Limits of tallystick witness (docs/formats/witnesses.md)
export const WITNESS_REQUEST_MS_MAX = 10_000
export const WITNESS_CONNECTIONS_MAX = 256
/** Requests of one log that wait until earlier ones are on disk. More are refused for now. */
export const WITNESS_WAITING_PER_LOG_MAX = 8
/** A log usually has one checkpoint per second, and several workers may each send it. */
export const WITNESS_REQUESTS_PER_LOG_PER_SECOND = 10
export const WITNESS_REQUESTS_PER_LOG_BURST = 50
/** Limit for all clients together. Verifying a signature takes a tenth of a millisecond. */
export const WITNESS_REQUESTS_PER_SECOND = 500
export const WITNESS_REQUESTS_BURST = 1_000
/** Anybody may send the newest checkpoint again. Within this time it gets the same cosignature, at no cost. */
export const WITNESS_COSIGN_AGAIN_MS = 10_000
/** Stored forks per log. Each one alone convicts the log. */
export const WITNESS_FORKS_STORED_MAX = 16
/** Silence after which another process may take the folder, because its owner was killed. */
export const WITNESS_LOCK_STALE_MS = 10_000
export const WITNESS_LOGS_MAX = 1_000
