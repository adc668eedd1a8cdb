// A request: how long it may take to arrive, and what it may hold
/** As long as load balancers take to see that a server is not ready: those of Kubernetes look every 1 to 10 s. */
export const DRAIN_SECONDS_DEFAULT = 5
export const DRAIN_SECONDS_MAX = 300
/** Longer than an append may take: of those that still hold a connection then, only streams are left. */
export const CLOSE_STREAMS_MS = 21_000
export const CLOSE_IDLE_EVERY_MS = 50
export const CLOSE_UNUSED_AFTER_MS = 300
/**
 * Connections that the kernel has opened and the server has not taken yet; the kernel's own bound (net.core.somaxconn) is 4,096 as
 * a rule. With Node's 511 a thousand of 2,000 clients that came at once had to try again after a second.
 */
export const LISTEN_BACKLOG = 4_096

// Postgres
export const SCHEMA_WAIT_SECONDS_MAX = 3_600

// Keys
/** A file that holds the master key or the operator's. */
export const KEY_FILE_BYTES_MAX = 1_024

// restore-archive
/** Between two lines about how far it is. */
export const RESTORE_PROGRESS_MS = 10_000

// The worker's process
/** Half of the way to the lowest: where cores are short it gets a tenth of what an ordinary process gets. */
export const WORKER_NICENESS = 10
/** Shorter than the 30 s after which a stop as a whole is forced. */
export const WORKER_STOP_MS_MAX = 25_000
/** Doubled each time that it ends by itself … */
export const WORKER_RESTART_PAUSE_MS_MIN = 1_000
export const WORKER_RESTART_PAUSE_MS_MAX = 60_000
/** … and begun anew by one that has run so long. */
export const WORKER_STEADY_MS = 60_000
/** Figures that it asks the database for take 2 s at most; a scrape is given up after 10 s as a rule. */
export const WORKER_METRICS_MS_MAX = 5_000

// `smoke` (docs/image.md)
/** All of it but the revocation of its key: within what `helm test` waits, 5 min. */
export const SMOKE_MS_MAX = 60_000
/** A worker publishes once a second; one that was started just now needs some seconds more. */
export const SMOKE_CHECKPOINT_MS_MAX = 30_000
export const SMOKE_POLL_MS = 250
export const SMOKE_REVOKE_MS_MAX = 10_000

// Sending to peers
/** Answers that are on their way (src/load/budgets.ts); one ledger alone may have half. More fail, and come again. */
export const PEER_ANSWERS_BYTES_MAX = 64 * 1024 * 1024

// Retention
/** Six months: Articles 19(1) and 26(6) of Regulation (EU) 2024/1689. */
export const RETENTION_DAYS_MIN_DEFAULT = 183

// Keys of archived documents
export const ARCHIVE_KEYS_PER_QUERY = 1_000
