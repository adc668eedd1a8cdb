const MINUTE_MS = 60_000
// Webhooks: delivery to endpoints (docs/guides/webhooks.md)
/** Delay after each failed attempt. After the last one the delivery is given up. */
export const WEBHOOK_RETRY_DELAYS_MS: readonly number[] = [
  5_000,
  ...[5, 30, 120, 300, 600, 600].map((minutes) => minutes * MINUTE_MS),
]
/** Random share of a delay, up or down. */
export const WEBHOOK_RETRY_JITTER = 0.1
export const WEBHOOK_RETRY_AFTER_MS_MAX = 60 * MINUTE_MS
/** An endpoint is paused after this time without a success, if it failed on at least so many days of it. */
export const WEBHOOK_FAILING_MS_MAX = 5 * 24 * 60 * MINUTE_MS
export const WEBHOOK_FAILING_DAYS_MIN = 5
export const WEBHOOK_FAILING_DAY_MS = 24 * 60 * MINUTE_MS
/** After so many failures in a row an endpoint gets one delivery at a time, with pauses in between. */
export const WEBHOOK_BREAKER_FAILURES = 5
/**
 * The same for an endpoint that answers. Receivers that want only some events refuse the others, so more refusals are
 * allowed.
 */
export const WEBHOOK_BREAKER_REFUSALS = 20
export const WEBHOOK_BREAKER_PAUSE_MS_MIN = 5_000
export const WEBHOOK_BREAKER_PAUSE_MS_MAX = 5 * MINUTE_MS
/** Requests to one endpoint at a time: one more after each success, half after a failure. */
export const WEBHOOK_REQUESTS_FIRST = 4
export const WEBHOOK_REQUESTS_PER_ENDPOINT_MAX = 32
/** Requests of one worker. Endpoints that hang take one each. */
export const WEBHOOK_REQUESTS_MAX = 1_024
export const WEBHOOK_ENDPOINTS_MAX = 512
/** Cached opened secrets, of the endpoints used last. */
export const WEBHOOK_SIGNERS_CACHED_MAX = 10_000
/** Events of one endpoint in memory. With documents of up to 64 KiB each, fewer. */
export const WEBHOOK_EVENTS_PER_LOAD = 128
export const WEBHOOK_EVENTS_WITH_DOCUMENTS_PER_LOAD = 16
/** An entry has at most two events, and both must fit. */
export const WEBHOOK_EVENTS_PER_LOAD_MIN = 2
/**
 * Events of all endpoints of a worker, shared equally. An event takes 1 KB, at most 45 KB. One with documents counts
 * as eight and takes at most 350 KB.
 */
export const WEBHOOK_EVENTS_IN_MEMORY = 8_192
export const WEBHOOK_EVENTS_PER_DOCUMENTED_EVENT = 8
/** Pending and waiting deliveries of one endpoint. At this number no new delivery is started. */
export const WEBHOOK_OPEN_MAX = 10_000
/** Pause of an endpoint that has WEBHOOK_OPEN_MAX open deliveries, or waits for the archive. */
export const WEBHOOK_PAUSE_MS = 5_000
/** Pause of an endpoint whose deliveries all wait for the ledger's verified size. */
export const WEBHOOK_GATED_PAUSE_MS = 1_000
/** Retry delay of a delivery whose event the archive did not return. */
export const WEBHOOK_ARCHIVE_PAUSE_MS = MINUTE_MS
export const WEBHOOK_ATTEMPTS_LOGGED_MAX = 16
export const WEBHOOK_ENQUEUE_EVERY_MS = 100
export const WEBHOOK_ENQUEUE_TIME_SHARE_MAX = 0.25
/** Jobs ready to be taken at once. */
export const WEBHOOK_JOBS_QUEUED_MAX = 512
/** Another worker takes over the endpoint of a killed worker after this time. */
export const WEBHOOK_LEASE_MS = 10_000
export const WEBHOOK_POLL_MS = 100
export const WEBHOOK_LEASE_RENEW_EVERY_MS = 2_000
/**
 * Outcomes are written together: so many at a time, or after this delay. If a worker is killed, the unwritten ones
 * are sent again.
 */
export const WEBHOOK_ROWS_PER_WRITE = 256
export const WEBHOOK_WRITE_AFTER_MS = 50
/** Time that an idle endpoint keeps its lease, while half of the slots are free. */
export const WEBHOOK_LINGER_MS = 1_000
/** After this time a waiting endpoint may take the slot. */
export const WEBHOOK_LEASE_USE_MS_MAX = 30_000
/**
 * A longer request gets a row, so that the cursor can pass it. If its worker is gone, it is sent again after the
 * second time.
 */
export const WEBHOOK_STRAGGLER_MS = 1_000
export const WEBHOOK_STRAGGLER_DUE_MS = 30_000
/** Time for requests under way when a worker stops. */
export const WEBHOOK_STOP_MS_MAX = 5_000

// Webhooks: requests of tenants
/** Names of events or types in the filter of one endpoint. */
export const WEBHOOK_NAMES_MAX = 32
export const WEBHOOK_OVERLAP_SECONDS_DEFAULT = 86_400
export const WEBHOOK_OVERLAP_SECONDS_MAX = 7 * 86_400
/** Deliveries counted for the metrics, of all endpoints, for each state. */
export const WEBHOOK_DELIVERIES_COUNTED_MAX = 10_000

// Webhooks: stored deliveries
export const WEBHOOK_UPKEEP_EVERY_MS = 10_000
export const WEBHOOK_UPKEEP_TIME_SHARE_MAX = 0.1
export const WEBHOOK_UPKEEP_ENDPOINTS = 50
/** Rows of one statement, and statements in a row for one endpoint. */
export const WEBHOOK_UPKEEP_ROWS = 5_000
export const WEBHOOK_UPKEEP_DELETIONS_MAX = 20
export const WEBHOOK_DELIVERED_RETENTION_DAYS = 7
export const WEBHOOK_DELIVERED_STORED_MAX = 100_000
export const WEBHOOK_DEAD_RETENTION_DAYS = 30
