/**
 * Size of lines and documents at which a piece of an archive ends. The entry that reaches it is the last one of the
 * piece.
 */
export const ARCHIVE_PIECE_BYTES = 4 * 1024 * 1024
/**
 * Limit for an object. It leaves room for the last entry of a piece, which adds at most 18 MiB, and 48 bytes for each
 * document.
 */
export const ARCHIVE_OBJECT_BYTES_MAX = 64 * 1024 * 1024
/** Limit for the decompressed lines of a piece. No worker writes more. */
export const ARCHIVE_LINES_BYTES_MAX = 64 * 1024 * 1024
/**
 * Limit for a seal, which names each of its objects in 150 bytes. It leaves room for eight million entries between
 * two checkpoints.
 */
export const ARCHIVE_SEAL_BYTES_MAX = 64 * 1024 * 1024
/**
 * Limit for all seals of an archive together, which a verifier has in memory. It leaves room for two billion entries.
 */
export const ARCHIVE_SEALS_BYTES_MAX = 1024 * 1024 * 1024
/** Limit for a key file, which has the secrets of all pieces of a ledger. A secret takes 37 bytes. */
export const ARCHIVE_KEY_FILE_BYTES_MAX = 256 * 1024 * 1024
/** Number of faulty objects that a report names one by one. */
export const ARCHIVE_FAULTS_NAMED_MAX = 100
export const ARCHIVE_READS_AT_ONCE = 8
/** Time after which a request for an object fails. It includes reading the answer. */
export const ARCHIVE_REQUEST_MS_MAX = 30_000
/** Attempts for one request, including the first. The pause between them doubles each time. */
export const ARCHIVE_ATTEMPTS_MAX = 4
export const ARCHIVE_RETRY_PAUSE_MS = 200
/** Maximum number of connections to a bucket. */
export const ARCHIVE_SOCKETS_MAX = 16

// Content that has left Postgres (archived-content.ts)
/**
 * Bytes to read of the object `checkpoint`. The note itself has a smaller limit with an error code of its own. The
 * lengths of other objects are known from Postgres.
 */
export const ARCHIVE_CHECKPOINT_BYTES_MAX = 1024 * 1024
/** Limit for a bundle: TILE_HASHES envelopes of ENVELOPE_BYTES_MAX, each after two bytes of length. */
export const ARCHIVE_BUNDLE_BYTES_MAX = 256 * (2 + 32_768)
/** Bytes of pieces and bundles of envelopes that a process caches. */
export const ARCHIVE_CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Time limit of reads by workers and commands, which no client waits for. */
export const ARCHIVE_UNHURRIED_MS_MAX = 120_000
/** Maximum number of concurrent fetches of pieces and bundles. */
export const ARCHIVE_PIECES_AT_ONCE = 4
/**
 * Maximum number of concurrent fetches of one ledger. The number is less than ARCHIVE_PIECES_AT_ONCE, so that one
 * slot stays free for other ledgers.
 */
export const ARCHIVE_PIECES_OF_LEDGER_AT_ONCE = 3
/**
 * Maximum number of fetches that wait for a slot. Further reads are refused, unless their ledger has less than an
 * equal share of the fetches.
 */
export const ARCHIVE_PIECES_WAITING_MAX = 64
/**
 * How long a read waits for a slot, and then again for its piece or bundle. If the read ends earlier than the fetch,
 * the fetch continues for later reads.
 */
export const ARCHIVE_PIECE_MS_MAX = 5_000
/**
 * A fetch ends after ARCHIVE_PIECE_MS_MAX times this number. By then all reads that waited from the start of the
 * fetch have ended.
 */
export const ARCHIVE_FETCH_WAITS_MAX = 2
/**
 * Pause after failures of two objects, or of the store as a whole. During the pause nothing is fetched, so that an
 * unavailable bucket does not occupy slots.
 */
export const ARCHIVE_AWAY_PAUSE_MS = 1_000
