"""An action that was begun, and how to say what became of it."""

import asyncio
import os
import time
import weakref
from concurrent.futures import Future
from dataclasses import dataclass
from dataclasses import field as of
from datetime import datetime
from typing import Any, Literal, Protocol

from .._core.limits import ENDLESS_SECONDS
from .content import MISSING

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


class Recorder(Protocol):
    """Records what becomes of an action: `Actions`."""

    hold_s_max: float

    def _deny(self, action: 'Action', cause: BaseException) -> Exception: ...
    def _end(self, *action: Any, **how: Any) -> None: ...
    def _decide(self, *action: Any, **how: Any) -> None: ...


class Action:
    """Made by `Actions.begin`. An open action ends as `unknown` when its root ends and it does not wait for its record, when its `Actions`
    are closed, or when it is garbage collected. A child of `fork` cannot end an action of its parent process.
    """

    def __init__(
        self, actions: Recorder, call: Call, *, handle: str, traceparent: str, depth: int, permitted: 'Future[str] | None', content: bool
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
        self.root: Action = self if call.parent is None else call.parent.root
        self.open: dict[int, weakref.ref[Action]] = {}
        """Open parts of this root, at any depth."""
        self.pid = os.getpid()
        self._actions = actions
        self._permitted = permitted
        self.is_waiting = permitted is not None
        """Whether it has not begun, because it waits for its record."""

    def __del__(self) -> None:
        # The attribute is missing if `begin` raised.
        if not getattr(self, 'is_ended', True):
            self.end(status='unknown')

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
                self.is_waiting = False
            except Exception as error:
                raise self._actions._deny(self, error) from error
            except BaseException as error:
                self.end(status='denied', error=error)
                raise

    async def permitted(self) -> None:
        """The same for asyncio."""
        if self._permitted is not None:
            try:
                await asyncio.wait_for(asyncio.wrap_future(self._permitted), min(self._actions.hold_s_max, ENDLESS_SECONDS))
                self.is_waiting = False
            except Exception as error:
                raise self._actions._deny(self, error) from error
            except BaseException as error:
                # Cancelled: the deed is never called.
                self.end(status='denied', error=error)
                raise

    def end(
        self,
        *,
        status: Status | None = None,
        result: Any = MISSING,
        error: BaseException | str | None = None,
        error_type: str | None = None,
        duration_ms: float | None = None,
        attributes: dict[str, Any] | None = None,
        occurred_at: datetime | str | None = None,
    ) -> None:
        """Records how the action ended. Only the first call counts. Never raises. The end of a root ends its open parts that have begun,
        as `unknown`.

        `status`: None: `ok`, or with an error `status_of(error)`. `error`: the record has the digest of its text, or with `content` the
        text. `error_type`: a class or a code, such as `timeout`; None: the class of the error.
        """
        self._actions._end(
            self,
            status=status,
            result=result,
            error=error,
            kind=error_type,
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
