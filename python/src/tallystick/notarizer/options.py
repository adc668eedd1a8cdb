"""Options and counters of a notarizer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from ..errors import TallystickError, UsageError
from .limits import ITEM_BYTES_MAX
from .segments import Spool


class RecordedBatch(NamedTuple):
    """Records of a batch that the ledger has, in the order of `record`."""

    batch: str
    entry: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]
    """Each as in the server's answer (`id`, `digest`, `salt`), with its `tag`."""


class NotarizerOptions(TypedDict, total=False):
    spool: Spool | None
    """By default records wait in memory and end with the process."""
    records_per_batch_max: int
    """Most records in a batch: 1 to 2000, by default 1000."""
    linger_s: float
    """How long a batch waits for further records, by default 0.02. It waits longer while other batches are in flight."""
    in_flight_max: int
    """Batches in flight at a time, by default 1. With more, the ledger's order may differ from the order of the calls of `record`."""
    buffered_records_max: int
    """Most records in memory, without a spool. By default 20 000 records and 32 MiB."""
    buffered_bytes_max: int
    delay_s_min: float
    """Shortest and longest wait before a retry, by default 0.1 and 10. Retries are unlimited."""
    delay_s_max: float
    blocked_delay_s: float
    """Wait before a retry of an error that needs a person, such as a revoked key. By default 30."""
    timeout: float | None
    """Seconds for the answer to one attempt. By default the client's timeout."""
    on_recorded: Callable[[RecordedBatch], object] | None
    """Called when records are in the ledger, in the thread that sends. From a spool, may be called again after a crash."""
    on_refused: Callable[[dict[str, Any], TallystickError], object] | None
    """Called with a record, as sent and with its tag, that the server or an intermediary will never accept. By default logs it."""
    on_error: Callable[[TallystickError], object] | None
    """Called for failures. No record is lost, and all are tried again. By default logs the first failure.

    `error.retryable`: the failure may pass without a person.
    """


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
"""Name → default, minimum, maximum. One batch in flight gives the ledger the order of `record`."""


def parse_limits(options: Mapping[str, Any]) -> Limits:
    """Returns the limits. Raises UsageError for a value outside of its range."""
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
    """Records that were accepted and are neither recorded nor refused."""
    buffered_bytes: int
    """Bytes in memory, or in the spool."""
    in_flight: int
    recorded: int
    """Records since this notarizer was made."""
    refused: int
    failures: int
    last_error: TallystickError | None
    """Error that currently prevents the oldest batch from being recorded."""
