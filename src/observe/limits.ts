// Metrics: time of one query, while somebody waits for all of them
export const METRICS_ANSWER_TIMEOUT_MS = 2_000

// Log
/** Lines that wait for whoever reads standard output, some 20,000. More are dropped, and counted. */
export const LOG_WAITING_BYTES_MAX = 4 * 1024 * 1024
/** When a process ends: what is not read then is lost. */
export const LOG_FLUSH_MS_MAX = 1_000
/** For one line that a person is told beside the log. */
export const SAY_MS_MAX = 200
export const SAY_RETRY_MS = 10

// Traces (docs/tracing.md)
/** Ended and not at the collector yet; each takes about 2 KB. More are dropped: a traced request never waits. */
export const TRACE_SPANS_WAITING_MAX = 8_192
/** Packing them takes 2 ms of the thread. */
export const TRACE_SPANS_PER_EXPORT = 256
export const TRACE_EXPORT_EVERY_MS = 1_000
export const TRACE_EXPORT_TIMEOUT_MS_DEFAULT = 10_000
export const TRACE_EXPORT_TIMEOUT_MS_MAX = 60_000
/** When a process closes: spans that are not at the collector then are lost. */
export const TRACE_CLOSE_MS_MAX = 2_000
/** From a batch that is committed to the requests that wait for it. */
export const TRACE_LINKS_MAX = 128
export const TRACE_ATTRIBUTES_MAX = 32
export const TRACE_ATTRIBUTE_CHARS_MAX = 256
export const TRACE_LOSS_LOG_EVERY_MS = 60_000
