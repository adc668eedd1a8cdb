"""Parents that a record names by handle, because the parent's id is not known yet."""

from collections.abc import Sequence
from threading import Lock

from .items import with_parent
from .limits import HANDLES_MAX
from .segments import Handles, RecordHandle, Segment


class MemoryHandles:
    """Handles and ids in memory. If there are too many, the oldest are forgotten first."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.lock = Lock()
        """Several threads may send batches."""

    def find(self, handle: str) -> str | None:
        return self.ids.get(handle)

    def keep(self, found: Sequence[RecordHandle]) -> None:
        with self.lock:
            self.add(found)

    def add(self, found: Sequence[RecordHandle]) -> None:
        for handle, record in found:
            self.ids.pop(handle, None)
            self.ids[handle] = record
        while len(self.ids) > HANDLES_MAX:
            del self.ids[next(iter(self.ids))]


def lacks_parent(segment: Segment) -> bool:
    """Whether the segment has a record whose parent is not an earlier record of the segment. The
    parent's id must be known before the segment is sent.
    """
    return bool(_parents_elsewhere(segment))


def give_parents(segment: Segment, handles: Handles) -> Segment:
    """Returns the segment with the ids of its parents. Only parents outside of the segment are written
    into its texts.

    The caller stores the segment before it is sent, so that the same request is sent after a crash.
    """
    elsewhere = _parents_elsewhere(segment)
    items = []
    for index, item in enumerate(segment.items):
        if index not in elsewhere or item.parent_handle is None:
            items.append(item)
            continue
        record = handles.find(item.parent_handle)
        items.append(item._replace(parent_handle=None, text=item.text if record is None else with_parent(item.text, record)))
    return Segment(segment.idempotency_key, items)


def texts_of(segment: Segment) -> list[bytes]:
    """Returns the texts to send. A parent within the segment is named by its index."""
    places: dict[str, int] = {}
    texts = []
    for index, item in enumerate(segment.items):
        place = None if item.parent_handle is None else places.get(item.parent_handle)
        if item.handle is not None:
            places[item.handle] = index
        texts.append(item.text if place is None else with_parent(item.text, place))
    return texts


def _parents_elsewhere(segment: Segment) -> set[int]:
    """Returns the indices of records whose parent is not an earlier record of the segment."""
    earlier: set[str] = set()
    found = set()
    for index, item in enumerate(segment.items):
        if item.parent_handle is not None and item.parent_handle not in earlier:
            found.add(index)
        if item.handle is not None:
            earlier.add(item.handle)
    return found
