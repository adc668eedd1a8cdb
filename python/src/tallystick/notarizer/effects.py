"""Effects that a delivery asks of the notarizer that runs it: one text serves threads and asyncio, and neither waits in it."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from .._core.operations import Operation
from .._core.options import Call, StepOptions
from .pending import Pending


class Ask(NamedTuple):
    """One attempt of a request: its JSON, or a TallystickError."""

    operation: Operation
    content: bytes | None = None
    idempotency_key: str | None = None
    media_type: str | None = None
    """Its bytes are answered, and the request has no signature. None: JSON, signed where the agent signs."""

    def call(self, timeout: float | None) -> Call:
        """`timeout`: seconds; None: the client's."""
        options: StepOptions = {'max_retries': 0}
        if timeout is not None:
            options['timeout'] = timeout
        if self.idempotency_key is not None:
            options['idempotency_key'] = self.idempotency_key
        return Call(content=self.content, options=options)


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


Effect = Ask | OnDisk | Wait | Older
Effects = Generator[Effect, Any, Any]
