"""Every bound of the notarizer and its spool, by name; those of requests are the server's."""

from .._core.request_limits import DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX, METADATA_BYTES_MAX, REFERENCES_BYTES_MAX

FRAME_BYTES_MAX = 2 * 1024
"""Type, time, agent, parent and trace, with room."""
ITEM_BYTES_MAX = DOCUMENT_BYTES_MAX + METADATA_BYTES_MAX + REFERENCES_BYTES_MAX + FRAME_BYTES_MAX
DOCUMENT_DEPTH_MAX = JSON_DEPTH_MAX - 3
"""A record's payload lies in the record, in the list of records, in the body."""
TAG_CHARS_MAX = 255

BATCH_BYTES_MAX = 1_000_000
"""The server takes 4 MiB, but what is put before servers often 1 MiB only. 1000 usual records have half of that."""

HANDLES_MAX = 10_000
"""Bounds what is kept for records that may never come: a handle with its id has 100 bytes or so."""
HANDLE_LINES_MAX = 2 * HANDLES_MAX
"""Lines from which the file of handles is written anew, with the handles that are not forgotten."""

ATTEMPTS_ALONE = 3
"""Refusals of a record alone by something before the server, each with the proof that other requests pass: then it is set aside."""
SET_ASIDE_IN_A_ROW_MAX = 100
"""Records that are set aside so without one that is recorded: then everything with a record in it may be refused."""
BODY_MB = 1.1
"""A body of the largest batch that a notarizer makes, with room for the members that a parent adds."""
RETRY_AFTER_S_MAX = 60.0
"""A Retry-After is honoured up to this: the server may be well before."""
REFUSED_LINES_S = 10.0
"""Between lines about refused records: a producer that is wrong is so thousands of times."""
WAIT_S_DEFAULT = 60.0
ATTEMPT_S_MIN = 0.1
"""For an attempt that begins when `close` has no more time."""
EXIT_WAIT_S_MAX = 5.0
"""For which a process that ends waits for records that are not sent yet."""

SPOOL_BYTES_MAX_DEFAULT = 1024**3
REFUSED_BYTES_MAX_DEFAULT = 256 * 1024**2
LOCK_STALE_S_DEFAULT = 5.0
LOCK_STALE_S_MIN = 0.1
LOCK_BEATS_PER_STALE = 5
LOCK_POLLS_PER_STALE = 50
LOCK_SETTLE_S = 0.05
"""For another process that found the lock stale at the same moment to replace it as well: the last one has it."""
LINE_BYTES_MAX = ITEM_BYTES_MAX + 3 * 1024
"""An item with its tag, its handles and its batch's key."""
RESERVE_FILES = 8
"""Each is also a name and an inode: a disk may have room and no inode left."""
RESERVE_STEP_BYTES = 64 * 1024
"""The reserve grows by so much."""
RESERVE_BASE_BYTES = 32 * 1024
"""For the lock, the owner, and the blocks that small files take."""
RESERVE_RECORD_BYTES = 512
"""For a record: its problem in `refused.ndjson`, its handle with its id."""
ADOPTED_FILES_MAX = 1_000
"""Files that are moved out of the inbox at once."""
MERGED_FILES_MAX = 32
"""Files of the inbox that become one batch: of no more types or parents than the server takes in one."""
MERGED_BYTES_MAX = 1_000_000
UNFINISHED_S = 60.0
"""After which half a file in the inbox is one whose process ended, and took nothing."""
