// Keys
/** While the master key is replaced: how long a server may go on sealing under the one that goes. */
export const MASTER_KEY_AGE_MS_MAX = 1_000

// Checkpoints
export const CHECKPOINT_EVERY_MS = 500
export const CHECKPOINT_AGE_MS_MIN = 1_000
export const CHECKPOINT_LEDGERS_PER_ROUND = 500

// Witnesses (docs/formats/witnesses.md)
export const WITNESSES_MAX = 16
/** A signature line has 512 characters at most: 108 are the signature's. */
export const WITNESS_NAME_BYTES_MAX = 384
export const WITNESS_EVERY_MS = 1_000
/** Under way to one witness: one that never answers holds no more than so many, for 15 s each. */
export const WITNESS_POSTS_MAX = 4
/** Peers that witness a ledger, unless that is switched off: those of its oldest peerings. A note has at most 64 signatures. */
export const PEER_WITNESSES_MAX = 16
/** As `WITNESS_POSTS_MAX`, to all peers together: 32 ledgers whose peers are all slow would fill it. */
export const PEER_WITNESS_POSTS_MAX = 64
/** So many of these belong to one ledger, so that its slow peers do not delay the peers of others. */
export const WITNESS_POSTS_OF_LEDGER_MAX = 2
export const WITNESS_LEDGERS_PER_ROUND = 64
/** After this a round waits no longer for its requests, which have 15 s: ledgers that have grown meanwhile have their turn. */
export const WITNESS_ROUND_MS_MAX = 1_000
/** If there are more, a sweep finds the rest. */
export const WITNESS_LEDGERS_WAITING_MAX = 100_000
export const WITNESS_SWEEP_EVERY_MS = 60_000
/** Younger ones are sent by the worker that published them. */
export const WITNESS_SWEEP_AGE_MS = 30_000
export const WITNESS_PAUSE_MS_MIN = 1_000
export const WITNESS_PAUSE_MS_MAX = 300_000
/** A cosignature has 300 bytes, one of a post-quantum type 7 kB. A witness may sign with several keys. */
export const WITNESS_ANSWER_BYTES_MAX = 128 * 1024
/** Times that a witness may name another size than the one before, for one checkpoint. */
export const WITNESS_CONFLICTS_MAX = 2

// Verification of completions
/** Half of it is what a completion waits on average, on a machine with nothing else to do. */
export const COMPLETION_ENQUEUE_EVERY_MS = 50
/** Jobs that could be taken at once: what comes later than a flood of another ledger waits for so many, a second at 500 a second. */
export const COMPLETIONS_QUEUED_MAX = 512
export const COMPLETIONS_PER_BATCH = 128
/** While one waits for the database the other one computes. */
export const COMPLETION_BATCHES_AT_ONCE = 2
/** For a type that its ledger's share of the time has not compiled yet: the others of the batch don't wait longer. */
export const COMPLETION_TYPE_WAIT_MS_MAX = 500
/** … when a completion is looked at for the first time: others wait in the same round, and what is late gets a job. */
export const COMPLETION_TYPE_WAIT_FIRST_MS_MAX = 100
/** After this silence a claimed round goes to others. Longer than a batch, which takes at most half a second. */
export const COMPLETION_CLAIM_MS_MAX = 5_000
export const COMPLETION_SWEEP_EVERY_MS = 2_000
/** A batch is at work for half a second at most; whose job takes longer is enqueued again, because its worker may be gone. */
export const COMPLETION_JOB_MS_MAX = 5_000
export const COMPLETIONS_PER_SWEEP = 5_000

// Clocks
/** How far this machine's clock may be behind the database's before a time that has passed there waits: as far as a server's may be. */
export const CLOCK_BEHIND_MS_MAX = 30_000

// Expiry
export const EXPIRY_EVERY_MS = 500
export const EXPIRIES_PER_ROUND = 256
/** Closed ledgers keep what is overdue: passing over it takes no more than this share of the time. */
export const EXPIRY_TIME_SHARE_MAX = 0.25
/** A refused one is looked at again after this, because what is refused is a fault that somebody may mend. */
export const EXPIRY_REFUSED_PAUSE_MS = 60_000
/** How many are remembered to be refused; of more, the oldest are looked at anew. */
export const EXPIRIES_REFUSED_MAX = 10_000

// Erasure
export const ERASURE_EVERY_MS = 1_000
export const ERASURES_PER_ROUND = 2_048
/** Carried out by one call, of one ledger: so many documents, in so many chunks of batches, which have 5 MiB each at the most. */
export const ERASURES_PER_CALL = 512
export const ERASURE_CHUNKS_PER_CALL = 8
/** While one waits for the database the other one is verified. */
export const ERASURE_CALLS_AT_ONCE = 2
/** Labels of persons that are looked at in a query: those that outlived the payload of a gated record. */
export const LABELS_PER_QUERY = 1_000
/** A refused one is looked at again after this, because what is refused is a fault that somebody may mend. */
export const ERASURE_REFUSED_PAUSE_MS = 60_000
/** How many are remembered to be refused; of more, the oldest are looked at anew. */
export const ERASURES_REFUSED_MAX = 10_000

// Keys that rotate
export const ROTATION_EVERY_MS = 1_000
/** One transaction holds the heads of so many ledgers, for about 20 ms. */
export const ROTATION_LEDGERS_PER_ROUND = 200

// older backup lacks; the others take turns.
export const RESTORED_EVERY_MS = 1_000
export const RESTORED_NEWEST_PER_ROUND = 100
export const RESTORED_OTHERS_PER_ROUND = 1_000
/** Entries per query, 10 µs each. */
export const RESTORED_PER_QUERY = 1_000

// Audits, and the follower that verifies entries as they come
/** Postgres' CPU, estimated from that of the follower: 120 ms beside 1,322 ms for 3,000 entries. */
export const POSTGRES_CPU_RATIO = 0.1
/** Share of one core, everything included: at a hundred microseconds an entry, thousands of entries a second. */
export const ENTRY_FOLLOWER_TIME_SHARE_MAX = 0.25
/** Half of it is what an event waits on average that nobody in a worker has asked for: a settlement that a server is to tell. */
export const ENTRY_FOLLOWER_EVERY_MS = 250
/** For ledgers in which money waits for the follower: nothing else that a worker does is worth more. */
export const ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX = 0.75
/** Cursors whose MACs are looked at in a second, 3 µs each. */
export const AUDIT_CURSORS_PER_ROUND = 1_000
export const AUDIT_CURSORS_EVERY_MS = 1_000
/** After this a round ends at the next portion: those who wait for the round to end don't wait long. */
export const ENTRY_FOLLOWER_ROUND_MS = 250
export const ENTRY_FOLLOWER_LEDGERS_PER_ROUND = 500
export const ENTRY_FOLLOWER_ENTRIES_PER_SPAN = 8_192
/** About as many as a thread verifies at a time (256 KiB). With a thousand, a round on a busy machine read each entry up to seven times. */
export const ENTRY_FOLLOWER_ENTRIES_PER_READ = 128
export const FAULT_REASON_CHARS_MAX = 1_000
export const JOB_POLL_SECONDS = 1
export const AUDIT_ENQUEUE_EVERY_MS = 1_000
export const AUDITS_PER_ROUND = 100
/** Share of one core that an audit takes: half a million entries in a few minutes, or ten million records in batches. */
export const AUDIT_TIME_SHARE_MAX = 0.5
/** Other processes on the machine go first. */
export const AUDIT_NICENESS_MIN = 10
export const AUDIT_PROGRESS_EVERY_MS = 1_000
/** Six times an hour: 72,000 ledgers a day. */
export const AUDIT_SCHEDULE_CRON = '*/10 * * * *'
export const AUDITS_PER_SCHEDULE_MAX = 500

// Traces (docs/tracing.md)
/** Ledgers whose newest verified note a server remembers: 4 KiB each at most. */
export const SIGNED_CHECKPOINTS_MAX = 1_000

// Retention
/** Documents that a page erases, and those of one record more. Gated records have several. */
export const RETENTION_DOCUMENTS_PER_PAGE = 2_048
/** Erasures of one call, which holds the ledger's head for about 50 ms. */
export const RETENTION_ENTRIES_PER_CALL = 256
export const RETENTION_EVERY_MS = 5_000
/** Share of the time: what people wait for comes first. */
export const RETENTION_TIME_SHARE_MAX = 0.5

// Archive (docs/archive.md)
export const ARCHIVE_EVERY_MS = 5_000
/** Share of a core: what people wait for comes first. */
export const ARCHIVE_TIME_SHARE_MAX = 0.5
export const ARCHIVE_LEDGERS_PER_ROUND = 100
/** After this a round ends at the next ledger, so that the rest that its CPU asks for comes soon. */
export const ARCHIVE_ROUND_MS = 10_000
export const ARCHIVE_SEAL_ENTRIES_DEFAULT = 65_536
/** More go into the next seal, if a checkpoint between them allows it. */
export const ARCHIVE_SEAL_ENTRIES_MAX = 65_536
/**
 * The same, of records: about 20 s of CPU. The position moves with a seal, and the share of the time is kept between two: a prefix of 2.7 million
 * records took 31 minutes on a busy machine, and then nothing was archived for as long.
 */
export const ARCHIVE_SEAL_RECORDS_MAX = 262_144
export const ARCHIVE_SEAL_SECONDS_DEFAULT = 3_600
/** A year: a ledger at rest is archived at last. */
export const ARCHIVE_SEAL_SECONDS_MAX = 31_536_000
/** After this silence another worker may go on. An object is written and read back in 240 s at most, or has failed. */
export const ARCHIVE_CLAIM_MS = 300_000
/** While objects are written or read; and with each piece, before the seal, and before the checkpoint. */
export const ARCHIVE_CLAIM_RENEWED_EVERY_MS = 30_000
/** Objects that are on their way to the store, or back. */
export const ARCHIVE_WRITES_AT_ONCE = 8
/** Content that leaves Postgres for the archive. */
export const RELEASE_EVERY_MS = 5_000
/** Share of a core. */
export const RELEASE_TIME_SHARE_MAX = 0.25
/** After this a round ends at the next chunks, envelopes or piece: the rest after it is three times as long. */
export const RELEASE_ROUND_MS = 10_000
/** So much more after a piece was fetched, which took the round's time: the next round would have to fetch it anew. */
export const RELEASE_PIECE_MS_MIN = 5_000
export const RELEASE_PIECES_PER_ROUND = 32
/** So that no ledger takes all of a round. */
export const RELEASE_PIECES_OF_LEDGER = 8
/** Chunks that are read, compared and taken away at a time: 80 MiB at most. */
export const RELEASE_CHUNKS_PER_CALL = 16
/** Envelopes that are read and compared at a time, 8 MiB at most. Fewer are the last of their piece. */
export const RELEASE_ENVELOPES_AT_A_TIME = 256
/** Entries that about fit into a page of Postgres. */
export const RELEASE_ENTRIES_OF_PAGE = 8
/**
 * Places of a page whose envelopes leave together: one first, then three, and then the others, each after a commit. So the new versions find
 * the place of the old ones, and indexes get no second entry for them (heap-only tuples). All at once, indexes of 102 bytes an entry grew to 203.
 */
export const RELEASE_PASSES: readonly (readonly number[])[] = [[0], [1, 2, 3], [4, 5, 6, 7]]
/** A century. */
export const ARCHIVE_KEEP_DAYS_MAX = 36_500
/** Days: what S3 takes for a retention period. */
export const ARCHIVE_LOCK_DAYS_MAX = 36_500
