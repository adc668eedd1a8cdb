/** A piece of an archive ends with the entry at which its lines and documents reach this size. */
export const ARCHIVE_PIECE_BYTES = 4 * 1024 * 1024
/** The last entry of a piece adds at most 18 MiB, and 48 bytes for each document. */
export const ARCHIVE_OBJECT_BYTES_MAX = 64 * 1024 * 1024
/** Decompressed lines of a piece. No worker writes more. */
export const ARCHIVE_LINES_BYTES_MAX = 64 * 1024 * 1024
/**
 * A seal names each of its objects, in 150 bytes. This is room for eight million entries without a checkpoint
 * between.
 */
export const ARCHIVE_SEAL_BYTES_MAX = 64 * 1024 * 1024
/** All seals of an archive, which a verifier has in memory: room for two billion entries. */
export const ARCHIVE_SEALS_BYTES_MAX = 1024 * 1024 * 1024
/** 37 bytes for each secret. A key file has the secrets of all pieces of a ledger. */
export const ARCHIVE_KEY_FILE_BYTES_MAX = 256 * 1024 * 1024
/** Faulty objects that a report names individually. */
export const ARCHIVE_FAULTS_NAMED_MAX = 100
export const ARCHIVE_READS_AT_ONCE = 8
/** A request for an object fails after this time, its answer included. */
export const ARCHIVE_REQUEST_MS_MAX = 30_000
/** A failed request is repeated up to this number of attempts, with a doubling pause. */
export const ARCHIVE_ATTEMPTS_MAX = 4
export const ARCHIVE_RETRY_PAUSE_MS = 200
/** Connections to a bucket. */
export const ARCHIVE_SOCKETS_MAX = 16

// Content that has left Postgres (archived-content.ts)
/**
 * Bytes to read of `checkpoint`. The note's own limit is smaller and has its own code. The lengths of other objects
 * are known from Postgres.
 */
export const ARCHIVE_CHECKPOINT_BYTES_MAX = 1024 * 1024
/** TILE_HASHES envelopes of ENVELOPE_BYTES_MAX, each after two bytes of length. */
export const ARCHIVE_BUNDLE_BYTES_MAX = 256 * (2 + 32_768)
/** Pieces and bundles of envelopes that a process caches. */
export const ARCHIVE_CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Time limit of reads by workers and commands, which no client waits for. */
export const ARCHIVE_UNHURRIED_MS_MAX = 120_000
/** Concurrent fetches of pieces and bundles. */
export const ARCHIVE_PIECES_AT_ONCE = 4
/** Concurrent fetches of one ledger. One slot stays free for others. */
export const ARCHIVE_PIECES_OF_LEDGER_AT_ONCE = 3
/** Fetches that wait for a slot. Further reads are refused, except those of a ledger with less than an equal share. */
export const ARCHIVE_PIECES_WAITING_MAX = 64
/** How long a read waits for a slot, and then for a piece or bundle. The fetch continues for later reads. */
export const ARCHIVE_PIECE_MS_MAX = 5_000
/** A fetch ends after this many times that long. By then every read that waited from its start has ended. */
export const ARCHIVE_FETCH_WAITS_MAX = 2
/**
 * Pause after failures of two objects, or of the store. In this time nothing is fetched, so that an unavailable
 * bucket occupies no slots of reads from the cache.
 */
export const ARCHIVE_AWAY_PAUSE_MS = 1_000
