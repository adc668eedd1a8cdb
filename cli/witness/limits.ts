// tallystick witness (docs/formats/witnesses.md)
export const WITNESS_REQUEST_MS_MAX = 10_000
export const WITNESS_CONNECTIONS_MAX = 256
/** A request of one log waits until those before it are on disk. More are told to come again. */
export const WITNESS_WAITING_PER_LOG_MAX = 8
/** A log has a checkpoint a second, as a rule, and several workers may send each. */
export const WITNESS_REQUESTS_PER_LOG_PER_SECOND = 10
export const WITNESS_REQUESTS_PER_LOG_BURST = 50
/** All clients together: a signature takes a tenth of a millisecond to verify. */
export const WITNESS_REQUESTS_PER_SECOND = 500
export const WITNESS_REQUESTS_BURST = 1_000
/** Anybody may send the newest checkpoint again: within this time it is answered with the same cosignature, which costs nothing. */
export const WITNESS_COSIGN_AGAIN_MS = 10_000
/** For each log; each is enough to convict it. */
export const WITNESS_FORKS_KEPT_MAX = 16
/** After this silence another process may take the folder, because the one that had it was killed. */
export const WITNESS_LOCK_STALE_MS = 10_000
export const WITNESS_LOGS_MAX = 1_000
