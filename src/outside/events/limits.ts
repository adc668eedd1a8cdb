/** Maximum number of unwanted entries that one query skips. */
export const EVENTS_SCANNED_MAX = 10_000
/**
 * Maximum number of entries whose records one query reads. The limit applies if the reader wants, or may see, only some
 * of the records.
 */
export const EVENTS_SIFTED_PER_QUERY = 500
/**
 * Poll interval in ms for tails, the long answers to `GET /v1/events` (src/http/tails/event-tails.ts). One query reads
 * the ends of all tailed ledgers.
 */
export const EVENTS_POLL_MS = 200
/**
 * Maximum share of time that the queries for waiting readers may take (src/outside/events/watch.ts). With many waiting
 * readers, queries run less often.
 */
export const WATCH_TIME_SHARE_MAX = 0.2
