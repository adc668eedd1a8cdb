"""Limits of the client. Each name ends with its unit."""

from typing import Final

TIMEOUT_SECONDS: Final = 30.0
"""Time that each attempt has for an answer, or for the next chunk of a stream."""
ENDLESS_SECONDS: Final = 2_000_000.0
"""23 days. Replaces longer waits and `math.inf`, which locks and sockets do not accept."""
RETRIES_MAX: Final = 5
RETRY_DELAY_SECONDS_MIN: Final = 0.1
"""Wait before the first retry. It doubles before each further one."""
RETRY_DELAY_SECONDS_MAX: Final = 5.0
RETRY_AFTER_SECONDS_MAX: Final = 60.0
"""If the server asks for a longer wait, the call is not retried: the caller should know instead of sleeping."""
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""More than the largest answer that is read whole: a page of the largest records."""
KNOWN_SIZES_MAX: Final = 1_000
"""Ledgers whose size is remembered. An `api_key` function may return keys of many ledgers."""
PROBLEM_BYTES_MAX: Final = 1024 * 1024
LINE_BYTES_MAX: Final = 32 * 1024 * 1024
"""More than the line of the largest batch. A batch has at most 4 MiB as sent; its canonical form can be longer."""
EVENT_CHARS_MAX: Final = 16 * 1024 * 1024
"""More than the longest event of a stream."""
SILENCE_SECONDS_MAX: Final = 45.0
"""Three times the longest pause that the server makes in a stream of events."""
SSE_RETRY_SECONDS: Final = 1.0
SSE_RETRY_SECONDS_MAX: Final = 60.0
SIGNATURES_MAX: Final = 3
"""Most signatures for one request. If the clock is wrong, every further signature is refused too."""
WAIT_SECONDS_MAX: Final = 20.0
"""Longest `wait` that a server accepts."""
UNTIL_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.05
"""Pause between two long polls. A server that is shutting down answers at once and would be polled without a pause."""
ENTRIES_POLL_SECONDS_MIN: Final = 0.25
ENTRIES_POLL_SECONDS_MAX: Final = 2.0
POLL_SECONDS_MIN: Final = 0.1
POLL_SECONDS_MAX: Final = 2.0
POLL_GROWTH: Final = 1.5
"""Factor from one wait to the next."""
RUN_RECORDS_MAX: Final = 10_000
"""Most records of a run that is bundled. Each costs three requests."""
BUNDLE_KEYS_MAX: Final = 1_024
"""Most keys of a ledger that a bundle may have."""
BUNDLE_PROOFS_PER_KEY_MAX: Final = 128
"""Most proofs that are requested for each key of the ledger. A binary search in 2^53 entries takes 53 steps."""
BUNDLE_SIGNING_KEYS_MAX: Final = 65_536
"""Most keys of agents in one bundle. Each agent has at most 256."""
BUNDLE_REQUESTS_MAX: Final = 2
"""Maximum number of entries of a bundle that are requested at the same time, in addition to the stream of a range.

A server allows a ledger four such reads at once. Further reads are answered 503.
"""
