// Limits of start and stop of a server
/**
 * Default time from SIGTERM until the server stops listening. Load balancers need this time to notice that a server is
 * not ready. Kubernetes probes every 1 to 10 s.
 */
export const DRAIN_SECONDS_DEFAULT = 5
export const DRAIN_SECONDS_MAX = 300
/**
 * Time in ms after which a closing server ends open connections. This is longer than an append may take, so that only
 * long answers are still open then.
 */
export const CLOSE_STREAMS_MS = 21_000
export const CLOSE_IDLE_EVERY_MS = 50
export const CLOSE_UNUSED_AFTER_MS = 300
/**
 * Maximum number of connections that the kernel has accepted and that wait until the server accepts them. The kernel's
 * own limit (net.core.somaxconn) is usually 4,096. With Node's default of 511, a thousand of 2,000 simultaneous clients
 * had to retry after a second.
 */
export const LISTEN_BACKLOG = 4_096

// Limits for Postgres
export const SCHEMA_WAIT_SECONDS_MAX = 3_600

// Limits of keys
/** Maximum size of a file that contains the master key or the operator's key, in bytes. */
export const KEY_FILE_BYTES_MAX = 1_024

// Time in ms between two progress messages of the command `restore-archive`.
export const RESTORE_PROGRESS_MS = 10_000

// Limits of the worker's process
/**
 * Niceness of the worker's process, halfway to the lowest priority. If there are too few cores, the worker gets a tenth
 * of the CPU of an ordinary process.
 */
export const WORKER_NICENESS = 10
/**
 * Time in ms after which a stopping worker is killed. It is shorter than the 30 s after which `npm start` itself stops
 * at once.
 */
export const WORKER_STOP_MS_MAX = 25_000
/**
 * Minimum and maximum pause in ms before the worker is restarted. The first pause is the minimum. Each further pause is
 * twice as long.
 */
export const WORKER_RESTART_PAUSE_MS_MIN = 1_000
export const WORKER_RESTART_PAUSE_MS_MAX = 60_000
/** Time in ms after which the restart pause of a running worker is reset. */
export const WORKER_STEADY_MS = 60_000
/**
 * Maximum time in ms for reading the worker's metrics. Metrics that query the database take at most 2 s, and Prometheus
 * gives up after 10 s by default.
 */
export const WORKER_METRICS_MS_MAX = 5_000

// Limits of the command `smoke` (docs/operate/image.md)
/**
 * Maximum time in ms of one run of `smoke`. The time does not include the revocation of the API key that the run
 * created. `helm test` waits 5 min.
 */
export const SMOKE_MS_MAX = 60_000
/**
 * Maximum time in ms to wait for a checkpoint. A worker publishes once a second, but a worker that has just started
 * needs some seconds.
 */
export const SMOKE_CHECKPOINT_MS_MAX = 30_000
export const SMOKE_POLL_MS = 250
export const SMOKE_REVOKE_MS_MAX = 10_000

// Limits of sending to peers
/**
 * Maximum memory in bytes for peers' answers that are being read (src/load/budgets.ts). One ledger may use half of this
 * memory. Requests beyond the limit fail and are repeated.
 */
export const PEER_ANSWERS_BYTES_MAX = 64 * 1024 * 1024

// Limits of retention
/**
 * Default for the minimum days of retention rules: six months, as Articles 19(1) and 26(6) of Regulation (EU) 2024/1689
 * require.
 */
export const RETENTION_DAYS_MIN_DEFAULT = 183

// Number of rows with keys of archived documents that one query reads.
export const ARCHIVE_KEYS_PER_QUERY = 1_000
