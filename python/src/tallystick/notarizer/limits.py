"""Limits of the notarizer and its spool. The server sets the limits of requests (_core/request_limits.py)."""

from .._core.request_limits import DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX, METADATA_BYTES_MAX, REFERENCES_BYTES_MAX

FRAME_BYTES_MAX = 2 * 1024
"""Room for type, time, agent, parent and trace."""
ITEM_BYTES_MAX = DOCUMENT_BYTES_MAX + METADATA_BYTES_MAX + REFERENCES_BYTES_MAX + FRAME_BYTES_MAX
DOCUMENT_DEPTH_MAX = JSON_DEPTH_MAX - 3
"""A payload lies three levels deep: in the record, in the list of records, in the body."""
TAG_CHARS_MAX = 255

BATCH_BYTES_MAX = 1_000_000
"""The server accepts 4 MiB, but proxies often only 1 MiB. 1000 usual records have half of that."""

HANDLES_MAX = 10_000
"""Bounds the memory for parents that may never be used: a handle with its id takes about 100 bytes."""
HANDLE_LINES_MAX = 2 * HANDLES_MAX
"""Lines after which the file of handles is written anew, with the handles that are still known."""

ATTEMPTS_ALONE = 3
"""Attempts for a single record that an intermediary refuses. Then it is set aside: each time, a probe proved that other requests pass."""
SET_ASIDE_IN_A_ROW_MAX = 100
"""Most records set aside in a row. After so many, the intermediary may refuse every record, and the others wait."""
BODY_MB = 1.1
"""Size of the largest batch that a notarizer makes, with room for the members that a parent adds."""
RETRY_AFTER_S_MAX = 60.0
"""Longest Retry-After that is obeyed: the server may recover well before a longer one."""
REFUSED_LINES_S = 10.0
"""Interval between log lines about refused records: a faulty producer is refused thousands of times."""
WAIT_S_DEFAULT = 60.0
ATTEMPT_S_MIN = 0.1
"""Shortest time for an attempt that begins when `close` has no time left."""
EXIT_WAIT_S_MAX = 5.0
"""Longest time that an ending process waits for records that are not sent."""

SPOOL_BYTES_MAX_DEFAULT = 1024**3
REFUSED_BYTES_MAX_DEFAULT = 256 * 1024**2
LOCK_STALE_S_DEFAULT = 5.0
LOCK_STALE_S_MIN = 0.1
LOCK_BEATS_PER_STALE = 5
LOCK_POLLS_PER_STALE = 50
LOCK_SETTLE_S = 0.05
"""Wait after replacing a stale lock. If several processes replace the lock, the last one owns it."""
LINE_BYTES_MAX = ITEM_BYTES_MAX + 3 * 1024
"""Longest line: an item with its tag, its handles, and its batch's key."""
RESERVE_FILES = 8
"""Each file reserves a name and an inode as well: a disk may have room and no inode left."""
RESERVE_STEP_BYTES = 64 * 1024
"""Step by which the reserve grows."""
RESERVE_BASE_BYTES = 32 * 1024
"""Room for the lock, the owner, and the blocks that small files take."""
RESERVE_RECORD_BYTES = 512
"""Room for one record: its problem in `refused.ndjson`, its handle with its id."""
ADOPTED_FILES_MAX = 1_000
"""Most files that are moved out of the inbox at once."""
MERGED_FILES_MAX = 32
"""Most files of the inbox that become one batch. Keeps its types and parents below the server's limits."""
MERGED_BYTES_MAX = 1_000_000
UNFINISHED_S = 60.0
"""Age after which an unfinished file in the inbox belongs to a process that has ended. It accepted no record."""
