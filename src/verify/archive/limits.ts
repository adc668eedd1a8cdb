/** A piece of an archive ends behind the entry with which its lines and documents reach so many bytes. */
export const ARCHIVE_PIECE_BYTES = 4 * 1024 * 1024
/** The last entry of a piece adds 18 MiB at most, and 48 bytes for each document. */
export const ARCHIVE_OBJECT_BYTES_MAX = 64 * 1024 * 1024
/** Lines compress; more than this in one piece is none that a worker has written. */
export const ARCHIVE_LINES_BYTES_MAX = 64 * 1024 * 1024
/** A seal names each of its objects, in 150 bytes: those of eight million entries without a checkpoint between. */
export const ARCHIVE_SEAL_BYTES_MAX = 64 * 1024 * 1024
/** All seals of an archive, which a verifier holds: of two billion entries. */
export const ARCHIVE_SEALS_BYTES_MAX = 1024 * 1024 * 1024
/** 37 bytes for each secret; a key file has those of all pieces of a ledger. */
export const ARCHIVE_KEY_FILE_BYTES_MAX = 256 * 1024 * 1024
/** Faulty objects that a report names one by one. */
export const ARCHIVE_FAULTS_NAMED_MAX = 100
/** Objects that are read at once. */
export const ARCHIVE_READS_AT_ONCE = 8
/** A request for an object, or its answer, that takes longer has failed … */
export const ARCHIVE_REQUEST_MS_MAX = 30_000
/** … and is made so often, with a pause that doubles. */
export const ARCHIVE_ATTEMPTS_MAX = 4
export const ARCHIVE_RETRY_PAUSE_MS = 200
/** Connections to a bucket. */
export const ARCHIVE_SOCKETS_MAX = 16

// Content that has left Postgres (src/verify/archive/archived-content.ts)
/** Bytes read of `checkpoint`. The note's own limit is smaller and has its own code. The lengths of other objects are known from Postgres. */
export const ARCHIVE_CHECKPOINT_BYTES_MAX = 1024 * 1024
/** TILE_HASHES envelopes of ENVELOPE_BYTES_MAX, each behind two bytes of its length. */
export const ARCHIVE_BUNDLE_BYTES_MAX = 256 * (2 + 32_768)
/** Lines and encrypted documents of pieces, and bundles of envelopes, that a process keeps. */
export const ARCHIVE_CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Nobody waits for what workers and commands read of the archive. */
export const ARCHIVE_UNHURRIED_MS_MAX = 120_000
/** Pieces and bundles that are fetched at once … */
export const ARCHIVE_PIECES_AT_ONCE = 4
/** … of one ledger, so that a turn is left for others … */
export const ARCHIVE_PIECES_OF_LEDGER_AT_ONCE = 3
/** … and that wait for a turn. Further reads are refused, but for those of a ledger that has less than an equal share. */
export const ARCHIVE_PIECES_WAITING_MAX = 64
/** A reader waits so long for a turn, and then so long for a piece or bundle; that goes on, for whoever asks again … */
export const ARCHIVE_PIECE_MS_MAX = 5_000
/** … until it has taken so many times as long: by then whoever waited from its beginning has gone. */
export const ARCHIVE_FETCH_WAITS_MAX = 2
/** After failures of two objects, or of the store, no other piece or bundle is asked for: a bucket that is away takes no places from readers of what is here. */
export const ARCHIVE_AWAY_PAUSE_MS = 1_000
