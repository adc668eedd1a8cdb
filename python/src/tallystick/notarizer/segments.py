"""Batches and segments of waiting records, and the interface of a spool that stores them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import TallystickError
from .items import Item


class Segment(NamedTuple):
    """Records that are sent in one request, and the idempotency key for repeating the request.

    Segments with the same key come from one request that an intermediary refused.
    """

    idempotency_key: str
    items: Sequence[Item]


class Refused(NamedTuple):
    """An item that will never be accepted, the reason (a problem of RFC 9457), and the key of its request."""

    item: Item
    problem: Mapping[str, Any]
    idempotency_key: str


class SpoolOwner(NamedTuple):
    """Ledger and agent that own a spool's records."""

    ledger: str
    agent: str


RecordHandle = tuple[str, str]
"""A handle, and the id of its record."""


class Handles(Protocol):
    """Ids of the newest HANDLES_MAX records with a handle."""

    def find(self, handle: str) -> str | None: ...

    # Stores the ids of recorded records with a handle, before their batch is removed. If the
    # process crashes in between, the batch is sent again, and the server answers with the same ids.
    def keep(self, found: Sequence[RecordHandle]) -> None: ...


class SpooledBatch(Protocol):
    """A stored batch: begun, appended to, sealed, read, perhaps replaced, and removed, in this order."""

    @property
    def records(self) -> int: ...

    def append(self, item: Item) -> None: ...

    # No items are appended after this.
    def seal(self) -> None: ...

    # Returns the segments to send, one after the other. After a crash, `read` returns the same
    # segments.
    def read(self) -> Sequence[Segment]: ...

    # Replaces all segments of a batch that was read, atomically.
    def replace(self, segments: Sequence[Segment]) -> None: ...

    def remove(self) -> None: ...


class Found(NamedTuple):
    batches: Sequence[SpooledBatch]
    errors: Sequence[TallystickError]


class Spool(Protocol):
    """Stores records until they are recorded: in memory, or on a disk (`open_spool`).

    A record for which `begin` or `append` has returned MUST survive everything that the spool
    promises to survive. If `begin` or `append` raises, the record was not accepted.
    """

    @property
    def handles(self) -> Handles: ...

    # Whether the records survive the end of the process. Another process may then send them.
    @property
    def is_durable(self) -> bool: ...

    # Whether an item of the largest size would be accepted.
    @property
    def has_room(self) -> bool: ...

    @property
    def used_bytes(self) -> int: ...

    @property
    def bytes_max(self) -> int: ...

    # Returns the batches of earlier processes, oldest first. Called once. `errors` has an error for
    # each file that could not be read.
    def recover(self) -> Found: ...

    # Moves batches of other processes out of the inbox, oldest first, as far as there is room.
    def adopt(self) -> Found: ...

    # Called before anything is sent. Raises SpoolError if the spool belongs to another owner.
    def claim(self, owner: SpoolOwner) -> None: ...

    # Returns a new batch with its first item.
    def begin(self, idempotency_key: str, item: Item) -> SpooledBatch: ...

    # Stores refused records until a person removes them. After a crash, a record may be stored
    # twice.
    def refuse(self, refused: Sequence[Refused]) -> None: ...

    # Releases the spool, so that another process can open it.
    def close(self) -> None: ...
