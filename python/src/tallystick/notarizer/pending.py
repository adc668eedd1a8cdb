"""Batches that are not settled yet."""

from .._core.request_limits import BATCH_PARENTS_MAX, BATCH_TYPES_MAX
from .items import MeasuredItem
from .limits import BATCH_BYTES_MAX
from .segments import SpooledBatch


class Pending:
    __slots__ = ('is_settled', 'spooled')

    def __init__(self, spooled: SpooledBatch) -> None:
        self.spooled = spooled
        self.is_settled = False
        """True when each of its records is recorded or refused."""


class Open(Pending):
    """The batch that accepts records, until it is sent or full."""

    __slots__ = ('bytes', 'due_at', 'parents', 'records', 'types')

    def __init__(self, spooled: SpooledBatch, due_at: float) -> None:
        super().__init__(spooled)
        self.types: set[str] = set()
        self.parents: set[str] = set()
        self.records = 0
        self.bytes = 0
        self.due_at = due_at
        """Monotonic time from which the batch is due."""

    def fits(self, measured: MeasuredItem, records_max: int) -> bool:
        """Whether this record fits into the batch."""
        item, kind, parent = measured
        return (
            self.records < records_max
            and self.bytes + self.records + len(item.text) <= BATCH_BYTES_MAX
            and (kind in self.types or len(self.types) < BATCH_TYPES_MAX)
            and (parent is None or parent in self.parents or len(self.parents) < BATCH_PARENTS_MAX)
        )

    def count(self, measured: MeasuredItem) -> None:
        """Counts a record that the batch has accepted."""
        item, kind, parent = measured
        self.types.add(kind)
        if parent is not None:
            self.parents.add(parent)
        self.records += 1
        self.bytes += len(item.text)
