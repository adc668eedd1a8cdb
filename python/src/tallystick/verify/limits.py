"""All limits of the verifier. docs/formats/rules.md lists them; src/proof/limits.ts has the same names and values.

Lengths of text are bytes of UTF-8. A value is written as a product of integers, because a test reads them from here.
"""

INTEGER_MAX = 9_007_199_254_740_991
"""The largest integer up to which a double represents all integers."""

TEXT_BYTES_MAX = 1_024
URL_BYTES_MAX = 2_048
LOCATION_BYTES_MAX = 1_024

JSON_DEPTH_MAX = 64
JSON_DIGITS_MAX = 17

ENVELOPE_BYTES_MAX = 32_768
CBOR_LEVELS_MAX = 8
CBOR_ITEMS_MAX = 1_024
KID_BYTES_MAX = 64

SCOPES_MAX = 64
RULES_MAX = 256
BATCH_ITEMS_MAX = 2_048
REVISIONS_MAX = 1_000
REFERENCES_MAX = 16
SHARES_MAX = 8
ISSUERS_MAX = 32
ISSUER_KEYS_MAX = 8
CONTENT_TYPES_MAX = 32
RETENTION_DAYS_MAX = 36_500
HOLD_RECORDS_MAX = 500
SUBJECT_ERASED_MAX = 1_000
AGENT_KEYS_MAX = 8

NOTE_BYTES_MAX = 131_072
NOTE_SIGNATURES_MAX = 64
COSIGNATURE_SECONDS_MAX = 9_223_372_036_854_775_807

INCLUSION_PATH_MAX = 53
CONSISTENCY_PATH_MAX = 54
PROOF_BYTES_MAX = 262_144
PROOF_DEPTH_MAX = 4
PROOF_KEYS_MAX = 16
RECORD_BYTES_MAX = 1_572_864
RECEIPT_BYTES_MAX = 8_192
RECEIPT_FILE_BYTES_MAX = 40_960

SALT_BYTES = 16
LINE_BYTES_MAX = 32 * 1024 * 1024
"""An entry has at most 2,048 items of 16 KiB."""
LINE_DEPTH_MAX = 35
END_LINE_BYTES_MAX = 1024 * 1024
BUNDLE_FIRST_LINE_DEPTH_MAX = 4
BUNDLE_KEYS_MAX = 1_024

ARCHIVE_PIECE_ENTRIES_MAX = 4_096
ARCHIVE_ENTRY_DOCUMENTS_MAX = 4_096
ARCHIVE_SEAL_DEPTH_MAX = 3
ARCHIVE_KEY_FILE_DEPTH_MAX = 3
ARCHIVE_LINES_BYTES_MAX = 64 * 1024 * 1024
"""Decompressed lines of a piece of an archive."""
ARCHIVE_OBJECT_BYTES_MAX = 64 * 1024 * 1024
ARCHIVE_SEAL_BYTES_MAX = 64 * 1024 * 1024
ARCHIVE_SEALS_BYTES_MAX = 1024 * 1024 * 1024

KEY_LINGER_MS_MAX = 120_000
"""Time for which an ended agent or API key may still be named: requests were in flight, and clocks differ."""
CLOCK_SKEW_MS_MAX = 30_000
TAIL_AGE_MS_MAX = 60_000
"""Most time by which an entry without a checkpoint may be older than the newest entry."""

RANGE_BYTES = 512 * 1024
"""Bytes of an export that a process is given at a time."""
RANGES_PER_PROCESS = 3
"""Most ranges of lines for each process, verified or waiting. Bounds the memory."""
SMALL_FILE_BYTES = 2 * 1024 * 1024
"""Below this size, starting processes takes longer than they save."""
SPOOL_BYTES_MAX = 64 * 1024 * 1024 * 1024
"""Most bytes of standard input that are written to a temporary file."""
