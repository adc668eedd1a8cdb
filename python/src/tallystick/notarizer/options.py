"""Options and counts of a notarizer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from ..errors import TallystickError, UsageError
from .limits import ITEM_BYTES_MAX
from .segments import Spool


class RecordedBatch(NamedTuple):
    """Records that are in the ledger, in the order of `record`."""

    batch: str
    entry: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]
    """Each as the server answered it (`id`, `digest`, `salt`), with the `tag` that it was given."""


class NotarizerOptions(TypedDict, total=False):
    spool: Spool | None
    """Absent: records wait in memory, and end with the process."""
    records_per_batch_max: int
    """1 to 2000, by default 1000."""
    linger_s: float
    """How long a batch waits for more than its first record; 0.02 by default. Longer while others are under way."""
    in_flight_max: int
    """Batches under way at a time. With more than one, the default, the ledger's order may differ from that of `record`."""
    buffered_records_max: int
    """Without a spool: how much waits in memory, 20 000 records and 32 MiB by default."""
    buffered_bytes_max: int
    delay_s_min: float
    """Before a retry: 0.1 and 10 by default. The number of retries has no bound."""
    delay_s_max: float
    blocked_delay_s: float
    """Before a retry of what only people can mend, such as a revoked key: 30 by default."""
    timeout: float | None
    """Seconds for the answer to one attempt. Absent: the client's."""
    on_recorded: Callable[[RecordedBatch], object] | None
    """Records are in the ledger. From a spool this may be said again after a crash. Called in the thread that sends."""
    on_refused: Callable[[dict[str, Any], TallystickError], object] | None
    """A record that the server, or something before it, will never take: as it was sent, with its tag. Absent: it is logged."""
    on_error: Callable[[TallystickError], object] | None
    """Hears of failures. Everything is kept, and tried again; `error.retryable`: without anybody's help. Absent: the first is logged."""


class Limits(NamedTuple):
    records_per_batch_max: int
    linger_s: float
    in_flight_max: int
    buffered_records_max: int
    buffered_bytes_max: int
    delay_s_min: float
    delay_s_max: float
    blocked_delay_s: float


_NUMBERS: dict[str, tuple[float, float, float]] = {
    'records_per_batch_max': (1_000, 1, 2_000),
    'linger_s': (0.02, 0, 60),
    'in_flight_max': (1, 1, 16),
    'buffered_records_max': (20_000, 1, 10_000_000),
    'buffered_bytes_max': (32 * 1024 * 1024, ITEM_BYTES_MAX, 2**32),
    'delay_s_min': (0.1, 0.001, 3_600),
    'delay_s_max': (10, 0.001, 3_600),
    'blocked_delay_s': (30, 0.001, 3_600),
}
"""Name → default, least, most. One batch in flight keeps the ledger in the order of `record`, which is what a ledger is read in."""


def parse_limits(options: Mapping[str, Any]) -> Limits:
    """Raises UsageError for what is outside of its range."""
    limits: dict[str, Any] = {}
    for name, (usual, least, most) in _NUMBERS.items():
        value = options.get(name, usual)
        is_number = isinstance(value, (int, float)) if name.endswith(('_s', '_s_min', '_s_max')) else isinstance(value, int)
        if isinstance(value, bool) or not is_number or not least <= value <= most:
            raise UsageError(f'{name} must be a number from {least} to {most}')
        limits[name] = value
    found = Limits(**limits)
    if found.delay_s_min > found.delay_s_max:
        raise UsageError('delay_s_min must be at most delay_s_max')
    return found


class NotarizerStats(NamedTuple):
    buffered: int
    """Taken, and neither recorded nor refused yet."""
    buffered_bytes: int
    """Bytes in memory, or in the spool."""
    in_flight: int
    """Batches under way."""
    recorded: int
    """Since this notarizer began."""
    refused: int
    failures: int
    """Attempts that failed."""
    last_error: TallystickError | None
    """Error that keeps the oldest batch from being recorded at the moment."""
