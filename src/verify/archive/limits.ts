/**
 * Size at which a piece of an archive ends, in bytes of lines and documents. The entry that reaches this size is the
 * last entry of the piece.
 */
export const ARCHIVE_PIECE_BYTES = 4 * 1024 * 1024
/**
 * Maximum size of an object in bytes. It is larger than a piece, because the last entry of a piece adds at most 18 MiB,
 * and each document adds 48 bytes.
 */
export const ARCHIVE_OBJECT_BYTES_MAX = 64 * 1024 * 1024
/** Maximum size of the decompressed lines of a piece, in bytes. No worker writes more. */
export const ARCHIVE_LINES_BYTES_MAX = 64 * 1024 * 1024
/**
 * Maximum size of a seal in bytes. A seal takes at most about 600 bytes for each of its pieces, and most seals cover at
 * most 65,536 entries. So even if each of these entries had a piece of its own, the seal would have 40 MB.
 */
export const ARCHIVE_SEAL_BYTES_MAX = 64 * 1024 * 1024
/**
 * Maximum size of all seals of an archive together, in bytes. A verifier has all of them in memory. With entries of one
 * record of 400 bytes, this is enough for about 800 million entries.
 */
export const ARCHIVE_SEALS_BYTES_MAX = 1024 * 1024 * 1024
/**
 * Maximum size of a key file in bytes. A key file has the secrets of all pieces of a ledger. A secret takes 37 bytes.
 */
export const ARCHIVE_KEY_FILE_BYTES_MAX = 256 * 1024 * 1024
/** Maximum number of faulty objects that a report names. */
export const ARCHIVE_FAULTS_NAMED_MAX = 100
export const ARCHIVE_READS_AT_ONCE = 8
/** Time in ms after which a request for an object fails. It includes reading the answer. */
export const ARCHIVE_REQUEST_MS_MAX = 30_000
/** Maximum number of attempts for one request, including the first. The pause between attempts doubles each time. */
export const ARCHIVE_ATTEMPTS_MAX = 4
export const ARCHIVE_RETRY_PAUSE_MS = 200
/** Maximum number of connections to a bucket. */
export const ARCHIVE_SOCKETS_MAX = 16

// Content that is no longer in Postgres (archived-content.ts)
/**
 * Maximum number of bytes that are read of the object `checkpoint`. Other objects do not need this limit, because
 * Postgres stores their lengths. The parser of the note has a smaller limit and an error code of its own.
 */
export const ARCHIVE_CHECKPOINT_BYTES_MAX = 1024 * 1024
/**
 * Maximum size of a bundle in bytes: TILE_HASHES envelopes of ENVELOPE_BYTES_MAX, each after two bytes with its length.
 */
export const ARCHIVE_BUNDLE_BYTES_MAX = 256 * (2 + 32_768)
/** Maximum size of all pieces and bundles that a process caches, in bytes. */
export const ARCHIVE_CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Maximum time in ms of reads by workers and commands. No client waits for these reads. */
export const ARCHIVE_UNHURRIED_MS_MAX = 120_000
/** Maximum number of concurrent fetches of pieces and bundles. */
export const ARCHIVE_PIECES_AT_ONCE = 4
/**
 * Maximum number of concurrent fetches of one ledger. It is less than ARCHIVE_PIECES_AT_ONCE, so that one slot stays
 * free for other ledgers.
 */
export const ARCHIVE_PIECES_OF_LEDGER_AT_ONCE = 3
/**
 * Maximum number of fetches that wait for a slot. A further read is refused, unless its ledger has less than an equal
 * share of the fetches.
 */
export const ARCHIVE_PIECES_WAITING_MAX = 64
/**
 * Maximum time in ms that a read waits for a slot, and maximum time in ms that the read then waits for its piece or
 * bundle. If the fetch takes longer than the read, the fetch continues for later reads.
 */
export const ARCHIVE_PIECE_MS_MAX = 5_000
/**
 * Maximum time of a fetch, as a multiple of ARCHIVE_PIECE_MS_MAX. It is 2, so that a fetch ends only after all reads
 * that started together with it have stopped waiting.
 */
export const ARCHIVE_FETCH_WAITS_MAX = 2
/**
 * Pause in ms after failures of two objects, or of the store as a whole. Nothing is fetched during the pause, so that
 * an unavailable bucket does not occupy slots.
 */
export const ARCHIVE_AWAY_PAUSE_MS = 1_000
