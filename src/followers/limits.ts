// Keys
/** Time that a server may continue to seal with the old master key while the master key is replaced. */
export const MASTER_KEY_AGE_MS_MAX = 1_000

// Checkpoints
export const CHECKPOINT_EVERY_MS = 500
export const CHECKPOINT_AGE_MS_MIN = 1_000
export const CHECKPOINT_LEDGERS_PER_ROUND = 500

// Witnesses (docs/formats/witnesses.md)
export const WITNESSES_MAX = 16
/** Limit of a witness's name. A signature line has at most 512 characters, and the signature takes 108 of them. */
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
/** Share of one ledger in these requests, so that its slow peers do not delay the peers of other ledgers. */
export const WITNESS_POSTS_PER_LEDGER_MAX = 2
export const WITNESS_LEDGERS_PER_ROUND = 64
/**
 * Longest time that a round waits for its requests, which may take 15 s. After it, the next round handles ledgers
 * that have grown meanwhile.
 */
export const WITNESS_ROUND_MS_MAX = 1_000
/** Limit of ledgers in the sender's list. A sweep finds the ledgers that exceed it. */
export const WITNESS_LEDGERS_WAITING_MAX = 100_000
export const WITNESS_SWEEP_EVERY_MS = 60_000
/** Age from which a sweep sends a checkpoint. The worker that published a younger one sends it. */
export const WITNESS_SWEEP_AGE_MS = 30_000
export const WITNESS_PAUSE_MS_MIN = 1_000
export const WITNESS_PAUSE_MS_MAX = 300_000
/** Limit of an answer. A cosignature has 300 bytes, a post-quantum one 7 kB. A witness may sign with several keys. */
export const WITNESS_ANSWER_BYTES_MAX = 128 * 1024
/** Answers with a conflicting size that a witness may give for one checkpoint. */
export const WITNESS_CONFLICTS_MAX = 2

// Verification of completions
/** Interval at which waiting completions are found. On an idle machine a completion waits half of it on average. */
export const COMPLETION_ENQUEUE_EVERY_MS = 50
/**
 * Limit of jobs that are ready to be taken. If another ledger floods the queue, a completion waits for this many
 * jobs: one second at 500 jobs a second.
 */
export const COMPLETIONS_QUEUED_MAX = 512
export const COMPLETIONS_PER_BATCH = 128
/** Two batches at a time: one computes while the other waits for the database. */
export const COMPLETION_BATCHES_AT_ONCE = 2
/** Longest wait of a batch for a type that is not compiled yet, because the ledger's share of time is used up. */
export const COMPLETION_TYPE_WAIT_MS_MAX = 500
/**
 * Longest wait for a type on a completion's first try. It is shorter, because other completions wait in the same
 * round; one that exceeds it gets a job.
 */
export const COMPLETION_TYPE_WAIT_FIRST_MS_MAX = 100
/**
 * After this time without renewal, other workers may take a claimed round. It is longer than a batch, which takes at
 * most half a second.
 */
export const COMPLETION_CLAIM_MS_MAX = 5_000
export const COMPLETION_SWEEP_EVERY_MS = 2_000
/**
 * After this time a completion's job is enqueued again, because its worker may be gone. A batch works for at most
 * half a second.
 */
export const COMPLETION_JOB_MS_MAX = 5_000
export const COMPLETIONS_PER_SWEEP = 5_000

// Clocks
/**
 * Largest time that this machine's clock may be behind the database's. Beyond it, expiries and erasures wait. Servers
 * have the same limit.
 */
export const CLOCK_BEHIND_MS_MAX = 30_000

// Expiry
export const EXPIRY_EVERY_MS = 500
export const EXPIRIES_PER_ROUND = 256
/**
 * Share of time for expiries. Closed ledgers stay in the list of overdue records; skipping them takes no more than
 * this share either.
 */
export const EXPIRY_TIME_SHARE_MAX = 0.25
/** Pause before a refused expiry is tried again, because somebody may repair the cause. */
export const EXPIRY_REFUSED_PAUSE_MS = 60_000
/** Refused records that are remembered. Beyond this number the oldest are tried again. */
export const EXPIRIES_REFUSED_MAX = 10_000

// Erasure
export const ERASURE_EVERY_MS = 1_000
export const ERASURES_PER_ROUND = 2_048
/** Limits of one call, of one ledger: documents, and chunks that contain them, of at most 5 MiB each. */
export const ERASURES_PER_CALL = 512
export const ERASURE_CHUNKS_PER_CALL = 8
/** Two calls at a time: one is verified while the other waits for the database. */
export const ERASURE_CALLS_AT_ONCE = 2
/** Labels of persons that one query checks. Some labels outlive the payload of their gated record. */
export const LABELS_PER_QUERY = 1_000
/** Pause before a refused erasure is tried again, because somebody may repair the cause. */
export const ERASURE_REFUSED_PAUSE_MS = 60_000
/** Refused erasures that are remembered. Beyond this number the oldest are tried again. */
export const ERASURES_REFUSED_MAX = 10_000

// Keys that rotate
export const ROTATION_EVERY_MS = 1_000
/** Ledgers whose heads one transaction locks, for about 20 ms. */
export const ROTATION_LEDGERS_PER_ROUND = 200

// Interval of rounds that look for restored backups. Each round checks the most recently stored checkpoints, which an
// older backup lacks, and some of the others, round-robin.
export const RESTORED_EVERY_MS = 1_000
export const RESTORED_NEWEST_PER_ROUND = 100
export const RESTORED_OTHERS_PER_ROUND = 1_000
/** Checkpoints that one query checks, at 10 µs each. */
export const RESTORED_PER_QUERY = 1_000

// Audits, and the follower that verifies new entries
/** CPU time of Postgres divided by the follower's CPU time. For 3,000 entries, 120 ms and 1,322 ms were measured. */
export const POSTGRES_CPU_RATIO = 0.1
/**
 * Share of one core, with the CPU of Postgres included. An entry costs 100 µs, so this allows thousands of entries a
 * second.
 */
export const ENTRY_FOLLOWER_TIME_SHARE_MAX = 0.25
/**
 * Interval of rounds. An event waits half of it on average, unless a worker requests verification of its ledger. A
 * settlement that a server appends is not requested, for example.
 */
export const ENTRY_FOLLOWER_EVERY_MS = 250
/** CPU share for ledgers with a waiting settlement. It is the highest share of all followers. */
export const ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX = 0.75
/** Cursors whose MACs are checked in one second, at 3 µs each. */
export const AUDIT_CURSORS_PER_ROUND = 1_000
export const AUDIT_CURSORS_EVERY_MS = 1_000
/** After this time a round ends at the next range, so that other ledgers do not wait long. */
export const ENTRY_FOLLOWER_ROUND_MS = 250
export const ENTRY_FOLLOWER_LEDGERS_PER_ROUND = 500
export const ENTRY_FOLLOWER_ENTRIES_PER_RANGE = 8_192
/**
 * Entries of one read: about as many as a thread verifies at a time (256 KiB). With a thousand, a round on a busy
 * machine read each entry up to seven times.
 */
export const ENTRY_FOLLOWER_ENTRIES_PER_READ = 128
export const FAULT_REASON_CHARS_MAX = 1_000
export const JOB_POLL_SECONDS = 1
export const AUDIT_ENQUEUE_EVERY_MS = 1_000
export const AUDITS_PER_ROUND = 100
/**
 * Share of one core for an audit. With it, an audit of half a million entries, or of ten million records in batches,
 * takes a few minutes.
 */
export const AUDIT_TIME_SHARE_MAX = 0.5
/** Niceness of an audit's thread, so that other processes on the machine have priority. */
export const AUDIT_NICENESS_MIN = 10
export const AUDIT_PROGRESS_EVERY_MS = 1_000
/** The schedule runs six times an hour. With the limit below, 72,000 ledgers a day are audited. */
export const AUDIT_SCHEDULE_CRON = '*/10 * * * *'
export const AUDITS_PER_SCHEDULE_MAX = 500

// Traces (docs/operate/observe.md#traces)
/** Ledgers whose newest verified note a server caches. A note has at most 4 KiB. */
export const SIGNED_CHECKPOINTS_MAX = 1_000

// Retention
/**
 * Documents that one page erases. The documents of the last record may exceed it, because gated records have several.
 */
export const RETENTION_DOCUMENTS_PER_PAGE = 2_048
/** Erasures in one call, which locks the ledger's head for about 50 ms. */
export const RETENTION_ENTRIES_PER_CALL = 256
export const RETENTION_EVERY_MS = 5_000
/** Share of time. Work that users wait for has priority. */
export const RETENTION_TIME_SHARE_MAX = 0.5

// Archive (docs/operate/backup-and-archive.md#the-archive)
export const ARCHIVE_EVERY_MS = 5_000
/** Share of a core. Work that users wait for has priority. */
export const ARCHIVE_TIME_SHARE_MAX = 0.5
export const ARCHIVE_LEDGERS_PER_ROUND = 100
/** After this time a round ends at the next ledger, so that the pause that its CPU share requires begins soon. */
export const ARCHIVE_ROUND_MS = 10_000
export const ARCHIVE_SEAL_ENTRIES_DEFAULT = 65_536
/** Entries of one seal. If a checkpoint lies within the limit, further entries go into the next seal. */
export const ARCHIVE_SEAL_ENTRIES_MAX = 65_536
/**
 * Records of one seal, about 20 s of CPU. After each seal the position moves, and the pause that the CPU share
 * requires can begin. With a single seal, a prefix of 2.7 million records took 31 minutes on a busy machine, and then
 * nothing was archived for another 31 minutes.
 */
export const ARCHIVE_SEAL_RECORDS_MAX = 262_144
export const ARCHIVE_SEAL_SECONDS_DEFAULT = 3_600
/** One year. Because of this upper bound, every ledger is archived at some time. */
export const ARCHIVE_SEAL_SECONDS_MAX = 31_536_000
/**
 * After this time without renewal another worker may take over the claim. Writing an object and reading it back
 * either ends or fails within 240 s.
 */
export const ARCHIVE_CLAIM_MS = 300_000
/**
 * Interval at which the claim is renewed while objects are written or read. It is also renewed for each piece, before
 * the seal and before the checkpoint.
 */
export const ARCHIVE_CLAIM_RENEWED_EVERY_MS = 30_000
/** Objects that are written to the store or read back at the same time. */
export const ARCHIVE_WRITES_AT_ONCE = 8
/** Content that leaves Postgres for the archive. */
export const RELEASE_EVERY_MS = 5_000
export const RELEASE_TIME_SHARE_MAX = 0.25
/**
 * After this time a round ends at the next chunks, envelopes or piece. With the time share above, the pause after the
 * round is three times as long.
 */
export const RELEASE_ROUND_MS = 10_000
/**
 * Minimum time for a piece after its download, even if the download used up the round's time. Otherwise the next
 * round would download the piece again.
 */
export const RELEASE_PIECE_MS_MIN = 5_000
export const RELEASE_PIECES_PER_ROUND = 32
/** Limit for one ledger, so that no ledger takes a whole round. */
export const RELEASE_PIECES_PER_LEDGER = 8
/** Chunks that are read, compared and removed at a time; they take at most 80 MiB. */
export const RELEASE_CHUNKS_PER_CALL = 16
/**
 * Envelopes that are read and compared at a time; they take at most 8 MiB. A call with fewer envelopes is the last of
 * its piece.
 */
export const RELEASE_ENVELOPES_AT_A_TIME = 256
/** Approximate number of entries in one page of Postgres. */
export const RELEASE_ENTRIES_PER_PAGE = 8
/**
 * Indexes of a page's entries whose envelopes are removed in the same pass: first one entry, then three, then the
 * rest, each pass after a commit. The new row versions then fit into the space of the old ones, and indexes get no
 * second entry (heap-only tuples). With a single pass the indexes grew from 102 to 203 bytes an entry.
 */
export const RELEASE_PASSES: readonly (readonly number[])[] = [[0], [1, 2, 3], [4, 5, 6, 7]]
export const ARCHIVE_RETENTION_DAYS_MAX = 36_500
/** Longest retention period of S3, in days. */
export const ARCHIVE_LOCK_DAYS_MAX = 36_500
