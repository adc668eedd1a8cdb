/*
 * Limits of requests that clients know as well: the SDK imports them, and `npm run docs` writes them for Python. No
 * verifier depends on them. Servers have further limits in the limits.ts of their folders.
 */

/** Nesting of objects and arrays, the body itself included. */
export const JSON_DEPTH_MAX = 32
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

// A record. Lengths of documents are those of their canonical form.
export const DOCUMENT_BYTES_MAX = 65_536
export const METADATA_BYTES_MAX = 4_096
export const REFERENCES_BYTES_MAX = 4_096
export const REFERENCE_CHARS_MAX = 256
export const GATED_REVISIONS_DEFAULT = 3

// A batch
/** Registered types: each is loaded and compiled before the first item is built. */
export const BATCH_TYPES_MAX = 32
/** Records outside the batch that its items name as parents: each is looked up before the first item is built. */
export const BATCH_PARENTS_MAX = 64
