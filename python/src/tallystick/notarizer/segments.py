"""Batches and segments as they wait, in memory or on a disk; and where they wait: the interface of a spool."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import TallystickError
from .items import Item


class Segment(NamedTuple):
    """Records that are sent in one request, and the key with which that can be repeated."""

    idempotency_key: str
    items: Sequence[Item]


class Refused(NamedTuple):
    """Item that the server will never take, why (a problem of RFC 9457), and in which request it was."""

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

    def keep(self, found: Sequence[RecordHandle]) -> None:
        """Before their batch is removed: after a crash it is sent again, and answered with the same ids."""


class SpooledBatch(Protocol):
    """Is begun, appended to, sealed, read, perhaps replaced, and removed, in this order."""

    @property
    def records(self) -> int:
        """Items that it holds."""

    def append(self, item: Item) -> None: ...

    def seal(self) -> None:
        """No more items come."""

    def read(self) -> Sequence[Segment]:
        """Segments to send, one after the other: from here on they are the same after a crash."""

    def replace(self, segments: Sequence[Segment]) -> None:
        """Replaces the segments of a batch that was read, all of them or none."""

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

    @property
    def is_durable(self) -> bool:
        """Whether its contents survive the process: another one may send them."""

    @property
    def has_room(self) -> bool:
        """Whether an item of the largest size is sure to be taken."""

    @property
    def used_bytes(self) -> int: ...

    @property
    def bytes_max(self) -> int: ...

    def recover(self) -> Found:
        """Takes over what earlier processes left behind, oldest first, with the first call; errors are about what could not be."""

    def adopt(self) -> Found:
        """Moves batches of other processes out of its inbox, oldest first, as far as there is room."""

    def claim(self, owner: SpoolOwner) -> None:
        """Before anything is sent: raises SpoolError when it holds what is another's."""

    def begin(self, idempotency_key: str, item: Item) -> SpooledBatch:
        """A new batch, with its first item."""

    def refuse(self, refused: Sequence[Refused]) -> None:
        """Keeps what was refused, for people; after a crash it may stand there twice."""

    def close(self) -> None:
        """Lets another process have it."""
