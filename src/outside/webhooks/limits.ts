const MINUTE_MS = 60_000
// Webhooks: how endpoints are delivered to (docs/webhooks.md)
/** After an attempt that failed; then the delivery is given up. */
export const WEBHOOK_RETRY_DELAYS_MS: readonly number[] = [
  5_000,
  ...[5, 30, 120, 300, 600, 600].map((minutes) => minutes * MINUTE_MS),
]
/** Share of a delay, up or down. */
export const WEBHOOK_RETRY_JITTER = 0.1
export const WEBHOOK_RETRY_AFTER_MS_MAX = 60 * MINUTE_MS
/** An endpoint is paused that has had no success for so long, and failed on so many days of it. */
export const WEBHOOK_FAILING_MS_MAX = 5 * 24 * 60 * MINUTE_MS
export const WEBHOOK_FAILING_DAYS_MIN = 5
export const WEBHOOK_FAILING_DAY_MS = 24 * 60 * MINUTE_MS
/** From so many failures in a row on an endpoint is tried with one delivery at a time, and left alone in between. */
export const WEBHOOK_BREAKER_FAILURES = 5
/** … and one that answers from so many refusals on: receivers that want only some of the events refuse the others. */
export const WEBHOOK_BREAKER_REFUSALS = 20
export const WEBHOOK_BREAKER_PAUSE_MS_MIN = 5_000
export const WEBHOOK_BREAKER_PAUSE_MS_MAX = 5 * MINUTE_MS
/** Requests to one endpoint at a time: as many as it answers well, one more for each success, half after a failure. */
export const WEBHOOK_REQUESTS_FIRST = 4
export const WEBHOOK_REQUESTS_PER_ENDPOINT_MAX = 32
/** Requests of one worker: endpoints that hang hold one each. */
export const WEBHOOK_REQUESTS_MAX = 1_024
export const WEBHOOK_LANES_MAX = 512
/** Opened secrets, of endpoints that were delivered to last. */
export const WEBHOOK_SIGNERS_KEPT_MAX = 10_000
/** Events of an endpoint in memory; with documents, of up to 64 KiB each, fewer. */
export const WEBHOOK_EVENTS_PER_LOAD = 128
export const WEBHOOK_EVENTS_WITH_DOCUMENTS_PER_LOAD = 16
/** An entry has two events at most, and both must fit. */
export const WEBHOOK_EVENTS_PER_LOAD_MIN = 2
/**
 * Events of all endpoints that a worker delivers to; each of many has its share. An event has 1 KB, 45 KB at most; one with
 * documents, which counts as eight, 350 KB at most.
 */
export const WEBHOOK_EVENTS_IN_MEMORY = 8_192
export const WEBHOOK_EVENTS_PER_DOCUMENTED_EVENT = 8
/** Pending and held of one endpoint: with so many, nothing new is begun. */
export const WEBHOOK_OPEN_MAX = 10_000
/** An endpoint that has so many open, or something to be read that the archive did not give, is left alone for so long. */
export const WEBHOOK_REST_MS = 5_000
/** With nothing but settlements that wait for their ledger's floor an endpoint gives its turn back for so long. */
export const WEBHOOK_HELD_REST_MS = 1_000
/** Deliveries whose event the archive did not give are due again after this. */
export const WEBHOOK_ARCHIVE_PAUSE_MS = MINUTE_MS
export const WEBHOOK_ATTEMPTS_LOGGED_MAX = 16
export const WEBHOOK_ENQUEUE_EVERY_MS = 100
export const WEBHOOK_ENQUEUE_TIME_SHARE_MAX = 0.25
/** Jobs that could be taken at once. */
export const WEBHOOK_JOBS_QUEUED_MAX = 512
/** An endpoint whose worker was killed is taken over after this. */
export const WEBHOOK_LEASE_MS = 10_000
export const WEBHOOK_LOOK_EVERY_MS = 100
export const WEBHOOK_LEASE_RENEW_EVERY_MS = 2_000
/** Deliveries are written together: so many at a time, or after so long. A worker that is killed leaves them to be sent again. */
export const WEBHOOK_ROWS_PER_WRITE = 256
export const WEBHOOK_WRITE_AFTER_MS = 50
/** With nothing to do an endpoint keeps its turn for so long, while half of the places are free. */
export const WEBHOOK_LINGER_MS = 1_000
/** Then another endpoint that waits may have the place. */
export const WEBHOOK_TURN_MS_MAX = 30_000
/** A request that takes longer is written down, so that the cursor can pass it; sent again after this, if its worker is gone. */
export const WEBHOOK_STRAGGLER_MS = 1_000
export const WEBHOOK_STRAGGLER_DUE_MS = 30_000
/** Time for requests under way to be answered when a worker stops. */
export const WEBHOOK_STOP_MS_MAX = 5_000

// Webhooks: requests of tenants
/** Names of events or types that one endpoint asks for. */
export const WEBHOOK_NAMES_MAX = 32
export const WEBHOOK_OVERLAP_SECONDS_DEFAULT = 86_400
export const WEBHOOK_OVERLAP_SECONDS_MAX = 7 * 86_400
/** … and of all endpoints, of each state, for the metrics. */
export const WEBHOOK_DELIVERIES_COUNTED_MAX = 10_000

// Webhooks: kept deliveries
export const WEBHOOK_UPKEEP_EVERY_MS = 10_000
export const WEBHOOK_UPKEEP_TIME_SHARE_MAX = 0.1
export const WEBHOOK_UPKEEP_ENDPOINTS = 50
/** One statement removes so many, for one endpoint so many times in a row. */
export const WEBHOOK_UPKEEP_ROWS = 5_000
export const WEBHOOK_UPKEEP_DELETIONS_MAX = 20
export const WEBHOOK_DELIVERED_KEPT_DAYS = 7
export const WEBHOOK_DELIVERED_KEPT_MAX = 100_000
export const WEBHOOK_DEAD_KEPT_DAYS = 30
