"""Batches and segments as they wait, in memory or on a disk; and where they wait: the interface of a spool."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import TallystickError
from .items import Item


class Segment(NamedTuple):
    """Records that are sent in one request, and the key with which that can be repeated.

    Segments with the same key are parts of one that something in front of the server refused.
    """

    idempotency_key: str
    items: Sequence[Item]


class Refused(NamedTuple):
    """Item that will never be taken, why (a problem of RFC 9457), and in which request it was."""

    item: Item
    problem: Mapping[str, Any]
    idempotency_key: str


class SpoolOwner(NamedTuple):
    """Owner of a spool's records."""

    ledger: str
    agent: str


RecordHandle = tuple[str, str]
"""A handle, and the id of its record."""


class Handles(Protocol):
    """Ids of the newest HANDLES_MAX records with a handle."""

    def find(self, handle: str) -> str | None: ...

    # Before their batch is removed: after a crash it is sent again, and answered with the same ids.
    def keep(self, found: Sequence[RecordHandle]) -> None: ...


class SpooledBatch(Protocol):
    """Is begun, appended to, sealed, read, perhaps replaced, and removed, in this order."""

    # Items that it holds.
    @property
    def records(self) -> int: ...

    def append(self, item: Item) -> None: ...

    # No more items come.
    def seal(self) -> None: ...

    # Segments to send, one after the other: from here on they are the same after a crash.
    def read(self) -> Sequence[Segment]: ...

    # Replaces the segments of a batch that was read, all of them or none.
    def replace(self, segments: Sequence[Segment]) -> None: ...

    def remove(self) -> None: ...


class Found(NamedTuple):
    batches: Sequence[SpooledBatch]
    errors: Sequence[TallystickError]


class Spool(Protocol):
    """Where records wait until they are recorded: in memory, or on a disk (`open_spool`).

    A record for which `begin` or `append` has returned MUST survive all that the spool promises to survive. If they raise, nothing was
    taken.
    """

    @property
    def handles(self) -> Handles: ...

    # Whether its contents survive the process: another one may send them.
    @property
    def is_durable(self) -> bool: ...

    # Whether an item of the largest size is sure to be taken.
    @property
    def has_room(self) -> bool: ...

    @property
    def used_bytes(self) -> int: ...

    @property
    def bytes_max(self) -> int: ...

    # Takes over what earlier processes left behind, oldest first, with the first call; errors are about what could not be.
    def recover(self) -> Found: ...

    # Moves batches of other processes out of its inbox, oldest first, as far as there is room.
    def adopt(self) -> Found: ...

    # Before anything is sent: raises SpoolError when it holds what is another's.
    def claim(self, owner: SpoolOwner) -> None: ...

    # A new batch, with its first item.
    def begin(self, idempotency_key: str, item: Item) -> SpooledBatch: ...

    # Keeps what was refused, for people; after a crash it may stand there twice.
    def refuse(self, refused: Sequence[Refused]) -> None: ...

    # Lets another process have it.
    def close(self) -> None: ...
