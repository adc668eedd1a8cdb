"""Batches of a notarizer. The caller sends them. Not thread-safe: the caller uses it in one thread at a time."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core.requests import make_idempotency_key
from ..errors import TallystickError, UsageError
from .delivery import Delivery
from .effects import Effects
from .errors import BufferFullError
from .items import MeasuredItem
from .memory import Memory
from .options import NotarizerStats, parse_limits
from .pending import Open, Pending
from .reports import Reports
from .segments import Found, Spool


class Core:
    def __init__(self, options: Mapping[str, Any], wake: Callable[[], None]) -> None:
        """`wake`: called when there is new work, or a new time to wait for."""
        self.limits = parse_limits(options)
        self.spool: Spool = options.get('spool') or Memory(self.limits.buffered_records_max, self.limits.buffered_bytes_max)
        self.reports = Reports(options)
        self._wake = wake
        self._delivery = Delivery(self.spool, self.limits, self.reports)
        self.open: Open | None = None
        self._sealed: deque[Pending] = deque()
        """Oldest first."""
        self._under_way: list[Pending] = []
        self.closed: str | None = None
        """Reason why no more records are accepted. None: records are accepted."""
        self.is_stopped = False
        """True: nothing is sent any more."""
        self.asked = 0
        """Number of flushes. When it grows, a retry that waits because its error needs a person is made at once."""

    def take(self, measured: MeasuredItem) -> None:
        if self.closed is not None:
            raise UsageError(self.closed)
        if not self.spool.has_room:
            raise BufferFullError(self._describe_full(), retryable=True)
        if self.open is not None and not self.open.fits(measured, self.limits.records_per_batch_max):
            self.seal()
        batch = self.open
        if batch is None:
            spooled = self.spool.begin(make_idempotency_key(), measured.item)
            batch = self.open = Open(spooled, time.monotonic() + self.limits.linger_s)
        else:
            try:
                batch.spooled.append(measured.item)
            except TallystickError:
                # Seals the batch, because its file may end with an incomplete line. Nothing may be
                # appended after such a line.
                self.seal()
                raise
        batch.count(measured)
        self.reports.took(1)
        if batch.records >= self.limits.records_per_batch_max:
            self.seal()
        elif batch.records == 1:
            self._wake()

    def seal(self) -> None:
        assert self.open is not None
        self.open.spooled.seal()
        self._sealed.append(self.open)
        self.open = None
        self._wake()

    def recover(self) -> None:
        self._add(self.spool.recover())

    def adopt(self, found: Found) -> int:
        """Queues batches of other processes behind the batches of this process. Returns the number of
        records.
        """
        if self.open is not None:
            self.seal()
        self._add(found)
        return sum(batch.records for batch in found.batches)

    def _add(self, found: Found) -> None:
        for error in found.errors:
            self.reports.failed(error)
        for spooled in found.batches:
            self.reports.took(spooled.records)
            self._sealed.append(Pending(spooled))
        self._wake()

    def next(self) -> tuple[Pending, Effects] | None:
        """Returns the next batch to send, and the generator that sends it. Returns None if nothing is
        due or `in_flight_max` is reached.
        """
        if self.is_stopped or len(self._under_way) >= self.limits.in_flight_max:
            return None
        if not self._sealed and self.open is not None and self.open.due_at <= time.monotonic():
            self.seal()
        if not self._sealed:
            return None
        pending = self._sealed.popleft()
        older = tuple(self._under_way)
        self._under_way.append(pending)
        return pending, self._delivery.deliver(pending.spooled, older)

    @property
    def due_in(self) -> float | None:
        """Returns the seconds until the open batch is due. Returns None if there is no open batch, or
        if `in_flight_max` batches are in flight.
        """
        if self.open is None or len(self._under_way) >= self.limits.in_flight_max:
            return None
        return max(0.0, self.open.due_at - time.monotonic())

    @property
    def demand(self) -> int:
        """Number of batches that could be in flight now."""
        return 0 if self.is_stopped else min(self.limits.in_flight_max, len(self._under_way) + len(self._sealed) + (self.open is not None))

    def reclaim(self) -> None:
        """Queues the batches in flight again, with the same keys, because their sender has ended."""
        self._sealed.extendleft(reversed(self._under_way))
        self._under_way.clear()

    def settle(self, pending: Pending) -> None:
        pending.is_settled = True
        self._under_way.remove(pending)
        self._wake()

    def begin_flush(self) -> Sequence[Pending]:
        """Makes all records due now. Returns the batches for which the flush waits."""
        waiting: list[Pending] = [*self._under_way, *self._sealed]
        if self.open is not None:
            self.open.due_at = 0.0
            waiting.append(self.open)
        self.asked += 1
        self._wake()
        return waiting

    def is_flushed(self, waiting: Sequence[Pending], blocks: int) -> bool:
        """Whether all batches of `waiting` are settled. Raises an error if waiting longer is useless.

        `blocks`: the value of `reports.blocks` when the wait began.
        """
        if all(pending.is_settled for pending in waiting):
            return True
        if self.reports.blocks > blocks and self.reports.last_block is not None:
            raise self.reports.last_block
        if self.is_stopped:
            raise self.reports.not_recorded('the notarizer was closed')
        return False

    @property
    def stats(self) -> NotarizerStats:
        reports = self.reports
        return NotarizerStats(
            buffered=reports.buffered,
            buffered_bytes=self.spool.used_bytes,
            in_flight=len(self._under_way),
            recorded=reports.recorded_count,
            refused=reports.refused_count,
            failures=reports.failures,
            last_error=reports.last_error,
        )

    def _describe_full(self) -> str:
        return (
            f'{self.reports.buffered} records in {self.spool.used_bytes} of {self.spool.bytes_max} bytes wait to be sent, '
            'and there is no room for another: the record was not accepted. What to do: wait for `ready()` before the next record'
        )
