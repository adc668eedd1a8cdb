// Live events (console/parts/live.tsx)
/** Maximum number of the newest events that are shown, and that are stored while the list is paused. */
export const LIVE_EVENTS_MAX = 200
/** Interval in ms at which events are drawn. Events that arrive within it are drawn together. */
export const LIVE_DRAW_EVERY_MS = 250
/** Minimum time in ms between two announcements of the number of events to a screen reader. */
export const LIVE_ANNOUNCE_EVERY_MS = 5_000

// Reading
/** Interval in ms at which the figures of the overview are read. */
export const OVERVIEW_EVERY_MS = 10_000
/** Interval in ms at which relative times are redrawn. */
export const CLOCK_EVERY_MS = 10_000
/** Number of rows that a list fetches per request. */
export const PAGE_ROWS = 50
/** Number of rows that a page fetches per request if the page itself filters or counts. */
export const SCAN_ROWS = 200
/** Maximum number of records that are searched for a text. */
export const SCAN_RECORDS_MAX = 5_000
/** Maximum number of records of a day that are counted. Reading them takes 50 requests. */
export const DAY_RECORDS_MAX = 10_000
/** Maximum number of records of a run or a trace that are shown. Reading a run takes one request for each record. */
export const RUN_RECORDS_MAX = 5_000
/**
 * Maximum time in ms by which the `recordedAt` of an entry may be earlier than that of a previous entry. Both times are
 * within 30 s of the database's clock, so they can be 60 s apart.
 */
export const CLOCKS_APART_MS_MAX = 60_000
/** Maximum number of parallel requests for a run. Browsers open six connections to a server. */
export const RUN_READS_MAX = 6
/** Minimum time in ms between two redraws of a run while it is read. */
export const RUN_DRAW_EVERY_MS = 500
/** Maximum number of rows of a run whose nested activities are unfolded at first. In a larger run they are folded. */
export const RUN_ROWS_OPEN_MAX = 200
/**
 * Maximum number of members, at all depths, of a JSON value that is unfolded at first. In a larger value the inner
 * members are folded.
 */
export const JSON_OPEN_MEMBERS_MAX = 40
/** Maximum number of members that are drawn for one object or list. */
export const JSON_MEMBERS_MAX = 200
/** Maximum number of agents whose names are shown. */
export const AGENTS_MAX = 1_000
/** Maximum number of steps of a gated record that are listed, including revisions. */
export const STEPS_MAX = 1_000
/** Maximum number of waiting gated records that are listed for each group. */
export const WORK_ROWS_MAX = 200
/** Maximum number of holds that are listed, including lifted holds. */
export const HOLDS_MAX = 1_000
/**
 * Maximum number of pages of events that are read in a search for erasures. Each page covers at most 10,000 entries.
 */
export const ERASURE_PAGES_MAX = 20
/**
 * Maximum number of audits that are listed. The server stores the last 100 audits that ended, and one more may be open.
 */
export const AUDITS_MAX = 101
/** Number of characters of a case file that go into one Blob. */
export const CASE_FILE_PART_CHARS = 1 << 20
export const NEWEST_ROWS = 12
/** Maximum number of peers, webhooks and audits that the overview lists. */
export const OVERVIEW_ROWS_MAX = 50
/** Maximum number of characters that a row shows of a payload. */
export const SUMMARY_CHARS_MAX = 160
/** Time in ms for which a copy button shows that the text was copied. */
export const COPIED_MS = 1_500
