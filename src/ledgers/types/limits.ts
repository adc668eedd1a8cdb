// Limits of types: the size of a definition, and the cost of compiling and validating (docs/guides/types.md)
export const TYPE_DEFINITION_BYTES_MAX = 64 * 1024
export const TYPE_RULES_MAX = 256
export const RULE_VALUES_MAX = 256
/**
 * Maximum size in bytes of the tolerances of a record, in canonical form. They are signed with the record's creation.
 */
export const TOLERANCES_BYTES_MAX = 16 * 1024
/** Maximum size in bytes of one value in the document of compared values. A longer value is replaced by its size. */
export const RULE_VALUE_BYTES_MAX = 1_024
/**
 * Maximum share of one CPU core's time that the schemas of one ledger may take. SCHEMA_WORK_AHEAD_MS_MAX: time in ms
 * that a ledger may use in advance.
 *
 * In a test, a second ledger with the worst load made the p99 latency of a ledger 2.9 times as high. It was 3.5 times
 * as high with a share of 1/4 and 20 ms in advance.
 */
export const SCHEMA_WORK_SHARE = 1 / 10
export const SCHEMA_WORK_AHEAD_MS_MAX = 5
/** Maximum time for compiling or validating in a thread. It is fifty times the time of the slowest case. */
export const VALIDATION_THREAD_MS_MAX = 2_000
export const SCHEMA_WORK_WAITING_PER_LEDGER_MAX = 256
export const SCHEMA_WORK_LEDGERS_SWEPT_FROM = 1_000
export const TYPE_CACHE_BYTES_PER_LEDGER_MAX = 8 * 1024 * 1024
export const TYPE_CACHE_BYTES_MAX = 128 * 1024 * 1024
