// Types: size of a definition, and cost of compiling and validating (docs/guides/types.md)
export const TYPE_DEFINITION_BYTES_MAX = 64 * 1024
export const TYPE_RULES_MAX = 256
export const RULE_VALUES_MAX = 256
/** Tolerances of a record, in canonical form. They are signed with its creation. */
export const TOLERANCES_BYTES_MAX = 16 * 1024
/** Size of one value in the document of compared values. A longer value is replaced by its size in bytes. */
export const RULE_VALUE_BYTES_MAX = 1_024
/**
 * Share of one core's time that the schemas of one ledger may take. `AHEAD`: time that may be used in advance.
 *
 * Measured: the p99 latency of a ledger beside another ledger with the worst load, compared with its p99 alone. It
 * was 3.5 times as high with 1 / 4 and 20 ms, and 2.9 times with these values.
 */
export const SCHEMA_WORK_SHARE = 1 / 10
export const SCHEMA_WORK_AHEAD_MS_MAX = 5
/** Time limit for compiling and validating in a thread. It is fifty times the time of the slowest case. */
export const VALIDATION_THREAD_MS_MAX = 2_000
export const SCHEMA_WORK_WAITING_PER_LEDGER_MAX = 256
export const SCHEMA_WORK_LEDGERS_SWEPT_FROM = 1_000
export const TYPE_CACHE_BYTES_PER_LEDGER_MAX = 8 * 1024 * 1024
export const TYPE_CACHE_BYTES_MAX = 128 * 1024 * 1024
