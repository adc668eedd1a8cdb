/*
 * Limits of requests that clients must know too. The SDK imports them, and `npm run docs` writes them for Python. No
 * verifier depends on them. The limits.ts files of the server's folders contain further limits.
 */

/** Maximum nesting depth of objects and arrays. The body itself counts as one level. */
export const JSON_DEPTH_MAX = 32
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

// Limits of a record. Sizes of documents are measured in canonical form.
export const DOCUMENT_BYTES_MAX = 65_536
export const METADATA_BYTES_MAX = 4_096
export const REFERENCES_BYTES_MAX = 4_096
export const REFERENCE_CHARS_MAX = 256
export const GATED_REVISIONS_DEFAULT = 3

// Limits of a batch
/**
 * Maximum number of registered types that the items of a batch use. Each type is loaded and compiled before the first
 * item is built.
 */
export const BATCH_TYPES_MAX = 32
/**
 * Maximum number of records outside of the batch that its items name as parents. Each parent is looked up before the
 * first item is built.
 */
export const BATCH_PARENTS_MAX = 64
