/*
 * All limits of the verifiers, as docs/formats/rules.md lists them. python/src/tallystick/verify/limits.py has the
 * same names and values, and test/proof/limits.test.ts compares all three lists. Lengths of text are in UTF-8 bytes.
 */

/** The largest integer that a double represents exactly. It limits sizes, seqs and times in seconds. */
export const INTEGER_MAX: number = Number.MAX_SAFE_INTEGER

// Text
/** Limit for names that people choose. Any text of 256 code points fits. */
export const TEXT_BYTES_MAX = 1_024
export const URL_BYTES_MAX = 2_048
/** Length of label 260 in a registered statement, which names the location of its content. */
export const LOCATION_BYTES_MAX = 1_024

// JSON text
/** How deep arrays and objects may nest. */
export const JSON_DEPTH_MAX = 64
/** The shortest form of a double has at most this many significant digits. */
export const JSON_DIGITS_MAX = 17

// Envelopes
export const ENVELOPE_BYTES_MAX = 32_768
/** How deep arrays, maps and tags may nest in CBOR. */
export const CBOR_LEVELS_MAX = 8
/** CBOR items in total. Each member of a map counts as two items. */
export const CBOR_ITEMS_MAX = 1_024
export const KID_BYTES_MAX = 64

// Statements
export const SCOPES_MAX = 64
export const RULES_MAX = 256
/** 2^11: the path of an item in a batch has at most 11 hashes. */
export const BATCH_ITEMS_MAX = 2_048
export const REVISIONS_MAX = 1_000
export const REFERENCES_MAX = 16
export const SHARES_MAX = 8
/** Registration policies. */
export const ISSUERS_MAX = 32
export const ISSUER_KEYS_MAX = 8
export const CONTENT_TYPES_MAX = 32
/** A hundred years. */
export const RETENTION_DAYS_MAX = 36_500
/** Records that one hold may name. */
export const HOLD_RECORDS_MAX = 500
/** Erasures that one `subject-erased` may name. Each takes at most 17 characters, so all of them fit into an entry. */
export const SUBJECT_ERASED_MAX = 1_000
/** Keys of an agent that may be current at the same time. */
export const AGENT_KEYS_MAX = 8

// Notes
/**
 * C2SP signed-note: verifiers must accept sixteen signatures of 5 kB each, which take 107 kB in base64. The rest is
 * room for the names of the signers.
 */
export const NOTE_BYTES_MAX = 131_072
export const NOTE_SIGNATURES_MAX = 64
/** Largest time of a cosignature, in seconds since 1970 (C2SP tlog-cosignature). */
export const COSIGNATURE_SECONDS_MAX = 9_223_372_036_854_775_807n
/** Number of hashes in the consistency proof of a request to a witness (C2SP tlog-witness). */
export const WITNESS_PATH_MAX = 63
/** Length of a request to a witness: one line of 45 bytes for each hash, and a note. */
export const ADD_CHECKPOINT_BYTES_MAX: number = NOTE_BYTES_MAX + WITNESS_PATH_MAX * 45 + 64
/** Highest level of a tile (C2SP tlog-tiles). */
export const TILE_LEVEL_MAX = 63

// Proofs and receipts
/** A tree of 2^53 leaves has 53 levels. */
export const INCLUSION_PATH_MAX = 53
/** One more hash than an inclusion path has. */
export const CONSISTENCY_PATH_MAX = 54
/** Two envelopes take 87,384 bytes in base64, a note 131,072, the two paths 7,300. The rest is reserve. */
export const PROOF_BYTES_MAX = 262_144
/** In `keys[…]` and `item.item`, three objects and arrays are nested. All other members are flatter. */
export const PROOF_DEPTH_MAX = 4
export const PROOF_KEYS_MAX = 16
/**
 * Payload, evidence and values of 64 KiB each, and 28 KiB of other members, if every character is escaped and so
 * takes six times its length. The other members are metadata, references, tolerances, reasons and ids. The rest is
 * reserve.
 */
export const RECORD_BYTES_MAX = 1_572_864
/** Two paths of 53 and 11 hashes, an item of 600 bytes, and a header of 2,000 bytes. The rest is reserve. */
export const RECEIPT_BYTES_MAX = 8_192
/** A statement with its receipt. */
export const RECEIPT_FILE_BYTES_MAX: number = ENVELOPE_BYTES_MAX + RECEIPT_BYTES_MAX

// Lines of exports and bundles
export const SALT_BYTES = 16
/**
 * The documents of a batch take at most 18 MiB. The worst case is a body of 4 MiB full of numbers like `1e20`, each
 * of which has 21 digits in canonical form.
 */
export const LINE_BYTES_MAX: number = 32 * 1024 * 1024
/** A document may have 32 levels (docs/formats/documents.md), and lies three levels deep in its line. */
export const LINE_DEPTH_MAX = 35
/**
 * The first line of an export or bundle contains the keys: 300 KiB for BUNDLE_KEYS_MAX keys. The first or the last
 * line also contains a note of up to 128 KiB.
 */
export const END_LINE_BYTES_MAX: number = 1024 * 1024
/** The members nested deepest are those of `of.range.left`. */
export const BUNDLE_FIRST_LINE_DEPTH_MAX = 4
/** Keys of one ledger. Enough for a monthly rotation over 80 years. */
export const BUNDLE_KEYS_MAX = 1_024

// Archives
/** Entries of a piece. The entry's index takes 12 bits of a document's position. */
export const ARCHIVE_PIECE_ENTRIES_MAX = 4_096
/** Documents of an entry. The document's index takes the other 12 bits of that position. */
export const ARCHIVE_ENTRY_DOCUMENTS_MAX = 4_096
export const ARCHIVE_SEAL_DEPTH_MAX = 3
export const ARCHIVE_KEY_FILE_DEPTH_MAX = 3

// A ledger as a whole
/**
 * How long a key may still appear after its revocation, its expiry or the disabling of its agent, by `recordedAt`.
 * Servers cache keys for at most 5 s, a request may take 40 s from authentication to signature, and two clocks may
 * each be 30 s off the database's. The limit is higher than this sum, because an honest ledger must never be refused.
 */
export const KEY_LINGER_MS_MAX = 120_000
/** How far `recordedAt` may be off the database's clock. That clock decides about deadlines. */
export const CLOCK_SKEW_MS_MAX = 30_000
/**
 * How much older than the newest entry an entry may be if no checkpoint covers it. A ledger gets a checkpoint about a
 * second after it has grown. So the times of uncovered entries differ by about a second, plus the difference between
 * the servers' clocks.
 */
export const TAIL_AGE_MS_MAX = 60_000

// Memory and speed: these limits never change a verdict
/**
 * How many member names are cached with their canonical form. Senders can invent any number of names, so the cache
 * must be limited.
 */
export const QUOTED_NAMES_MAX = 4_096
/** Longest member name that is cached. */
export const QUOTED_NAME_CHARS_MAX = 64
/** Number of line signers that a verifier caches. */
export const SIGNERS_KNOWN_MAX = 1_000
