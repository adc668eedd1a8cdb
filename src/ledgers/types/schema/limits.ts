// Limits of schemas: the cost of compiling and validating (docs/guides/types.md)
export const SCHEMA_SUBSCHEMAS_MAX = 1_000
/**
 * Maximum number of characters of a subschema's JSON Pointer in its schema. Each pointer contains the names of all
 * surrounding schemas. With one name of 17,000 characters around 990 subschemas, the pointers had 17 MB. The event loop
 * was blocked for 6 s, because V8 hashes a string of more than 16,383 characters only by its length.
 */
export const SCHEMA_POINTER_CHARS_MAX = 1_024
/**
 * Maximum number of nested subschemas that check the same value, for example through $ref. Each level takes stack
 * memory.
 */
export const SCHEMA_IN_PLACE_DEPTH_MAX = 16
export const SCHEMA_ENUM_VALUES_MAX = 1_000
export const SCHEMA_PATTERNS_MAX = 64
export const PATTERN_CHARS_MAX = 256
export const PATTERN_INSTRUCTIONS_MAX = 1_000
/**
 * Maximum number of steps of a validation: VALIDATION_STEPS_BASE, plus VALIDATION_STEPS_PER_BYTE for each byte of the
 * document. A step takes 5 to 18 ns of CPU, so the largest document takes at most 10 ms.
 */
export const VALIDATION_STEPS_BASE = 20_000
export const VALIDATION_STEPS_PER_BYTE = 8
/**
 * Maximum number of steps of a validation on the event loop, which take about half a millisecond. A longer validation
 * starts again in a thread.
 */
export const VALIDATION_LOOP_STEPS_MAX = 40_000
export const FAULT_PATH_CHARS_MAX = 512
