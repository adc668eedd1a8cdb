// Maximum time in ms of one query for metrics. A scrape waits for all queries.
export const METRICS_ANSWER_TIMEOUT_MS = 2_000

// Log
/**
 * Maximum size in bytes of the log lines that wait for the reader of standard output. These are about 20,000 lines.
 * Further lines are dropped and counted.
 */
export const LOG_WAITING_BYTES_MAX = 4 * 1024 * 1024
/** Maximum time in ms to write waiting log lines when a process ends. Lines that are not written by then are lost. */
export const LOG_FLUSH_MS_MAX = 1_000
/** Maximum time in ms to wait for the reader of a line that is shown to a person and is not part of the log. */
export const OUTPUT_WAIT_MS_MAX = 200
export const OUTPUT_RETRY_MS = 10

// Traces (docs/operate/observe.md#traces)
/**
 * Maximum number of ended spans that the collector has not received yet. Each takes about 2 KB. Further spans are
 * dropped, so that a traced request never waits.
 */
export const TRACE_SPANS_WAITING_MAX = 8_192
/** Maximum number of spans in one request to the collector. Serializing them takes 2 ms of the thread. */
export const TRACE_SPANS_PER_EXPORT = 256
export const TRACE_EXPORT_EVERY_MS = 1_000
export const TRACE_EXPORT_TIMEOUT_MS_DEFAULT = 10_000
export const TRACE_EXPORT_TIMEOUT_MS_MAX = 60_000
/** Maximum time in ms to send waiting spans when a process closes. Spans that are not sent by then are lost. */
export const TRACE_CLOSE_MS_MAX = 2_000
/** Maximum number of links from a commit batch to the requests in it. */
export const TRACE_LINKS_MAX = 128
export const TRACE_ATTRIBUTES_MAX = 32
export const TRACE_ATTRIBUTE_CHARS_MAX = 256
export const TRACE_LOSS_LOG_EVERY_MS = 60_000
