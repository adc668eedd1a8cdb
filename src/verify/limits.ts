// Verifiers
/**
 * 64 GiB: room for about a KiB for each entry of one record. The length of a streamed export is unknown until it
 * ends.
 */
export const EXPORT_SPOOL_MIB_DEFAULT = 65_536
/** Share of the free space, because other processes use that directory too. */
export const EXPORT_SPOOL_SHARE_OF_FREE_MAX = 0.9

// Checkpoints
export const TREE_ENTRIES_PER_STEP = 65_536

/** Threads that a user may request for a verification. */
export const THREADS_MAX = 256
