"""An action that was begun, and how to say what became of it."""

import asyncio
import time
from concurrent.futures import Future
from dataclasses import dataclass
from dataclasses import field as of
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from .._core.limits import ENDLESS_SECONDS
from .content import MISSING

if TYPE_CHECKING:
    from .actions import Actions

Kind = Literal['tool', 'model', 'agent', 'other']
Told = Literal['held', 'before', 'after']
"""`held`: the deed MUST wait for `wait_permitted`, for the record says that it did. `before`: it may begin sooner, because the record waits
in memory or in a spool. `after`: it is done."""
Status = Literal['ok', 'error', 'denied', 'unknown']
Decision = Literal['allow', 'deny', 'escalate']


@dataclass(frozen=True, kw_only=True)
class Call:
    """An action that an agent is about to begin."""

    kind: Kind
    name: str
    server: str | None = None
    """Where that is: name or URL of an MCP server, host of an API."""
    call_id: str | None = None
    """The call's id, as the framework has it."""
    session: str | None = None
    """Conversation, session or thread."""
    agent: str | None = None
    """Name of the agent or subagent that acts."""
    arguments: Any = MISSING
    """Any value. Recorded by its digest, or with `content` as it is."""
    framework: str | None = None
    """The program that tells it, with its version; None: that of the `Actions`."""
    attributes: dict[str, Any] = of(default_factory=dict)
    parent: 'Action | None' = None
    """The action that it is a part of."""
    traceparent: str | None = None
    """W3C Trace Context; None: the parent's trace, or a new one."""
    occurred_at: datetime | str | None = None


class Action:
    """Made by `Actions.begin`."""

    def __init__(
        self, actions: 'Actions', call: Call, *, handle: str, traceparent: str, depth: int, permitted: 'Future[str] | None', content: bool
    ) -> None:
        self.call = call
        self.handle = handle
        """Name of its record, until the record has an id."""
        self.traceparent = traceparent
        self.depth = depth
        self.began_at = time.monotonic()
        self.is_ended = False
        self.content = content
        """Whether its result is kept, not only its digest."""
        self._actions = actions
        self._permitted = permitted

    @property
    def trace_id(self) -> str:
        """All records of a run have the same (`GET /v1/records?traceId=`)."""
        return self.traceparent[3:35]

    def wait_permitted(self) -> None:
        """Returns when it may begin: at once, or of one that is held as soon as its record is in the ledger. Raises NotRecordedError if it
        is not; its outcome `denied` is then recorded.
        """
        if self._permitted is not None:
            try:
                self._permitted.result(min(self._actions.hold_s_max, ENDLESS_SECONDS))
            except Exception as error:
                raise self._actions._deny(self, error) from error

    async def permitted(self) -> None:
        """The same for asyncio."""
        if self._permitted is not None:
            try:
                await asyncio.wait_for(asyncio.wrap_future(self._permitted), min(self._actions.hold_s_max, ENDLESS_SECONDS))
            except Exception as error:
                raise self._actions._deny(self, error) from error

    def end(
        self,
        *,
        status: Status | None = None,
        result: Any = MISSING,
        error: BaseException | str | None = None,
        duration_ms: float | None = None,
        attributes: dict[str, Any] | None = None,
        occurred_at: datetime | str | None = None,
    ) -> None:
        """Records how it ended: the first time that it is called. Never raises. `status`: None: `ok`, or `error` if there is one."""
        self._actions._end(
            self,
            status=status,
            result=result,
            error=error,
            duration_ms=duration_ms,
            attributes=attributes or {},
            occurred_at=occurred_at,
        )

    def decide(
        self,
        decision: Decision,
        *,
        by: str,
        by_id: str | None = None,
        why: str | None = None,
        lasts: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> None:
        """Records a decision about it. Never raises. `by`: kind of whoever decided: `person`, `policy`, `unknown`."""
        self._actions._decide(self, decision, by=by, by_id=by_id, why=why, lasts=lasts, occurred_at=occurred_at)
