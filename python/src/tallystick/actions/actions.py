"""Records what agents do: an action before each deed, an outcome after it, and approvals between them.
"""

import asyncio
import inspect
import os
import sys
import time
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from datetime import datetime
from typing import Any, TypeVar, Unpack
from uuid import uuid4

from .._sync.client import Tallystick
from ..errors import TallystickError, UsageError
from ..notarizer import NotarizerOptions, NotarizerStats, NotRecordedError, RecordedBatch
from ..notarizer.exits import at_exit
from ..notarizer.items import RecordOptions
from ..notarizer.limits import EXIT_WAIT_S_MAX, WAIT_S_DEFAULT
from ..notarizer.reports import log
from .action import Action, Call, Decision, Status, Told
from .content import attributes_of, content_of, defined, error_of, error_type, references_of, short
from .following import follow, within
from .off_loop import OffLoop, runs_a_loop
from .status import status_of

HOLD_S_MAX_DEFAULT = 10.0
ACTION_DEPTH_MAX = 14
"""Deepest level of an action. The server allows trees of 16 records, of which the outcome is one.

Deeper actions become children of their ancestor at this level.
"""
NAME_CHARS_MAX = 512
ID_CHARS_MAX = 256
FRAMEWORK_CHARS_MAX = 128
REASON_CHARS_MAX = 4_096
OPEN_MAX = 10_000
"""Most open actions. Beyond it the oldest one ends as `unknown`."""
OPEN_S_MAX = 5.0
"""Longest time that `close` waits for open actions."""
ENDED_POLL_S = 0.02
"""Interval at which `close` checks for open actions."""

T = TypeVar('T')


class Actions:
    """Records actions as `agent-action/1`, `agent-outcome/1` and `approval/1`, which form the tree of a run.

        actions = Actions(framework='my-agent/1')
        found = actions.run(Call(kind='tool', name='search', arguments=query), lambda: search(query))

    Recording never raises into the agent. Only with `fail_closed` do `run`, `arun` and `permitted` raise. Works with threads
    and with asyncio: its own thread sends the records.
    """

    def __init__(
        self,
        tallystick: Tallystick | None = None,
        *,
        framework: str | None = None,
        content: bool = False,
        fail_closed: bool = False,
        hold_s_max: float = HOLD_S_MAX_DEFAULT,
        **options: Unpack[NotarizerOptions],
    ) -> None:
        """Raises UsageError for invalid options.

        - `tallystick`: the client; by default a client made from TALLYSTICK_URL and
          TALLYSTICK_API_KEY.
        - `framework`: program that reports the actions, with its version.
        - `content`: records arguments and results, of at most 48 KiB each, instead of their
          digests.
        - `fail_closed`: an action begins only when the ledger has its record, and is denied
          otherwise.
        - `hold_s_max`: maximum time in seconds for which an action waits because of `fail_closed`.
        - `options`: options of a notarizer. `on_error` is also called for records that could not be
          accepted.
        """
        self.content = content
        self.fail_closed = fail_closed
        self.hold_s_max = hold_s_max
        self.framework = short(framework, FRAMEWORK_CHARS_MAX)
        self._lost = 0
        """Number of records lost since the last accepted record. The next record reports this number, so that the ledger shows the loss.
        """
        self._awaited: dict[str, Future[str]] = {}
        """Futures that wait for a record, by its handle."""
        self._on_recorded, self._on_refused = options.get('on_recorded'), options.get('on_refused')
        self._on_error: Callable[[TallystickError], object] | None = options.get('on_error')
        given: NotarizerOptions = {**options, 'on_recorded': self._recorded, 'on_refused': self._refused, 'on_error': self._failed}
        self._notarizer = (tallystick or Tallystick()).notarizer(**given)
        spool = options.get('spool')
        self._disk = OffLoop() if spool is not None and spool.is_durable else None
        """Writes records to the spool when the caller's thread runs an event loop."""
        self._open: dict[int, weakref.ref[Action]] = {}
        """Open actions, by their `id()`."""
        _living.add(self)

    @property
    def told_first(self) -> Told:
        """Value of `told` to pass for an action whose deed can wait for the record: 'held' with
        `fail_closed`, otherwise 'before'.
        """
        return 'held' if self.fail_closed else 'before'

    @property
    def may_wait(self) -> bool:
        """Whether the thread that begins an action may have to wait, for the ledger or for a spool's
        disk.
        """
        return self.fail_closed or self._disk is not None

    def run(self, call: Call, deed: Callable[[], T]) -> T:
        """Begins an action, calls the deed, and ends the action when the result has ended.

        Returns the result, or a replacement: see `follow`. Raises NotRecordedError with `fail_closed`. Raises UsageError in an
        event loop if the action has to wait for its record: `arun` does not block the loop.
        """
        if self.fail_closed:
            require_no_loop(call.name)
        action = self.begin(call, self.told_first)
        action.wait_permitted()
        with within(action):
            result = deed()
        return follow(action, result)

    async def arun(self, call: Call, deed: Callable[[], Awaitable[T]]) -> T:
        """Like `run`, for asyncio. Never blocks the event loop."""
        action = await self.abegin(call, self.told_first)
        await action.permitted()
        with within(action):
            begun: Any = deed()
            result: T = await begun if inspect.isawaitable(begun) else begun
        return follow(action, result)

    def begin(self, call: Call, told: Told = 'before', *, content: bool | None = None) -> Action:
        """Records an action and returns it. In an event loop, does not wait for the disk of a spool.

        `content`: by default as set in the `Actions`.
        """
        action, taken = self._begin(call, told, content)
        if taken is not None and not runs_a_loop():
            taken.result()
        return action

    async def abegin(self, call: Call, told: Told = 'before', *, content: bool | None = None) -> Action:
        """Like `begin`, for asyncio. Returns when the spool has the record."""
        action, taken = self._begin(call, told, content)
        if taken is not None:
            await asyncio.shield(asyncio.wrap_future(taken))
        return action

    def _begin(self, call: Call, told: Told, content: bool | None) -> 'tuple[Action, Future[None] | None]':
        """Returns the action, and a future that resolves when another thread has written the action's
        record. The future is None if the record is already written.
        """
        keep = self.content if content is None else content
        parent = call.parent and _ancestor_with_room(call.parent)
        handle = str(uuid4())
        traceparent = call.traceparent or _traceparent_of_telemetry() or _make_traceparent(call.parent.trace_id if call.parent else None)
        payload = {**self._payload_of(call), **content_of('arguments', call.arguments, keep=keep), 'told': told}
        options: RecordOptions = {**_options_of(call, traceparent), 'type': 'agent-action/1', 'handle': handle}
        if parent is not None and parent._actions is self:
            options['parent_handle'] = parent.handle
        permitted: Future[str] | None = None
        if told == 'held':
            permitted, taken = self._hold(payload, options, handle), None
        else:
            taken = self._write(lambda: self._record(payload, options))
        depth = 0 if parent is None else parent.depth + 1
        action = Action(self, call, handle=handle, traceparent=traceparent, depth=depth, permitted=permitted, content=keep)
        self._open[id(action)] = action.root.open[id(action)] = weakref.ref(action)
        if len(self._open) > OPEN_MAX:
            self._end_open(dict(list(self._open.copy().items())[:1]))
        return action, taken

    def flush(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Returns when everything so far is recorded. Raises the errors of a notarizer's `flush`."""
        if self._disk is not None:
            self._disk.wait(timeout)
        self._notarizer.flush(timeout)

    def close(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Ends all actions, flushes, and accepts no new actions.

        First waits for open actions for half of `timeout`, at most 5 s, and then ends them as
        `unknown`. A thread that runs an event loop does not wait for open actions, because the
        blocked loop could not end them. Raises the errors of a notarizer's `flush`. After an error,
        records in a spool stay there for the next process.
        """
        began_at = time.monotonic()
        until = began_at + min(OPEN_S_MAX, timeout / 2)
        while self._open and not runs_a_loop() and time.monotonic() < until:
            time.sleep(ENDED_POLL_S)
        self._end_open(self._open)
        left = max(0.0, timeout - (time.monotonic() - began_at))
        if self._disk is not None:
            self._disk.close(left)
        self._notarizer.close(left)

    @property
    def stats(self) -> NotarizerStats:
        return self._notarizer.stats

    def _end(
        self,
        action: Action,
        *,
        status: Status | None,
        result: Any,
        error: BaseException | str | None,
        kind: str | None,
        duration_ms: float | None,
        attributes: dict[str, Any],
        occurred_at: datetime | str | None,
    ) -> None:
        if action.is_ended or action.pid != os.getpid():
            return
        action.is_ended = True
        self._open.pop(id(action), None)
        action.root.open.pop(id(action), None)
        # The text of a NotRecordedError comes from this library. It contains no part of the
        # arguments or the result.
        told = error_of(error, keep=action.content or isinstance(error, NotRecordedError))
        took = (time.monotonic() - action.began_at) * 1000 if duration_ms is None else duration_ms
        payload = {
            **self._payload_of(action.call, attributes),
            'status': status or ('ok' if error is None else status_of(error)),
            **told,
            **defined({'errorType': error_type(kind)}),
            **content_of('result', result, keep=action.content, besides=told.get('error', '')),
            'durationMs': round(took, 3),
        }
        self.record_later(payload, {**_options_after(action, occurred_at), 'type': 'agent-outcome/1'})
        # A child that waits for its record stays open. It begins later and reports its own end, or
        # ends as `denied`.
        self._end_open(action.open, but_waiting=True)

    def _end_open(self, actions: dict[int, 'weakref.ref[Action]'], *, but_waiting: bool = False) -> None:
        # Ends the given actions as `unknown`. Iterates over a copy (`copy` is atomic), because
        # other threads change the dict.
        for found in actions.copy().values():
            action = found()
            if action is not None and not (but_waiting and action.is_waiting):
                action.end(status='unknown')

    def _decide(
        self,
        action: Action,
        decision: Decision,
        *,
        by: str,
        by_id: str | None,
        why: str | None,
        lasts: str | None,
        occurred_at: datetime | str | None,
    ) -> None:
        payload = {
            **self._payload_of(action.call, {}),
            'decision': decision,
            'by': defined({'kind': by, 'id': short(by_id, ID_CHARS_MAX)}),
            **defined({'why': short(why, REASON_CHARS_MAX), 'lasts': lasts}),
        }
        self.record_later(payload, {**_options_after(action, occurred_at), 'type': 'approval/1'})

    def _payload_of(self, call: Call, attributes: dict[str, Any] | None = None) -> dict[str, Any]:
        said = call.attributes if attributes is None else attributes
        lost = {'lostBefore': self._lost} if self._lost > 0 else {}
        return {
            'kind': call.kind,
            'name': short(call.name, NAME_CHARS_MAX) or '(without a name)',
            **defined(
                {
                    'server': short(call.server, NAME_CHARS_MAX),
                    'callId': short(call.call_id, ID_CHARS_MAX),
                    'session': short(call.session, ID_CHARS_MAX),
                    'agent': short(call.agent, ID_CHARS_MAX),
                    'framework': short(call.framework, FRAMEWORK_CHARS_MAX) or self.framework,
                }
            ),
            # If the attributes are too long, only `lostBefore` is recorded.
            **(attributes_of({**said, **lost}) or attributes_of(lost)),
        }

    def record_later(self, payload: dict[str, Any], options: RecordOptions) -> None:
        """Records without blocking an event loop for the disk of a spool."""
        self._write(lambda: self._record(payload, options))

    def _write(self, work: Callable[[], object]) -> 'Future[None] | None':
        """Calls `work` here and returns None, or queues it for the disk thread and returns a future for its end."""
        if self._disk is None:
            work()
            return None
        return self._disk.call(work)

    def _hold(self, payload: dict[str, Any], options: RecordOptions, tag: str) -> 'Future[str]':
        """Returns a future for the record's id. The future fails if the record is not accepted."""
        permitted = self._awaited[tag] = Future[str]()

        def record() -> None:
            error = self._record(payload, {**options, 'tag': tag})
            if error is None:
                self._notarizer.hurry()
            elif self._awaited.pop(tag, None) is not None and not permitted.done():
                permitted.set_exception(error)

        self._write(record)
        return permitted

    def _record(self, payload: dict[str, Any], options: RecordOptions) -> Exception | None:
        """Records a payload. Returns None if the record was accepted, otherwise the reason."""
        try:
            self._notarizer.record(payload, **options)
            self._lost = 0
            return None
        except Exception as error:
            self._lost += 1
            if self._lost == 1 and self._on_error is None:
                log.error('a record was lost: %s', error)
            self._tell(error)
            return error

    def _deny(self, action: Action, cause: BaseException) -> NotRecordedError:
        """Ends an action as `denied`, and returns the error to raise."""
        self._awaited.pop(action.handle, None)
        why = f'no confirmation after {self.hold_s_max * 1000:g} ms' if isinstance(cause, TimeoutError) else str(cause)
        denied = NotRecordedError(f'the action was not started, because it is not in the ledger: {why}', retryable=True)
        action.end(status='denied', error=denied)
        return denied

    def _recorded(self, batch: RecordedBatch) -> None:
        for record in batch.records:
            self._settle(record.get('tag'), record['id'])
        if self._on_recorded is not None:
            self._on_recorded(batch)

    def _refused(self, record: dict[str, Any], error: TallystickError) -> None:
        self._settle(record.get('tag'), error)
        if self._on_refused is not None:
            self._on_refused(record, error)
        else:
            log.error('a record was refused: %s', error)

    def _failed(self, error: TallystickError) -> None:
        if not error.retryable:
            for handle in list(self._awaited):
                self._settle(handle, error)
        if self._on_error is not None:
            self._on_error(error)
        elif not error.retryable or self._notarizer.stats.failures <= 1:
            log.error('%s', error)

    def _settle(self, handle: str | None, outcome: str | TallystickError) -> None:
        waiting = self._awaited.pop(handle, None) if handle is not None else None
        if waiting is None or waiting.done():
            return
        if isinstance(outcome, str):
            waiting.set_result(outcome)
        else:
            waiting.set_exception(outcome)

    def _tell(self, error: Exception) -> None:
        if self._on_error is not None and isinstance(error, TallystickError):
            try:
                self._on_error(error)
            except Exception:
                log.exception('a callback failed')


def require_no_loop(name: str) -> None:
    """Raises UsageError in a thread that runs an event loop."""
    if runs_a_loop():
        raise UsageError(
            f'{name} was not called, because it fails closed and would block the event loop until the ledger has its record. '
            'What to do: make it a coroutine function, use `arun`, or call it in a thread (`asyncio.to_thread`)'
        )


_living: 'weakref.WeakSet[Actions]' = weakref.WeakSet()


def _end_all() -> None:
    """Ends open actions before the process closes its notarizers."""
    for actions in list(_living):
        actions._end_open(actions._open)
        if actions._disk is not None:
            actions._disk.wait(EXIT_WAIT_S_MAX)


def _forget_all() -> None:
    """Runs in a child process after `fork`: drops actions, waiters and spools, which belong to the parent process."""
    for actions in list(_living):
        actions._open, actions._awaited, actions._lost, actions._disk = {}, {}, 0, None


at_exit(_end_all, priority=1)
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget_all)


def _options_of(call: Call, traceparent: str) -> RecordOptions:
    options: RecordOptions = {'traceparent': traceparent, 'occurred_at': call.occurred_at}
    references = references_of({'gen_ai.tool.call.id': call.call_id, 'gen_ai.conversation.id': call.session})
    if references:
        options['references'] = references
    return options


def _options_after(action: Action, occurred_at: datetime | str | None) -> RecordOptions:
    return {**_options_of(action.call, action.traceparent), 'occurred_at': occurred_at, 'parent_handle': action.handle}


def _ancestor_with_room(action: Action) -> Action:
    while action.depth >= ACTION_DEPTH_MAX and action.call.parent is not None:
        action = action.call.parent
    return action


def _traceparent_of_telemetry() -> str | None:
    """Returns the trace of OpenTelemetry's current span. Returns None if the program has no
    OpenTelemetry, or if there is no span.
    """
    trace = sys.modules.get('opentelemetry.trace')
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f'00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags) & 0xFF:02x}'


def _make_traceparent(trace_id: str | None) -> str:
    return f'00-{trace_id or os.urandom(16).hex()}-{os.urandom(8).hex()}-01'
