// Live events (console/parts/live.tsx)
/** Newest events that are shown, and kept while the list is held. */
export const LIVE_EVENTS_MAX = 200
/** Events that come meanwhile are drawn together. */
export const LIVE_DRAW_EVERY_MS = 250
/** A screen reader hears how many there are no more often than this. */
export const LIVE_ANNOUNCE_EVERY_MS = 5_000

// Reading
/** Figures of the overview are asked for again after so long. */
export const OVERVIEW_EVERY_MS = 10_000
/** Relative times are told anew. */
export const CLOCK_EVERY_MS = 10_000
/** Rows that a page of a list asks for. */
export const PAGE_ROWS = 50
/** The same where the page itself filters or counts. */
export const SCAN_ROWS = 200
/** Records that are looked through for a text. */
export const SCAN_RECORDS_MAX = 5_000
/** Records of one day that are counted: 50 requests. */
export const DAY_RECORDS_MAX = 10_000
/** Records of a run or a trace that are shown. Each record of a run costs a request. */
export const RUN_RECORDS_MAX = 5_000
/** `recordedAt` of an entry may be earlier than that of a previous entry by so much: each is at most 30 s off the database's clock. */
export const CLOCKS_APART_MS_MAX = 60_000
/** Requests for a run at a time: browsers open six connections to a server. */
export const RUN_READS_MAX = 6
/** Time between two drawings of a run while it is read. */
export const RUN_DRAW_EVERY_MS = 500
/** If a run has more rows, deeds inside others are folded at first. */
export const RUN_ROWS_OPEN_MAX = 200
/** If a JSON value has more members, at all depths, the inner ones are folded at first. */
export const JSON_OPEN_MEMBERS_MAX = 40
/** Members of one object or list that are drawn. */
export const JSON_MEMBERS_MAX = 200
/** Agents whose names are shown. */
export const AGENTS_MAX = 1_000
/** Steps of a gated record, revisions among them. */
export const STEPS_MAX = 1_000
/** Work that waits, of each kind. */
export const WORK_ROWS_MAX = 200
/** Holds that are listed, lifted ones among them. */
export const HOLDS_MAX = 1_000
/** Pages of events that one search for erasures reads: each covers 10,000 entries at most. */
export const ERASURE_PAGES_MAX = 20
/** Audits in the list: the server stores the last 100 that ended, and one more may be open. */
export const AUDITS_MAX = 101
/** Characters of a case file that are handed to the browser together. */
export const CASE_FILE_PART_CHARS = 1 << 20
/** Records on the overview. */
export const NEWEST_ROWS = 12
/** Peers, webhooks and audits on the overview. */
export const OVERVIEW_ROWS_MAX = 50
/** Characters of a payload that a row shows. */
export const SUMMARY_CHARS_MAX = 160
/** Milliseconds in which a copy button says that it has copied. */
export const COPIED_MS = 1_500
