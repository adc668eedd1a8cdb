// Verifiers
/** 64 GiB: about a KiB for each entry of one record. An export that comes as a stream has no end before it has ended. */
export const EXPORT_SPOOL_MIB_DEFAULT = 65_536
/** Others work in that directory too. */
export const EXPORT_SPOOL_SHARE_OF_FREE_MAX = 0.9

// Checkpoints
export const TREE_ENTRIES_PER_STEP = 65_536

/** Threads that a verification may be told to use. */
export const THREADS_MAX = 256
