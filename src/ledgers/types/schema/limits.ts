// Types: size of a definition, and cost of compiling and validating (docs/guides/types.md)
export const SCHEMA_SUBSCHEMAS_MAX = 1_000
/**
 * Length of a subschema's JSON Pointer in its schema. Each pointer contains the names around it. One name of 17,000
 * characters around 990 subschemas was 17 MB of text, and blocked the event loop for 6 s: V8 hashes a string above
 * 16,383 characters by its length alone.
 */
export const SCHEMA_POINTER_CHARS_MAX = 1_024
/** Nested subschemas that check the same value, by $ref and similar keywords. Each takes stack. */
export const SCHEMA_IN_PLACE_DEPTH_MAX = 16
export const SCHEMA_ENUM_VALUES_MAX = 1_000
export const SCHEMA_PATTERNS_MAX = 64
export const PATTERN_CHARS_MAX = 256
export const PATTERN_INSTRUCTIONS_MAX = 1_000
/** A step takes 5 to 18 ns of CPU: at most 10 ms for the largest document. */
export const VALIDATION_STEPS_BASE = 20_000
export const VALIDATION_STEPS_PER_BYTE = 8
/** Steps of a validation on the event loop: half a millisecond. A longer validation starts again in a thread. */
export const VALIDATION_LOOP_STEPS_MAX = 40_000
export const FAULT_PATH_CHARS_MAX = 512
