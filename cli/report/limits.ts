/** A control map is written by hand. */
export const CONTROL_MAP_BYTES_MAX = 256 * 1024
export const CONTROLS_MAX = 128
/** Rows of one control that a printed report shows; a table of all of them is the CSV. */
export const REPORT_ROWS_PER_CONTROL_MAX = 5_000
/** Characters of rows that are buffered before a write to the temporary file. */
export const ROWS_BUFFER_CHARS = 64 * 1024
/** Bars of a plot. */
export const PLOT_BARS_MAX = 60
/** Outcomes of a report that have a name of their own; further ones are `other`. Agents may say what they like. */
export const REPORT_OUTCOMES_MAX = 20
