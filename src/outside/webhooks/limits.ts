const MINUTE_MS = 60_000
// Webhooks: delivery to endpoints (docs/guides/webhooks.md)
/** Delay in ms after each failed attempt. After the last attempt the delivery is given up. */
export const WEBHOOK_RETRY_DELAYS_MS: readonly number[] = [
  5_000,
  ...[5, 30, 120, 300, 600, 600].map((minutes) => minutes * MINUTE_MS),
]
/** Maximum random change of a delay, up or down, as a share of the delay. */
export const WEBHOOK_RETRY_JITTER = 0.1
export const WEBHOOK_RETRY_AFTER_MS_MAX = 60 * MINUTE_MS
/**
 * Time in ms without a success after which an endpoint is paused. Attempts must also have failed on at least
 * WEBHOOK_FAILING_DAYS_MIN days of that time.
 */
export const WEBHOOK_FAILING_MS_MAX = 5 * 24 * 60 * MINUTE_MS
export const WEBHOOK_FAILING_DAYS_MIN = 5
export const WEBHOOK_FAILING_DAY_MS = 24 * 60 * MINUTE_MS
/** Number of failures in a row after which an endpoint gets one delivery at a time, with pauses between deliveries. */
export const WEBHOOK_BREAKER_FAILURES = 5
/**
 * Number of refusals in a row after which deliveries to an endpoint pause. It is higher than WEBHOOK_BREAKER_FAILURES,
 * because receivers that want only some events refuse the others.
 */
export const WEBHOOK_BREAKER_REFUSALS = 20
export const WEBHOOK_BREAKER_PAUSE_MS_MIN = 5_000
export const WEBHOOK_BREAKER_PAUSE_MS_MAX = 5 * MINUTE_MS
/**
 * Number of concurrent requests to one endpoint: at the start (WEBHOOK_REQUESTS_FIRST), and the maximum
 * (WEBHOOK_REQUESTS_PER_ENDPOINT_MAX). The number rises by one after each success. It is halved when the endpoint is
 * unavailable.
 */
export const WEBHOOK_REQUESTS_FIRST = 4
export const WEBHOOK_REQUESTS_PER_ENDPOINT_MAX = 32
/** Maximum number of concurrent requests of one worker. A request that hangs counts until its deadline. */
export const WEBHOOK_REQUESTS_MAX = 1_024
export const WEBHOOK_ENDPOINTS_MAX = 512
/** Maximum number of opened secrets in the cache. The secret that was cached first is removed first. */
export const WEBHOOK_SIGNERS_CACHED_MAX = 10_000
/**
 * Maximum number of events of one endpoint that are read at once. For events with documents the maximum is
 * WEBHOOK_EVENTS_WITH_DOCUMENTS_PER_LOAD, because a document has up to 64 KiB.
 */
export const WEBHOOK_EVENTS_PER_LOAD = 128
export const WEBHOOK_EVENTS_WITH_DOCUMENTS_PER_LOAD = 16
/**
 * Minimum number of events of one endpoint that are read at once. An entry has at most two events, and a read must be
 * able to return both.
 */
export const WEBHOOK_EVENTS_PER_LOAD_MIN = 2
/**
 * Maximum number of events in memory for all endpoints of a worker. The endpoints share the number equally. An event
 * usually takes 1 KB, and at most 45 KB. An event with documents counts as eight events and takes at most 350 KB.
 */
export const WEBHOOK_EVENTS_IN_MEMORY = 8_192
export const WEBHOOK_EVENTS_PER_DOCUMENTED_EVENT = 8
/** Maximum number of pending and waiting deliveries of one endpoint. At this number no new delivery is started. */
export const WEBHOOK_OPEN_MAX = 10_000
/** Pause in ms of an endpoint that has WEBHOOK_OPEN_MAX open deliveries, or that waits for the archive. */
export const WEBHOOK_PAUSE_MS = 5_000
/** Pause in ms of an endpoint whose deliveries all wait for the ledger's verified size. */
export const WEBHOOK_GATED_PAUSE_MS = 1_000
/** If the archive did not return the event of a delivery, the delivery is retried after this time in ms. */
export const WEBHOOK_ARCHIVE_PAUSE_MS = MINUTE_MS
export const WEBHOOK_ATTEMPTS_LOGGED_MAX = 16
export const WEBHOOK_ENQUEUE_EVERY_MS = 100
export const WEBHOOK_ENQUEUE_TIME_SHARE_MAX = 0.25
/** Maximum number of jobs that wait for a worker. */
export const WEBHOOK_JOBS_QUEUED_MAX = 512
/**
 * Time in ms after which a lease expires. If a worker is killed, other workers take over its endpoints after this time.
 */
export const WEBHOOK_LEASE_MS = 10_000
export const WEBHOOK_POLL_MS = 100
export const WEBHOOK_LEASE_RENEW_EVERY_MS = 2_000
/**
 * Number of outcomes that are written together. Fewer outcomes are written after WEBHOOK_WRITE_AFTER_MS. If a worker is
 * killed, deliveries with unwritten outcomes are sent again.
 */
export const WEBHOOK_ROWS_PER_WRITE = 256
export const WEBHOOK_WRITE_AFTER_MS = 50
/** Time in ms that an endpoint without work keeps its lease, if at least half of the slots are free. */
export const WEBHOOK_LINGER_MS = 1_000
/** Maximum time in ms that a worker uses one lease. Then another endpoint can get the slot. */
export const WEBHOOK_LEASE_USE_MS_MAX = 30_000
/**
 * Time in ms after which a request under way gets a row, so that the cursor can pass its delivery. If the worker dies,
 * the delivery is sent again after WEBHOOK_STRAGGLER_DUE_MS.
 */
export const WEBHOOK_STRAGGLER_MS = 1_000
export const WEBHOOK_STRAGGLER_DUE_MS = 30_000
/** Time in ms that requests under way have to end when a worker stops. */
export const WEBHOOK_STOP_MS_MAX = 5_000

// Webhooks: requests of tenants
/** Maximum number of event names in the filter of one endpoint, and maximum number of type names. */
export const WEBHOOK_NAMES_MAX = 32
export const WEBHOOK_OVERLAP_SECONDS_DEFAULT = 86_400
export const WEBHOOK_OVERLAP_SECONDS_MAX = 7 * 86_400
/** Maximum number of deliveries in each state that are counted for the metrics, over all endpoints. */
export const WEBHOOK_DELIVERIES_COUNTED_MAX = 10_000

// Webhooks: stored deliveries
export const WEBHOOK_UPKEEP_EVERY_MS = 10_000
export const WEBHOOK_UPKEEP_TIME_SHARE_MAX = 0.1
export const WEBHOOK_UPKEEP_ENDPOINTS = 50
/**
 * Maximum number of rows that one statement deletes. WEBHOOK_UPKEEP_DELETIONS_MAX: maximum number of such statements in
 * a row for one endpoint.
 */
export const WEBHOOK_UPKEEP_ROWS = 5_000
export const WEBHOOK_UPKEEP_DELETIONS_MAX = 20
export const WEBHOOK_DELIVERED_RETENTION_DAYS = 7
export const WEBHOOK_DELIVERED_STORED_MAX = 100_000
export const WEBHOOK_DEAD_RETENTION_DAYS = 30
