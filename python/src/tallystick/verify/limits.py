"""Every bound of the verifier, by name. docs/formats fixes those of the format."""

ENVELOPE_BYTES_MAX = 32_768
STATEMENT_DEPTH_MAX = 64
LINE_DEPTH_MAX = 35
ARCHIVE_LINES_BYTES_MAX = 64 * 1024 * 1024
"""Lines of a piece of an archive, decompressed."""
ARCHIVE_OBJECT_BYTES_MAX = 64 * 1024 * 1024
ARCHIVE_SEAL_BYTES_MAX = 64 * 1024 * 1024
ARCHIVE_SEALS_BYTES_MAX = 1024 * 1024 * 1024
LINE_BYTES_MAX = 32 * 1024 * 1024
"""An entry has 2,048 items of 16 KiB at most."""
CBOR_DEPTH_MAX = 64
STATEMENT_CBOR_DEPTH_MAX = 8
STATEMENT_CBOR_ITEMS_MAX = 1_024
KID_BYTES_MAX = 64
INTEGER_MAX = 2**53 - 1

TEXT_CODE_POINTS_MAX = 256
SCOPES_MAX = 64
RULES_MAX = 256
BATCH_ITEMS_MAX = 2_048
BATCH_ITEM_BITS = 12
REVISIONS_MAX = 1_000
REFERENCES_MAX = 16
SALT_BYTES = 16
SHARES_MAX = 8
ISSUERS_MAX = 32
ISSUER_KEYS_MAX = 8
CONTENT_TYPES_MAX = 32
RETENTION_DAYS_MAX = 36_500
HOLD_RECORDS_MAX = 500
SUBJECT_ERASED_MAX = 1_000
AGENT_KEYS_MAX = 8
URL_CHARS_MAX = 2_048

NOTE_CHARS_MAX = 16_384
NOTE_SIGNATURES_MAX = 64
INCLUSION_PATH_MAX = 53
CONSISTENCY_PATH_MAX = 54
PROOF_CHARS_MAX = 131_072
PROOF_DEPTH_MAX = 4
RECEIPT_BYTES_MAX = 8_192
RECEIPT_FILE_BYTES_MAX = 40_960
BUNDLE_FIRST_LINE_CHARS_MAX = 1_048_576
BUNDLE_FIRST_LINE_DEPTH_MAX = 4
BUNDLE_KEYS_MAX = 1_024
RECORD_CHARS_MAX = 4 * 1024 * 1024

GRACE_MS = 120_000
"""How long an agent or API key that has ended may still be named: requests were under way, and clocks differ."""
CLOCK_SKEW_MS = 30_000
TAIL_MS = 60_000
"""How much older than the newest entry one may be that no checkpoint covers."""

PORTION_BYTES = 512 * 1024
"""How much of an export a process is given at a time."""
PORTIONS_PER_PROCESS = 3
"""How many portions lie at a process, done or not, so that memory does not grow with the file."""
SMALL_FILE_BYTES = 2 * 1024 * 1024
"""Below it, starting processes takes longer than they save."""
LINES_KEPT_MAX = 16
SPOOL_BYTES_MAX = 64 * 1024**3
"""How much of standard input is written to a temporary file."""
