"""Effects that a delivery yields. The notarizer runs them, with threads or with asyncio. The delivery itself never waits."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from .._core.operations import Operation
from .._core.options import Call, StepOptions
from .pending import Pending


class Ask(NamedTuple):
    """One attempt of a request. Its result is the JSON of the answer. Raises TallystickError."""

    operation: Operation
    content: bytes | None = None
    idempotency_key: str | None = None
    media_type: str | None = None
    """Not None: the request is not signed, and results in bytes. None: results in JSON, and is signed if the agent signs."""

    def call(self, timeout: float | None) -> Call:
        """Returns the call. `timeout`: seconds for the attempt, or None for the client's timeout.
        """
        options: StepOptions = {'max_retries': 0}
        if timeout is not None:
            options['timeout'] = timeout
        if self.idempotency_key is not None:
            options['idempotency_key'] = self.idempotency_key
        return Call(content=self.content, options=options)


class OnDisk(NamedTuple):
    """Work that may wait for the disk. Its result is the return value of the work. Raises the errors
    of the work.
    """

    work: Callable[[], Any]


class Wait(NamedTuple):
    """A pause. With `is_blocked`, a flush ends the pause early."""

    seconds: float
    is_blocked: bool


class Older(NamedTuple):
    """Waits until all batches in `batches` are settled."""

    batches: tuple[Pending, ...]


Effect = Ask | OnDisk | Wait | Older
Effects = Generator[Effect, Any, Any]
