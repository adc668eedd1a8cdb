/** Limits of a control map, which people write by hand. */
export const CONTROL_MAP_BYTES_MAX = 256 * 1024
export const CONTROLS_MAX = 128
/** Rows of one control in a printed report. The CSV has all rows. */
export const REPORT_ROWS_PER_CONTROL_MAX = 5_000
/** Characters of rows that are buffered before a write to the temporary file. */
export const ROWS_BUFFER_CHARS = 64 * 1024
export const PLOT_BARS_MAX = 60
/**
 * Number of outcomes that a report names. Further outcomes count as `other`. The number is limited because agents
 * choose the names.
 */
export const REPORT_OUTCOMES_MAX = 20
