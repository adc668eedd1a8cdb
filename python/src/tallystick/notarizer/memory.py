"""Stores waiting records in memory. They are lost when the process ends."""

from collections.abc import Sequence
from threading import Lock

from .handles import MemoryHandles
from .items import Item
from .limits import ITEM_BYTES_MAX
from .segments import Found, Refused, Segment, SpooledBatch, SpoolOwner


class Memory:
    is_durable = False

    def __init__(self, records_max: int, bytes_max: int) -> None:
        self.handles = MemoryHandles()
        self.bytes_max = bytes_max
        self.used_bytes = 0
        self._records_max = records_max
        self._used_records = 0
        self._mutex = Lock()

    @property
    def has_room(self) -> bool:
        return self._used_records < self._records_max and self.used_bytes + ITEM_BYTES_MAX <= self.bytes_max

    def use(self, records: int, count: int) -> None:
        with self._mutex:
            self._used_records += records
            self.used_bytes += count

    def recover(self) -> Found:
        return Found([], [])

    def adopt(self) -> Found:
        return Found([], [])

    def claim(self, owner: SpoolOwner) -> None:
        """Does nothing: memory belongs to this process."""

    def begin(self, idempotency_key: str, item: Item) -> SpooledBatch:
        batch = _MemoryBatch(self, idempotency_key)
        batch.append(item)
        return batch

    def refuse(self, refused: Sequence[Refused]) -> None:
        """Does nothing. A caller that needs refused records uses `on_refused`."""

    def close(self) -> None:
        """Does nothing, because no other process can use this memory."""


class _MemoryBatch:
    def __init__(self, memory: Memory, idempotency_key: str) -> None:
        self._memory = memory
        self._items: list[Item] = []
        self._segments: Sequence[Segment] = [Segment(idempotency_key, self._items)]
        self._bytes = 0

    @property
    def records(self) -> int:
        return sum(len(items) for _, items in self._segments)

    def append(self, item: Item) -> None:
        self._items.append(item)
        self._bytes += len(item.text)
        self._memory.use(1, len(item.text))

    def seal(self) -> None:
        """Does nothing."""

    def read(self) -> Sequence[Segment]:
        return self._segments

    def replace(self, segments: Sequence[Segment]) -> None:
        before = self.records
        self._segments = segments
        self._memory.use(self.records - before, 0)

    def remove(self) -> None:
        self._memory.use(-self.records, -self._bytes)
        self._segments = []
        self._bytes = 0
