// Keys
/** While the master key is replaced: time that a server may go on sealing under the old one. */
export const MASTER_KEY_AGE_MS_MAX = 1_000

// Checkpoints
export const CHECKPOINT_EVERY_MS = 500
export const CHECKPOINT_AGE_MS_MIN = 1_000
export const CHECKPOINT_LEDGERS_PER_ROUND = 500

// Witnesses (docs/formats/witnesses.md)
export const WITNESSES_MAX = 16
/** A signature line has at most 512 characters; the signature takes 108. */
export const WITNESS_NAME_BYTES_MAX = 384
export const WITNESS_EVERY_MS = 1_000
/** Requests under way to one witness. One that never answers takes no more than these, for 15 s each. */
export const WITNESS_POSTS_MAX = 4
/** Peers that witness a ledger by default: those of its oldest peerings. A note has at most 64 signatures. */
export const PEER_WITNESSES_MAX = 16
/** Requests under way to all peers together. 32 ledgers whose peers are all slow would use them up. */
export const PEER_WITNESS_POSTS_MAX = 64
/** Of these, requests of one ledger, so that its slow peers do not delay the peers of others. */
export const WITNESS_POSTS_PER_LEDGER_MAX = 2
export const WITNESS_LEDGERS_PER_ROUND = 64
/**
 * A round waits no longer than this for its requests, which may take 15 s. Then ledgers that have grown meanwhile
 * come next.
 */
export const WITNESS_ROUND_MS_MAX = 1_000
/** A sweep finds any beyond this number. */
export const WITNESS_LEDGERS_WAITING_MAX = 100_000
export const WITNESS_SWEEP_EVERY_MS = 60_000
/** Younger checkpoints are sent by the worker that published them. */
export const WITNESS_SWEEP_AGE_MS = 30_000
export const WITNESS_PAUSE_MS_MIN = 1_000
export const WITNESS_PAUSE_MS_MAX = 300_000
/** A cosignature has 300 bytes, a post-quantum one 7 kB. A witness may sign with several keys. */
export const WITNESS_ANSWER_BYTES_MAX = 128 * 1024
/** Times that a witness may answer with another size than before, for one checkpoint. */
export const WITNESS_CONFLICTS_MAX = 2

// Verification of completions
/** A completion waits half of this on average, on an idle machine. */
export const COMPLETION_ENQUEUE_EVERY_MS = 50
/**
 * Jobs ready to be taken at once. A completion behind another ledger's flood waits for this many: a second at 500 a
 * second.
 */
export const COMPLETIONS_QUEUED_MAX = 512
export const COMPLETIONS_PER_BATCH = 128
/** While one batch waits for the database, the other computes. */
export const COMPLETION_BATCHES_AT_ONCE = 2
/**
 * Wait for a type that is not compiled yet, because its ledger's share of time is used up. The batch waits no longer.
 */
export const COMPLETION_TYPE_WAIT_MS_MAX = 500
/** The same on a completion's first try. Others wait in the same round, and a late one gets a job. */
export const COMPLETION_TYPE_WAIT_FIRST_MS_MAX = 100
/**
 * After this time without a sign of life, other workers may take a claimed round. Longer than a batch, which takes at
 * most half a second.
 */
export const COMPLETION_CLAIM_MS_MAX = 5_000
export const COMPLETION_SWEEP_EVERY_MS = 2_000
/**
 * A batch works for half a second at most. If a job takes longer than this, it is enqueued again: its worker may be
 * gone.
 */
export const COMPLETION_JOB_MS_MAX = 5_000
export const COMPLETIONS_PER_SWEEP = 5_000

// Clocks
/**
 * How far this machine's clock may be behind the database's. Beyond it, expiries and erasures wait. Servers have the
 * same limit.
 */
export const CLOCK_BEHIND_MS_MAX = 30_000

// Expiry
export const EXPIRY_EVERY_MS = 500
export const EXPIRIES_PER_ROUND = 256
/** Share of time. Closed ledgers keep their overdue records, and skipping them takes no more than this. */
export const EXPIRY_TIME_SHARE_MAX = 0.25
/** Pause before a refused expiry is tried again: somebody may repair the cause. */
export const EXPIRY_REFUSED_PAUSE_MS = 60_000
/** Refused records that are remembered. Beyond this number the oldest are tried again. */
export const EXPIRIES_REFUSED_MAX = 10_000

// Erasure
export const ERASURE_EVERY_MS = 1_000
export const ERASURES_PER_ROUND = 2_048
/** Limits of one call, of one ledger: documents, and chunks that contain them, of at most 5 MiB each. */
export const ERASURES_PER_CALL = 512
export const ERASURE_CHUNKS_PER_CALL = 8
/** While one call waits for the database, the other is verified. */
export const ERASURE_CALLS_AT_ONCE = 2
/** Labels of persons that a query checks. Some outlive the payload of a gated record. */
export const LABELS_PER_QUERY = 1_000
/** Pause before a refused erasure is tried again: somebody may repair the cause. */
export const ERASURE_REFUSED_PAUSE_MS = 60_000
/** Refused erasures that are remembered. Beyond this number the oldest are tried again. */
export const ERASURES_REFUSED_MAX = 10_000

// Keys that rotate
export const ROTATION_EVERY_MS = 1_000
/** One transaction locks the heads of so many ledgers, for about 20 ms. */
export const ROTATION_LEDGERS_PER_ROUND = 200

// Each round checks the most recently stored checkpoints, which an older backup lacks, and some of the others,
// round-robin.
export const RESTORED_EVERY_MS = 1_000
export const RESTORED_NEWEST_PER_ROUND = 100
export const RESTORED_OTHERS_PER_ROUND = 1_000
/** Checkpoints per query, 10 µs each. */
export const RESTORED_PER_QUERY = 1_000

// Audits, and the follower that verifies new entries
/** CPU of Postgres as a share of the follower's: 120 ms and 1,322 ms were measured for 3,000 entries. */
export const POSTGRES_CPU_RATIO = 0.1
/** Share of one core, Postgres included: at 100 µs an entry, thousands of entries a second. */
export const ENTRY_FOLLOWER_TIME_SHARE_MAX = 0.25
/** An event waits half of this on average if no worker asks for its ledger: a settlement that a server reports. */
export const ENTRY_FOLLOWER_EVERY_MS = 250
/** CPU share for ledgers with a settlement waiting. Highest of all followers. */
export const ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX = 0.75
/** Cursors whose MACs are checked in a second, 3 µs each. */
export const AUDIT_CURSORS_PER_ROUND = 1_000
export const AUDIT_CURSORS_EVERY_MS = 1_000
/** After this time a round ends at the next range, so that nobody waits for it long. */
export const ENTRY_FOLLOWER_ROUND_MS = 250
export const ENTRY_FOLLOWER_LEDGERS_PER_ROUND = 500
export const ENTRY_FOLLOWER_ENTRIES_PER_RANGE = 8_192
/**
 * About as many as a thread verifies at a time (256 KiB). With a thousand, a round on a busy machine read each entry
 * up to seven times.
 */
export const ENTRY_FOLLOWER_ENTRIES_PER_READ = 128
export const FAULT_REASON_CHARS_MAX = 1_000
export const JOB_POLL_SECONDS = 1
export const AUDIT_ENQUEUE_EVERY_MS = 1_000
export const AUDITS_PER_ROUND = 100
/** Share of one core for an audit: half a million entries in a few minutes, or ten million records in batches. */
export const AUDIT_TIME_SHARE_MAX = 0.5
/** Other processes on the machine have priority. */
export const AUDIT_NICENESS_MIN = 10
export const AUDIT_PROGRESS_EVERY_MS = 1_000
/** Six times an hour: 72,000 ledgers a day. */
export const AUDIT_SCHEDULE_CRON = '*/10 * * * *'
export const AUDITS_PER_SCHEDULE_MAX = 500

// Traces (docs/operate/observe.md#traces)
/** Ledgers whose newest verified note a server caches, at most 4 KiB each. */
export const SIGNED_CHECKPOINTS_MAX = 1_000

// Retention
/** Documents that a page erases, plus those of one record. Gated records have several. */
export const RETENTION_DOCUMENTS_PER_PAGE = 2_048
/** Erasures of one call, which locks the ledger's head for about 50 ms. */
export const RETENTION_ENTRIES_PER_CALL = 256
export const RETENTION_EVERY_MS = 5_000
/** Share of time. Work that people wait for comes first. */
export const RETENTION_TIME_SHARE_MAX = 0.5

// Archive (docs/operate/backup-and-archive.md#the-archive)
export const ARCHIVE_EVERY_MS = 5_000
/** Share of a core. Work that people wait for comes first. */
export const ARCHIVE_TIME_SHARE_MAX = 0.5
export const ARCHIVE_LEDGERS_PER_ROUND = 100
/** After this time a round ends at the next ledger, so that the pause for its CPU comes soon. */
export const ARCHIVE_ROUND_MS = 10_000
export const ARCHIVE_SEAL_ENTRIES_DEFAULT = 65_536
/** Entries of one seal. The rest goes into the next one, if a checkpoint lies between. */
export const ARCHIVE_SEAL_ENTRIES_MAX = 65_536
/**
 * Records of one seal, about 20 s of CPU. The position moves with each seal, and the pause that the CPU share
 * requires comes between two. A prefix of 2.7 million records took 31 minutes on a busy machine, and then nothing was
 * archived for as long.
 */
export const ARCHIVE_SEAL_RECORDS_MAX = 262_144
export const ARCHIVE_SEAL_SECONDS_DEFAULT = 3_600
/** A year. Every ledger is archived in the end. */
export const ARCHIVE_SEAL_SECONDS_MAX = 31_536_000
/**
 * After this time without renewal another worker may take over. Writing and reading back an object takes at most 240
 * s, or has failed.
 */
export const ARCHIVE_CLAIM_MS = 300_000
/** While objects are written or read. It is also renewed for each piece, before the seal and before the checkpoint. */
export const ARCHIVE_CLAIM_RENEWED_EVERY_MS = 30_000
/** Objects being written to the store or read back at a time. */
export const ARCHIVE_WRITES_AT_ONCE = 8
/** Content that leaves Postgres for the archive. */
export const RELEASE_EVERY_MS = 5_000
export const RELEASE_TIME_SHARE_MAX = 0.25
/** After this time a round ends at the next chunks, envelopes or piece. The pause after it is three times as long. */
export const RELEASE_ROUND_MS = 10_000
/**
 * Minimum time for a piece after its download, which took the round's time. Otherwise the next round would download
 * it again.
 */
export const RELEASE_PIECE_MS_MIN = 5_000
export const RELEASE_PIECES_PER_ROUND = 32
/** So that no ledger takes a whole round. */
export const RELEASE_PIECES_PER_LEDGER = 8
/** Chunks that are read, compared and removed at a time, at most 80 MiB. */
export const RELEASE_CHUNKS_PER_CALL = 16
/** Envelopes that are read and compared at a time, at most 8 MiB. Fewer are the last of their piece. */
export const RELEASE_ENVELOPES_AT_A_TIME = 256
/** Entries that roughly fit into a page of Postgres. */
export const RELEASE_ENTRIES_PER_PAGE = 8
/**
 * Entries of a page whose envelopes leave together: one first, then three, then the rest, each after a commit. The
 * new row versions then fit into the space of the old ones, and indexes get no second entry (heap-only tuples). In
 * one pass the indexes grew from 102 to 203 bytes an entry.
 */
export const RELEASE_PASSES: readonly (readonly number[])[] = [[0], [1, 2, 3], [4, 5, 6, 7]]
export const ARCHIVE_RETENTION_DAYS_MAX = 36_500
/** Longest retention period of S3, in days. */
export const ARCHIVE_LOCK_DAYS_MAX = 36_500
