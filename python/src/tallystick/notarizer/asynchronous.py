"""The notarizer for asyncio."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import UsageError
from .core import Core
from .effects import Ask, Effect, Effects, OnDisk, Wait
from .items import RecordOptions, make_item
from .limits import WAIT_S_DEFAULT
from .options import NotarizerOptions, NotarizerStats
from .pending import Pending

if TYPE_CHECKING:
    from .._async.transport import AsyncTransport


class AsyncNotarizer:
    """Records in batches, for hot loops: `record` returns at once. Made by
    `AsyncTallystick.notarizer()`.

    A task of the same event loop sends the records until the server has them: each exactly once, in
    the order of `record`. A batch is sent when it is full or `linger_s` old. While a batch is in
    flight, the next batch fills.

    A notarizer belongs to one event loop at a time. Only the thread of that loop may record; calls
    from other loops raise UsageError. When the loop has ended, the notarizer belongs to the next
    loop that uses it. Without a spool, records that are not sent when the event loop ends are lost:
    call `await notarizer.close()` first. Cancelling a task that waits in `flush`, `ready` or
    `close` discards no record.
    """

    def __init__(self, http: 'AsyncTransport', **options: Unpack[NotarizerOptions]) -> None:
        self._http = http
        self._timeout = options.get('timeout')
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that sends."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._must_yield = False
        """True after a batch was sealed: the producer has to let other tasks run."""
        self._is_released = False
        self._core = Core(options, self._wake)
        self._core.recover()

    def record(self, payload: Mapping[str, Any], **options: Unpack[RecordOptions]) -> None:
        """Accepts a record. The caller may change the object afterwards. In a spool, the record
        survives the process from now on.

        Raises BufferFullError if there is no room, SpoolError if the spool cannot store it, and
        UsageError for values that cannot be recorded unchanged. If an error is raised, the record
        was not accepted.
        """
        self._move()
        self._core.take(make_item(payload, **options))

    async def ready(self) -> None:
        """Waits until there is room for the next record. Await it before each record of a hot loop:
        otherwise nothing is sent.
        """
        self._begin()
        while not self._core.spool.has_room and not self._core.is_stopped:
            await self._changed.wait()
        if self._must_yield:
            self._must_yield = False
            await asyncio.sleep(0)

    async def flush(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Waits until each record so far is recorded, or was refused and reported.

        Raises NotRecordedError after `timeout`. Raises at once an error that only a person can
        resolve. Accepted records stay, and are tried again.
        """
        self._begin()
        until = time.monotonic() + timeout
        blocks = self._core.reports.blocks
        waiting = self._core.begin_flush()
        while not self._core.is_flushed(waiting, blocks):
            left = until - time.monotonic()
            if left <= 0:
                raise self._core.reports.not_recorded(f'after {timeout} s')
            await self._change(left)

    async def close(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Accepts no more records, and flushes. Can be called again. Raises the errors of `flush`.

        After an error, records in a spool stay there for the next process. Records in memory are
        tried again as long as the loop runs.
        """
        self._core.closed = self._core.closed or 'the notarizer is closed'
        is_flushed = False
        try:
            await self.flush(timeout)
            is_flushed = True
        finally:
            self._core.reports.end()
            if is_flushed or self._core.spool.is_durable:
                await self._release()

    async def adopt(self) -> int:
        """Moves records of other processes from the spool's inbox into the notarizer, as far as there is room. Returns their number."""
        if self._core.closed is not None:
            return 0
        return self._core.adopt(await asyncio.to_thread(self._core.spool.adopt))

    @property
    def stats(self) -> NotarizerStats:
        return self._core.stats

    async def __aenter__(self) -> 'AsyncNotarizer':
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _release(self) -> None:
        self._core.is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._core.open is not None:
            self._core.seal()
        self._wake()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not self._is_released:
            self._is_released = True
            await asyncio.to_thread(self._core.spool.close)

    def _wake(self) -> None:
        """Wakes all waiters, and sends what is due."""
        self._changed.set()
        self._changed = asyncio.Event()
        self._must_yield = True
        self._begin()

    def _begin(self) -> None:
        """Starts due batches. Outside of an event loop it does nothing: records wait for the first call inside one."""
        loop = self._move()
        if loop is None:
            return
        while (found := self._core.next()) is not None:
            task = loop.create_task(self._deliver(*found), name='tallystick-notarizer')
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        due_in = self._core.due_in
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due_in is None else loop.call_later(due_in, self._begin)

    def _move(self) -> asyncio.AbstractEventLoop | None:
        """Returns the running loop, and moves the notarizer to it if its own loop has ended. Returns
        None if no loop runs.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        if loop is self._loop:
            return loop
        if self._loop is not None:
            if self._loop.is_running():
                raise UsageError('the notarizer belongs to another event loop, which still runs. What to do: make one for each loop')
            self._tasks, self._timer, self._changed = set(), None, asyncio.Event()
            self._core.reclaim()
        self._loop = loop
        return loop

    async def _deliver(self, pending: Pending, effects: Effects) -> None:
        try:
            effect = next(effects)
            while True:
                try:
                    result = await self._do(effect)
                except Exception as error:
                    effect = effects.throw(error)
                else:
                    effect = effects.send(result)
        except StopIteration:
            self._core.settle(pending)
        finally:
            effects.close()

    async def _do(self, effect: Effect) -> Any:
        if isinstance(effect, OnDisk):
            return await self._on_disk(effect)
        if isinstance(effect, Ask):
            call = effect.call(self._timeout)
            if effect.media_type is None:
                return await self._http.plain(effect.operation, call)
            return await self._http.bytes(effect.operation, effect.media_type, call)
        if isinstance(effect, Wait):
            self._notify()
            until, asked = time.monotonic() + effect.seconds, self._core.asked
            while (left := until - time.monotonic()) > 0 and not (effect.is_blocked and self._core.asked != asked):
                await self._change(left)
        else:
            while not all(pending.is_settled for pending in effect.batches):
                await self._changed.wait()
        return None

    async def _on_disk(self, effect: OnDisk) -> Any:
        """Runs disk work in a thread. A cancelled task still waits for this work, because another
        process may own the spool afterwards.
        """
        if not self._core.spool.is_durable:
            return effect.work()
        work = asyncio.ensure_future(asyncio.to_thread(effect.work))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _change(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
