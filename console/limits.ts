// Live events (console/parts/live.tsx)
/** Limit of the newest events that are shown, and that are stored while the list is paused. */
export const LIVE_EVENTS_MAX = 200
/** Events that arrive within this time are drawn together. */
export const LIVE_DRAW_EVERY_MS = 250
/** Minimum time between two announcements of the number of events to a screen reader. */
export const LIVE_ANNOUNCE_EVERY_MS = 5_000

// Reading
/** Interval at which the figures of the overview are read. */
export const OVERVIEW_EVERY_MS = 10_000
/** Interval at which relative times are redrawn. */
export const CLOCK_EVERY_MS = 10_000
/** Rows that a list fetches per request. */
export const PAGE_ROWS = 50
/** Rows that a page fetches per request if the page itself filters or counts. */
export const SCAN_ROWS = 200
/** Limit of records that are searched for a text. */
export const SCAN_RECORDS_MAX = 5_000
/** Limit of records of a day that are counted. Reading them takes 50 requests. */
export const DAY_RECORDS_MAX = 10_000
/** Limit of records of a run or a trace that are shown. Each record of a run takes a request. */
export const RUN_RECORDS_MAX = 5_000
/**
 * An entry's `recordedAt` may be earlier than that of a previous entry by this much, because each is within 30 s of
 * the database's clock.
 */
export const CLOCKS_APART_MS_MAX = 60_000
/** Parallel requests for a run. The number is six, because browsers open six connections to a server. */
export const RUN_READS_MAX = 6
/** Minimum time between two redraws of a run while it is read. */
export const RUN_DRAW_EVERY_MS = 500
/** If a run has more rows than this, nested activities are folded at first. */
export const RUN_ROWS_OPEN_MAX = 200
/** If a JSON value has more members than this, at all depths, the inner members are folded at first. */
export const JSON_OPEN_MEMBERS_MAX = 40
/** Limit of members that are drawn for one object or list. */
export const JSON_MEMBERS_MAX = 200
/** Limit of agents whose names are shown. */
export const AGENTS_MAX = 1_000
/** Limit of steps of a gated record, including revisions. */
export const STEPS_MAX = 1_000
/** Limit of waiting work that is listed, for each kind. */
export const WORK_ROWS_MAX = 200
/** Limit of holds that are listed, including lifted ones. */
export const HOLDS_MAX = 1_000
/** Limit of pages of events in a search for erasures. Each page covers at most 10,000 entries. */
export const ERASURE_PAGES_MAX = 20
/** Limit of audits that are listed. The server stores the last 100 that ended, and one more may be open. */
export const AUDITS_MAX = 101
/** Characters of a case file that go into one Blob. */
export const CASE_FILE_PART_CHARS = 1 << 20
export const NEWEST_ROWS = 12
/** Limit of peers, webhooks and audits that the overview lists. */
export const OVERVIEW_ROWS_MAX = 50
/** Limit of characters that a row shows of a payload. */
export const SUMMARY_CHARS_MAX = 160
/** Time for which a copy button shows that the text was copied. */
export const COPIED_MS = 1_500
