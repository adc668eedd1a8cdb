// Verifiers
/**
 * Default for the maximum size of a streamed export, in MiB: 64 GiB. An entry with one record takes about a KiB. A
 * limit is needed because the length of a streamed export is unknown until it ends.
 */
export const EXPORT_SPOOL_MIB_DEFAULT = 65_536
/**
 * Maximum part of the free disk space that an export may use. The rest is for other processes that use the same
 * directory.
 */
export const EXPORT_SPOOL_SHARE_OF_FREE_MAX = 0.9

// Checkpoints
export const TREE_ENTRIES_PER_STEP = 65_536

/** Maximum number of threads that a user may request for a verification. */
export const THREADS_MAX = 256
