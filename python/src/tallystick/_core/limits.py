"""Limits of the client, with their units last."""

from typing import Final

TIMEOUT_SECONDS: Final = 30.0
"""For an answer, or for the next piece of one that is streamed; each attempt has so long."""
ENDLESS_SECONDS: Final = 2_000_000.0
"""23 days stand for any longer wait, `math.inf` too, which no lock and no socket takes."""
RETRIES_MAX: Final = 5
RETRY_DELAY_SECONDS_MIN: Final = 0.1
"""Before the first retry; doubled before each further one."""
RETRY_DELAY_SECONDS_MAX: Final = 5.0
RETRY_AFTER_SECONDS_MAX: Final = 60.0
"""A server that asks for a longer wait gets no retry: the caller should know, not sleep."""
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""More than any answer that is read whole: a page of the largest records."""
KNOWN_SIZES_MAX: Final = 1_000
"""Ledgers whose size is remembered: a function may give keys of many."""
PROBLEM_BYTES_MAX: Final = 1024 * 1024
LINE_BYTES_MAX: Final = 32 * 1024 * 1024
"""More than the line of the largest batch that a server takes (4 MiB as it is sent; in canonical form it can be longer)."""
EVENT_CHARS_MAX: Final = 16 * 1024 * 1024
"""More than the longest event of a stream."""
SILENCE_SECONDS_MAX: Final = 45.0
"""Three times the silence that the server allows itself in a stream of events."""
SSE_RETRY_SECONDS: Final = 1.0
SSE_RETRY_SECONDS_MAX: Final = 60.0
SIGNATURES_MAX: Final = 3
"""With a clock that is off, a request is refused as often as it is signed."""
WAIT_SECONDS_MAX: Final = 20.0
"""As long as a server holds an answer back at most."""
UNTIL_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.05
"""Before a server is asked again that has nothing new: one that closes does not hold back."""
ENTRIES_POLL_SECONDS_MIN: Final = 0.25
ENTRIES_POLL_SECONDS_MAX: Final = 2.0
POLL_SECONDS_MIN: Final = 0.1
POLL_SECONDS_MAX: Final = 2.0
POLL_GROWTH: Final = 1.5
"""Each wait is so many times the one before it."""
RUN_RECORDS_MAX: Final = 10_000
"""Records of a run that is bundled: each costs three requests."""
BUNDLE_KEYS_MAX: Final = 1_024
"""Keys that a ledger can have: as many as a bundle takes."""
BUNDLE_PROOFS_PER_KEY_MAX: Final = 128
"""Proofs that are asked for on the way to each of them: a search in 2^53 entries halves that 53 times."""
BUNDLE_SIGNING_KEYS_MAX: Final = 65_536
"""Keys of the agents of one bundle, of which each has 256 at most."""
BUNDLE_REQUESTS_MAX: Final = 2
"""Entries of a bundle that are read at a time, beside the stream of a range. A server has four such reads open for a ledger: more are
answered 503.
"""
