"""Writes down what agents do: an action before it, an outcome after it, approvals in between."""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TypeVar, Unpack
from uuid import uuid4

from .._sync.client import Tallystick
from ..errors import TallystickError
from ..notarizer import NotarizerOptions, NotarizerStats, NotRecordedError, RecordedBatch
from ..notarizer.items import RecordOptions
from ..notarizer.limits import WAIT_S_DEFAULT
from ..notarizer.reports import log
from .action import Action, Call, Decision, Status, Told
from .content import attributes_of, content_of, defined, references_of, short, text_of

HOLD_S_MAX_DEFAULT = 10.0
ACTION_DEPTH_MAX = 14
"""The server takes trees of 16 records: an outcome is one, and what lies deeper than this hangs at the action that is as deep."""
NAME_CHARS_MAX = 512
ID_CHARS_MAX = 256
FRAMEWORK_CHARS_MAX = 128
ERROR_CHARS_MAX = 4_096

current_action: ContextVar[Action | None] = ContextVar('tallystick_action', default=None)
"""The action that runs: other actions in it are its parts, also those of another framework."""

T = TypeVar('T')


class Actions:
    """They are records of the types `agent-action/1`, `agent-outcome/1` and `approval/1`, and make up the tree of the run.

        actions = Actions(framework='my-agent/1')
        found = actions.run(Call(kind='tool', name='search', arguments=query), lambda: search(query))

    It never raises at an agent, unless it is told to fail closed, and then only from `run`, `arun` and `permitted`. It serves threads and
    asyncio alike: records are sent by a thread of its own.
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
        """`tallystick`: None: the one of TALLYSTICK_URL and TALLYSTICK_API_KEY. `framework`: the program that tells the actions, with its
        version. `content`: keep arguments and results, of at most 48 KiB each, instead of their digests. `fail_closed`: an action begins
        only when its record is in the ledger, and is denied otherwise. `hold_s_max`: seconds for which such an action waits. `options`:
        those of a notarizer; `on_error` hears also of records that could not be taken.
        """
        self.content = content
        self.fail_closed = fail_closed
        self.hold_s_max = hold_s_max
        self.framework = short(framework, FRAMEWORK_CHARS_MAX)
        self._lost = 0
        """Since the last record that was taken: the next one says so, or the ledger would hide it."""
        self._awaited: dict[str, Future[str]] = {}
        """Waiters for a record, by its handle."""
        self._on_recorded, self._on_refused = options.get('on_recorded'), options.get('on_refused')
        self._on_error: Callable[[TallystickError], object] | None = options.get('on_error')
        given: NotarizerOptions = {**options, 'on_recorded': self._recorded, 'on_refused': self._refused, 'on_error': self._failed}
        self._notarizer = (tallystick or Tallystick()).notarizer(**given)

    @property
    def told_first(self) -> Told:
        """How an action is to be begun that can wait for its record."""
        return 'held' if self.fail_closed else 'before'

    def run(self, call: Call, deed: Callable[[], T]) -> T:
        """Begins an action, does it, and says how it ended."""
        action = self.begin(call, self.told_first)
        action.wait_permitted()
        with within(action):
            result = deed()
        action.end(result=result)
        return result

    async def arun(self, call: Call, deed: Callable[[], Awaitable[T]]) -> T:
        """The same for asyncio."""
        action = self.begin(call, self.told_first)
        await action.permitted()
        with within(action):
            result = await deed()
        action.end(result=result)
        return result

    def begin(self, call: Call, told: Told = 'before', *, content: bool | None = None) -> Action:
        """Records an action. `content`: None: as the `Actions` were told."""
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
            permitted = self._hold(payload, options, handle)
        else:
            self._record(payload, options)
        depth = 0 if parent is None else parent.depth + 1
        return Action(self, call, handle=handle, traceparent=traceparent, depth=depth, permitted=permitted, content=keep)

    def flush(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Returns when everything so far is recorded, as a notarizer's `flush`."""
        self._notarizer.flush(timeout)

    def close(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Takes no more, and flushes. Records in a spool stay there for the next process if that fails."""
        self._notarizer.close(timeout)

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
        duration_ms: float | None,
        attributes: dict[str, Any],
        occurred_at: datetime | str | None,
    ) -> None:
        if action.is_ended:
            return
        action.is_ended = True
        told = _error_of(error)
        took = (time.monotonic() - action.began_at) * 1000 if duration_ms is None else duration_ms
        payload = {
            **self._payload_of(action.call, attributes),
            'status': status or ('ok' if error is None else 'error'),
            **told,
            **content_of('result', result, keep=action.content, besides=told.get('error', '')),
            'durationMs': round(took, 3),
        }
        self._record(payload, {**_options_after(action, occurred_at), 'type': 'agent-outcome/1'})

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
            **defined({'why': short(why, ERROR_CHARS_MAX), 'lasts': lasts}),
        }
        self._record(payload, {**_options_after(action, occurred_at), 'type': 'approval/1'})

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
            # Too long together: the number stays.
            **(attributes_of({**said, **lost}) or attributes_of(lost)),
        }

    def _hold(self, payload: dict[str, Any], options: RecordOptions, tag: str) -> 'Future[str]':
        """Settles with the record's id when it is in the ledger, or with what keeps it from being there."""
        permitted = self._awaited[tag] = Future[str]()
        error = self._record(payload, {**options, 'tag': tag})
        if error is not None:
            self._awaited.pop(tag, None)
            permitted.set_exception(error)
        else:
            self._notarizer.hurry()
        return permitted

    def _record(self, payload: dict[str, Any], options: RecordOptions) -> Exception | None:
        """Reason for which it was not taken."""
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
        """It is not permitted: says so in the ledger, as soon as that can be."""
        self._awaited.pop(action.handle, None)
        why = f'not in the ledger after {self.hold_s_max * 1000:g} ms' if isinstance(cause, TimeoutError) else str(cause)
        denied = NotRecordedError(f'the action did not begin, because the ledger has no record of it: {why}', retryable=True)
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


@contextmanager
def within(action: Action) -> Generator[None]:
    """Actions that begin inside are parts of this one. An exception inside is its outcome, and is raised on."""
    token = current_action.set(action)
    try:
        yield
    except BaseException as error:
        action.end(error=error)
        raise
    finally:
        current_action.reset(token)


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


def _error_of(error: BaseException | str | None) -> dict[str, Any]:
    if error is None:
        return {}
    kind = type(error).__name__ if isinstance(error, BaseException) else None
    return defined({'errorType': short(kind, ID_CHARS_MAX), 'error': short(text_of(error), ERROR_CHARS_MAX)})


def _traceparent_of_telemetry() -> str | None:
    """Trace of OpenTelemetry's current span, if the program has it."""
    trace = sys.modules.get('opentelemetry.trace')
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f'00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags) & 0xFF:02x}'


def _make_traceparent(trace_id: str | None) -> str:
    return f'00-{trace_id or os.urandom(16).hex()}-{os.urandom(8).hex()}-01'
