"""Effects that a delivery asks of the notarizer that runs it: one text serves threads and asyncio, and neither waits in it."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from .pending import Pending


class ReadLedger(NamedTuple):
    """GET /v1/ledger: its JSON, or a TallystickError."""


class SendBatch(NamedTuple):
    """One attempt of POST /v1/records/batch: its JSON, or a TallystickError."""

    body: bytes
    idempotency_key: str


class OnDisk(NamedTuple):
    """Work that may wait for the disk: its result, or what it raises."""

    work: Callable[[], Any]


class Wait(NamedTuple):
    """Ends when it is over; one that only people can end, also as soon as somebody asks."""

    seconds: float
    is_blocked: bool


class Older(NamedTuple):
    """Ends when these are settled."""

    batches: tuple[Pending, ...]


Effect = ReadLedger | SendBatch | OnDisk | Wait | Older
Effects = Generator[Effect, Any, Any]
