/** Maximum size of a control map in bytes. People write control maps by hand. */
export const CONTROL_MAP_BYTES_MAX = 256 * 1024
export const CONTROLS_MAX = 128
/** Maximum number of rows per control in a printed report. The CSV has all rows. */
export const REPORT_ROWS_PER_CONTROL_MAX = 5_000
/** Number of characters of rows that are buffered before a write to the temporary file. */
export const ROWS_BUFFER_CHARS = 64 * 1024
export const PLOT_BARS_MAX = 60
/**
 * Maximum number of outcomes that a report names. Further outcomes count as `other`. The number is limited because
 * agents choose the names.
 */
export const REPORT_OUTCOMES_MAX = 20
