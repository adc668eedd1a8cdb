// Events
/** Entries that nobody wants to hear of, passed over by one query. */
export const EVENTS_SCANNED_MAX = 10_000
/** Entries whose records must be looked at, because only some are wanted or may be seen. */
export const EVENTS_SIFTED_PER_QUERY = 500
/** Tails: answers to `GET /v1/events` that go on (src/http/tails/event-tails.ts). One query for all ledgers that somebody tails. */
export const EVENTS_POLL_MS = 200
/** Share of the time of queries for all who wait (src/outside/events/watch.ts): with many they are made less often. */
export const WATCH_TIME_SHARE_MAX = 0.2
