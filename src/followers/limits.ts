// Limits of server keys.
/** Time that a server may continue to seal with the old master key while the master key is replaced. */
export const MASTER_KEY_AGE_MS_MAX = 1_000

// Limits of checkpoints.
export const CHECKPOINT_EVERY_MS = 500
export const CHECKPOINT_AGE_MS_MIN = 1_000
export const CHECKPOINT_LEDGERS_PER_ROUND = 500

// Limits of witnesses (docs/formats/witnesses.md).
export const WITNESSES_MAX = 16
/**
 * Maximum size of a witness's name in bytes. A signature line has at most 512 characters, and the signature takes 108
 * of them.
 */
export const WITNESS_NAME_BYTES_MAX = 384
export const WITNESS_EVERY_MS = 1_000
/**
 * Maximum number of concurrent requests to one witness. A witness that never answers occupies at most this many
 * requests, for 15 s each.
 */
export const WITNESS_POSTS_MAX = 4
/**
 * Maximum number of peers that witness a ledger by default. These are the peers of the ledger's oldest peerings. The
 * number is limited because a note has at most 64 signatures.
 */
export const PEER_WITNESSES_MAX = 16
/**
 * Maximum number of concurrent requests to all peers. 32 ledgers whose peers are all slow would occupy all of these
 * requests.
 */
export const PEER_WITNESS_POSTS_MAX = 64
/**
 * Maximum number of concurrent requests for one ledger. Slow peers of one ledger then do not delay the peers of other
 * ledgers.
 */
export const WITNESS_POSTS_PER_LEDGER_MAX = 2
export const WITNESS_LEDGERS_PER_ROUND = 64
/**
 * Maximum time that a round waits for its requests, although a request may take 15 s. The next round then handles the
 * ledgers that have grown since.
 */
export const WITNESS_ROUND_MS_MAX = 1_000
/** Maximum number of ledgers in the sender's list. Ledgers beyond this number are found later by a sweep. */
export const WITNESS_LEDGERS_WAITING_MAX = 100_000
export const WITNESS_SWEEP_EVERY_MS = 60_000
/** Minimum age of a checkpoint that a sweep sends. A younger checkpoint is sent by the worker that published it. */
export const WITNESS_SWEEP_AGE_MS = 30_000
export const WITNESS_PAUSE_MS_MIN = 1_000
export const WITNESS_PAUSE_MS_MAX = 300_000
/**
 * Maximum size in bytes of a witness's answer. A cosignature has 300 bytes, a post-quantum cosignature has 7 kB. A
 * witness may sign with several keys.
 */
export const WITNESS_ANSWER_BYTES_MAX = 128 * 1024
/** Maximum number of conflict answers (HTTP 409) that a witness may give for one checkpoint. */
export const WITNESS_CONFLICTS_MAX = 2

// Limits of the verification of completions.
/**
 * Interval in ms at which waiting completions are found. On an idle machine, a completion waits half of this interval
 * on average.
 */
export const COMPLETION_ENQUEUE_EVERY_MS = 25
/**
 * Maximum number of jobs that are ready to be started. If another ledger floods the queue, a completion waits for this
 * many jobs. That is one second at 500 jobs a second.
 */
export const COMPLETIONS_QUEUED_MAX = 512
export const COMPLETIONS_PER_BATCH = 128
/**
 * Number of batches of completions that are verified at the same time. One batch computes while the other waits for the
 * database.
 */
export const COMPLETION_BATCHES_AT_ONCE = 2
/**
 * Maximum time that a batch waits for a type to be compiled. The wait occurs if the ledger has used up its share of
 * compile time.
 */
export const COMPLETION_TYPE_WAIT_MS_MAX = 500
/**
 * Maximum time that a completion waits for a type on its first try. It is short, because other completions of the round
 * wait too. A completion whose type takes longer gets a job.
 */
export const COMPLETION_TYPE_WAIT_FIRST_MS_MAX = 100
/**
 * Time after which other workers may take over the completions that a worker has claimed, if the worker has sent
 * nothing. It is longer than the time of a batch, which is at most half a second.
 */
export const COMPLETION_CLAIM_MS_MAX = 5_000
export const COMPLETION_SWEEP_EVERY_MS = 2_000
/**
 * Time after which a new job is made for a completion whose job is still running, because the job's worker may have
 * died. A batch takes at most half a second.
 */
export const COMPLETION_JOB_MS_MAX = 5_000
export const COMPLETIONS_PER_SWEEP = 5_000

// Limits of clocks.
/**
 * Maximum time that this machine's clock may be behind the database's clock. If the difference is larger, expiries and
 * erasures wait. Servers have the same limit.
 */
export const CLOCK_BEHIND_MS_MAX = 30_000

// Limits of expiry.
export const EXPIRY_EVERY_MS = 500
export const EXPIRIES_PER_ROUND = 256
/**
 * Maximum share of time for expiries. Overdue records of closed ledgers stay in the list. Skipping them also counts
 * towards this share.
 */
export const EXPIRY_TIME_SHARE_MAX = 0.25
/** Time until a refused expiry is tried again. Somebody may have repaired the cause by then. */
export const EXPIRY_REFUSED_PAUSE_MS = 60_000
/**
 * Maximum number of refused expiries in memory. Beyond this number, the oldest are forgotten and therefore tried again.
 */
export const EXPIRIES_REFUSED_MAX = 10_000

// Limits of erasure.
export const ERASURE_EVERY_MS = 1_000
export const ERASURES_PER_ROUND = 2_048
/** Maximum number of documents that are erased together. All of them are of one ledger. */
export const ERASURES_PER_CALL = 512
export const ERASURE_CHUNKS_PER_CALL = 8
/**
 * Number of groups of documents that are erased at the same time. One group is verified while the other waits for the
 * database.
 */
export const ERASURE_CALLS_AT_ONCE = 2
/**
 * Maximum number of subject labels that one query checks. The query removes the labels of gated records that have ended
 * and have no document left.
 */
export const LABELS_PER_QUERY = 1_000
/** Time until a refused erasure is tried again. Somebody may have repaired the cause by then. */
export const ERASURE_REFUSED_PAUSE_MS = 60_000
/**
 * Maximum number of refused erasures in memory. Beyond this number, the oldest are forgotten and therefore tried again.
 */
export const ERASURES_REFUSED_MAX = 10_000

// Limits of the rotation of keys.
export const ROTATION_EVERY_MS = 1_000
/**
 * Maximum number of ledgers that one round moves to a new key. One transaction locks the heads of all these ledgers for
 * about 20 ms.
 */
export const ROTATION_LEDGERS_PER_ROUND = 200

// The next limits are for the search for restored backups. Each round checks the checkpoints that were stored last,
// because an older backup lacks them. It also checks some of the other checkpoints, round-robin.
export const RESTORED_EVERY_MS = 1_000
export const RESTORED_NEWEST_PER_ROUND = 100
export const RESTORED_OTHERS_PER_ROUND = 1_000
/** Maximum number of checkpoints that one query checks. Each check takes 10 µs. */
export const RESTORED_PER_QUERY = 1_000

// Limits of audits, and of the follower that verifies new entries.
/** Ratio of Postgres' CPU time to the follower's CPU time. For 3,000 entries, 120 ms and 1,322 ms were measured. */
export const POSTGRES_CPU_RATIO = 0.1
/**
 * Maximum share of one CPU core for verifying new entries. The CPU time of Postgres is included. An entry takes 100 µs,
 * so thousands of entries a second are possible.
 */
export const ENTRY_FOLLOWER_TIME_SHARE_MAX = 0.25
/**
 * Interval of the rounds that verify new entries. An event waits half of this interval on average. The wait is shorter
 * if a worker requests verification of the ledger.
 */
export const ENTRY_FOLLOWER_EVERY_MS = 250
/** Interval in ms of the rounds that verify new entries of ledgers with a settlement. */
export const ENTRY_FOLLOWER_AWAITED_EVERY_MS = 25
/**
 * Time in ms after the last settlement of a ledger during which the ledger's entries are verified every
 * ENTRY_FOLLOWER_AWAITED_EVERY_MS. So the next settlement waits for its own entry only.
 */
export const URGENT_LEDGER_MS = 1_000
/** Maximum number of ledgers that are verified every ENTRY_FOLLOWER_AWAITED_EVERY_MS although no settlement waits. */
export const URGENT_LEDGERS_STORED_MAX = 100
/** Maximum CPU share for ledgers with a waiting settlement. No other follower has a larger share. */
export const ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX = 0.75
/** Maximum number of audit cursors whose MACs are checked in one round. Each check takes 3 µs. */
export const AUDIT_CURSORS_PER_ROUND = 1_000
export const AUDIT_CURSORS_EVERY_MS = 1_000
/** Time after which a round ends as soon as its current range is verified. Other ledgers then do not wait long. */
export const ENTRY_FOLLOWER_ROUND_MS = 250
export const ENTRY_FOLLOWER_LEDGERS_PER_ROUND = 500
export const ENTRY_FOLLOWER_ENTRIES_PER_RANGE = 8_192
/**
 * Maximum number of entries per read. A thread verifies about the same number at a time (256 KiB). With 1,000 entries
 * per read, a round on a busy machine read each entry up to seven times.
 */
export const ENTRY_FOLLOWER_ENTRIES_PER_READ = 128
export const FAULT_REASON_CHARS_MAX = 1_000
export const JOB_POLL_SECONDS = 1
export const AUDIT_ENQUEUE_EVERY_MS = 1_000
export const AUDITS_PER_ROUND = 100
/**
 * Maximum share of one CPU core for an audit. With this share, an audit of half a million entries, or of ten million
 * records in batches, takes a few minutes.
 */
export const AUDIT_TIME_SHARE_MAX = 0.5
/** Niceness of an audit's thread, so that other processes on the machine have priority. */
export const AUDIT_NICENESS_MIN = 10
export const AUDIT_PROGRESS_EVERY_MS = 1_000
/** The schedule runs six times an hour. With AUDITS_PER_SCHEDULE_MAX, it can audit 72,000 ledgers a day. */
export const AUDIT_SCHEDULE_CRON = '*/10 * * * *'
export const AUDITS_PER_SCHEDULE_MAX = 500

// Limits of the cache of verified checkpoints.
/** Maximum number of ledgers whose newest verified note a server caches. A note has at most 4 KiB. */
export const SIGNED_CHECKPOINTS_MAX = 1_000

// Limits of retention.
/**
 * Maximum number of documents that one page of a retention sweep erases. The last record of a page may exceed the
 * limit, because a gated record has several documents.
 */
export const RETENTION_DOCUMENTS_PER_PAGE = 2_048
/**
 * Maximum number of erasures that a retention sweep appends in one call. A call locks the ledger's head for about 50
 * ms.
 */
export const RETENTION_ENTRIES_PER_CALL = 256
export const RETENTION_EVERY_MS = 5_000
/** Maximum share of time for retention. Work that users wait for has priority. */
export const RETENTION_TIME_SHARE_MAX = 0.5

// Limits of the archive (docs/operate/backup-and-archive.md#the-archive).
export const ARCHIVE_EVERY_MS = 5_000
/** Maximum share of a CPU core for archiving. Work that users wait for has priority. */
export const ARCHIVE_TIME_SHARE_MAX = 0.5
export const ARCHIVE_LEDGERS_PER_ROUND = 100
/**
 * Time after which a round ends as soon as its current ledger is archived. The pause that the CPU share requires then
 * begins soon.
 */
export const ARCHIVE_ROUND_MS = 10_000
export const ARCHIVE_SEAL_ENTRIES_DEFAULT = 65_536
/**
 * Maximum number of entries in one seal. A seal ends at the last checkpoint within this limit, and the entries after it
 * go into the next seal. If there is no checkpoint within the limit, the seal ends at the next checkpoint.
 */
export const ARCHIVE_SEAL_ENTRIES_MAX = 65_536
/**
 * Maximum number of records in one seal. They take about 20 s of CPU. After each seal the archived size is stored, and
 * the pause that the CPU share requires can begin. With a single seal, a prefix of 2.7 million records took 31 minutes
 * on a busy machine, and then nothing was archived for another 31 minutes.
 */
export const ARCHIVE_SEAL_RECORDS_MAX = 262_144
export const ARCHIVE_SEAL_SECONDS_DEFAULT = 3_600
/**
 * Maximum value that an operator can set for the age at which a prefix is sealed: one year. So every ledger is archived
 * at some time.
 */
export const ARCHIVE_SEAL_SECONDS_MAX = 31_536_000
/**
 * Time after which another worker may take over a claim that was not renewed. It is longer than the 240 s within which
 * writing an object and reading it back ends or fails.
 */
export const ARCHIVE_CLAIM_MS = 300_000
/**
 * Interval at which a worker renews its claim of a ledger while it writes or reads objects. The claim is also renewed
 * after each piece, and before the seal and the checkpoint are written.
 */
export const ARCHIVE_CLAIM_RENEWED_EVERY_MS = 30_000
/** Maximum number of objects that are written or read back at the same time. */
export const ARCHIVE_WRITES_AT_ONCE = 8
/** Limits of the removal of archived content from Postgres. */
export const RELEASE_EVERY_MS = 5_000
export const RELEASE_TIME_SHARE_MAX = 0.25
/**
 * Time after which a round ends as soon as its current chunks or envelopes are handled. With RELEASE_TIME_SHARE_MAX,
 * the pause after the round is three times as long.
 */
export const RELEASE_ROUND_MS = 10_000
/**
 * Minimum time for removing the content of a piece after its download, even if the time of the round is over. Without
 * it, the next round would have to download the piece again.
 */
export const RELEASE_PIECE_MS_MIN = 5_000
export const RELEASE_PIECES_PER_ROUND = 32
/** Maximum number of pieces of one ledger per round, so that no ledger takes a whole round. */
export const RELEASE_PIECES_PER_LEDGER = 8
/** Maximum number of chunks that are read, compared and removed at a time. They have at most 80 MiB. */
export const RELEASE_CHUNKS_PER_CALL = 16
/**
 * Maximum number of envelopes that are read and compared at a time. They have at most 8 MiB. If a read returns fewer
 * envelopes, it is the last read of the piece.
 */
export const RELEASE_ENVELOPES_AT_A_TIME = 256
/** Approximate number of entries in one page of Postgres. */
export const RELEASE_ENTRIES_PER_PAGE = 8
/**
 * Envelopes are removed in three passes, and each pass ends with a commit. The numbers are the entries of a page: the
 * first pass removes the envelope of one entry, the second those of three entries, the third the rest. So the new
 * versions of the rows fit into the space of the old ones, and the indexes need no second entry (heap-only tuples).
 * With a single pass, the indexes grew from 102 to 203 bytes an entry.
 */
export const RELEASE_PASSES: readonly (readonly number[])[] = [[0], [1, 2, 3], [4, 5, 6, 7]]
export const ARCHIVE_RETENTION_DAYS_MAX = 36_500
/** Maximum retention period of S3, in days. */
export const ARCHIVE_LOCK_DAYS_MAX = 36_500
