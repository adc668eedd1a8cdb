"""An action that has begun, and the methods that record its end."""

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
"""When the record was written, relative to the deed. This is signed in the record.

- `held`: the deed MUST wait for `wait_permitted`, because the record claims that it did.
- `before`: the deed may begin earlier. The record waits in memory or in a spool.
- `after`: the deed is done.
"""
Status = Literal['ok', 'error', 'denied', 'unknown']
Decision = Literal['allow', 'deny', 'escalate']


@dataclass(frozen=True, kw_only=True)
class Call:
    """Input of `Actions.begin`: an action that an agent is about to take."""

    kind: Kind
    name: str
    server: str | None = None
    """Where the tool is: name or URL of an MCP server, host of an API."""
    call_id: str | None = None
    """Id of the call in the framework."""
    session: str | None = None
    """Conversation, session or thread."""
    agent: str | None = None
    """Name of the agent or subagent that acts."""
    arguments: Any = MISSING
    """Any value. The record contains the value's digest or, with `content`, the value itself."""
    framework: str | None = None
    """Program that reports the action, with its version. None: `framework` of the `Actions`."""
    attributes: dict[str, Any] = of(default_factory=dict)
    parent: 'Action | None' = None
    """Action that this one is part of."""
    traceparent: str | None = None
    """W3C Trace Context. None: the parent's trace, or a new one."""
    occurred_at: datetime | str | None = None


class Recorder(Protocol):
    """Records the end of actions. Implemented by `Actions`."""

    hold_s_max: float

    def _deny(self, action: 'Action', cause: BaseException) -> Exception: ...
    def _end(self, *action: Any, **how: Any) -> None: ...
    def _decide(self, *action: Any, **how: Any) -> None: ...


class Action:
    """An action that has begun, made by `Actions.begin`.

    An open action ends as `unknown` when the root action above it ends, when its `Actions` are
    closed, or when it is garbage collected. The end of the root does not end an action that still
    waits for its record. A child process of `fork` cannot end an action of its parent process.
    """

    def __init__(
        self, actions: Recorder, call: Call, *, handle: str, traceparent: str, depth: int, permitted: 'Future[str] | None', content: bool
    ) -> None:
        self.call = call
        self.handle = handle
        """Name of the record until it has an id."""
        self.traceparent = traceparent
        self.depth = depth
        self.began_at = time.monotonic()
        self.is_ended = False
        self.content = content
        """True: the result is recorded. False: only its digest."""
        self.root: Action = self if call.parent is None else call.parent.root
        self.open: dict[int, weakref.ref[Action]] = {}
        """Open actions below this root, at any depth."""
        self.pid = os.getpid()
        self._actions = actions
        self._permitted = permitted
        self.is_waiting = permitted is not None
        """True while the deed has not begun, because the action waits for its record."""

    def __del__(self) -> None:
        # The attribute is missing if `begin` raised.
        if not getattr(self, 'is_ended', True):
            self.end(status='unknown')

    @property
    def trace_id(self) -> str:
        """Trace id, which all records of a run share (`GET /v1/records?traceId=`)."""
        return self.traceparent[3:35]

    def wait_permitted(self) -> None:
        """Waits until the deed may begin. If the action was begun as `held`, the deed may begin when
        the ledger has the record. Otherwise returns at once.

        If the ledger does not have the record in time, records the outcome `denied` and raises
        NotRecordedError.
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
        """Like `wait_permitted`, for asyncio."""
        if self._permitted is not None:
            try:
                await asyncio.wait_for(asyncio.wrap_future(self._permitted), min(self._actions.hold_s_max, ENDLESS_SECONDS))
                self.is_waiting = False
            except Exception as error:
                raise self._actions._deny(self, error) from error
            except BaseException as error:
                # The task was cancelled, so the deed is never called.
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
        """Records how the action ended. Only the first call counts. Never raises.

        The end of a root action also ends the open actions below it as `unknown`, except actions
        that wait for their record.

        - `status`: by default `ok`, or `status_of(error)` if there is an error.
        - `error`: the record contains the digest of its text or, with `content`, the text.
        - `error_type`: a class or a code, such as `timeout`; by default the class of the error.
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
        """Records a decision about the action. Never raises. `by`: who decided: `person`, `policy` or `unknown`."""
        self._actions._decide(self, decision, by=by, by_id=by_id, why=why, lasts=lasts, occurred_at=occurred_at)
