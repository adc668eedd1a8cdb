"""The notarizer for threads."""

import os
import time
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from threading import Thread, current_thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from .._core.limits import ENDLESS_SECONDS
from ..errors import TallystickError, UsageError
from .core import Core
from .effects import Ask, Effect, Effects, OnDisk, Wait
from .exits import at_exit
from .items import MeasuredItem, RecordOptions, make_item
from .limits import ATTEMPT_S_MIN, EXIT_WAIT_S_MAX, WAIT_S_DEFAULT
from .options import NotarizerOptions, NotarizerStats
from .pending import Pending
from .reports import log
from .section import Section

if TYPE_CHECKING:
    from .._sync.transport import Transport


class Notarizer:
    """Records in batches, for hot loops: `record` returns at once. Made by `Tallystick.notarizer()`.
    Any thread may record.

    A thread sends the records until the server has them: each exactly once, in the order of
    `record`. A batch is sent when it is full or `linger_s` old. While a batch is in flight, the
    next batch fills, so a slow server gets larger batches.

    When the process ends, it waits at most 5 s for records that are not sent. A child of `fork`
    starts without records: earlier records and the spool belong to the parent. The child's own
    records wait in memory.
    """

    def __init__(self, http: 'Transport', **options: Unpack[NotarizerOptions]) -> None:
        self._http = http
        self._options = options
        self._begin()
        self._open()
        with self._condition:
            self._core.recover()
        _living.add(self)

    def _begin(self) -> None:
        self._condition = Section()
        """Guards the core, and is notified of each change in it."""
        self._late: deque[MeasuredItem] = deque()
        """Records from finalizers that ran in the middle of a section."""
        self._threads: set[Thread] = set()
        self._attempts = 0
        """Threads that wait for the server."""
        self._is_releasing = False
        self._is_released = False
        self._until: float | None = None
        """Deadline that `close` sets for attempts that start later."""
        self._core = Core(self._options, self._wake)

    def record(self, payload: Mapping[str, Any], **options: Unpack[RecordOptions]) -> None:
        """Accepts a record. The caller may change the object afterwards. In a spool, the record
        survives the process from now on.

        Raises BufferFullError if there is no room, SpoolError if the spool cannot store it, and
        UsageError for values that cannot be recorded unchanged. If an error is raised, the record
        was not accepted.
        """
        measured = make_item(payload, **options)
        if self._condition.is_inside:
            # A finalizer is running. The next `record`, or the sending thread, takes the record over.
            self._late.append(measured)
            return
        with self._condition:
            self._take_late()
            self._core.take(measured)

    def ready(self, timeout: float | None = None) -> None:
        """Waits until there is room for the next record. Raises NotRecordedError after `timeout`
        seconds.
        """
        until = None if timeout is None else time.monotonic() + min(timeout, ENDLESS_SECONDS)
        with self._condition:
            while not self._core.spool.has_room and not self._core.is_stopped:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise self._core.reports.not_recorded(f'no room after {timeout} s')
                self._condition.wait(left)

    def flush(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Waits until each record so far is recorded, or was refused and reported.

        Raises NotRecordedError after `timeout`. Raises at once an error that only a person can
        resolve. Accepted records stay, and are tried again.
        """
        until = time.monotonic() + min(timeout, ENDLESS_SECONDS)
        with self._condition:
            self._take_late()
            blocks = self._core.reports.blocks
            waiting = self._core.begin_flush()
            while not self._core.is_flushed(waiting, blocks):
                left = until - time.monotonic()
                if left <= 0:
                    raise self._core.reports.not_recorded(f'after {timeout} s')
                self._condition.wait(left)

    def hurry(self) -> None:
        """Makes all records due now, as `flush` does, but does not wait. A retry that waits for a
        person to resolve an error is made at once.
        """
        with self._condition:
            self._core.begin_flush()

    def close(self, timeout: float = WAIT_S_DEFAULT) -> None:
        """Accepts no more records, and flushes. Can be called again. Raises the errors of `flush`.

        After an error, records in a spool stay there for the next process. Records in memory are
        tried again as long as the process lives. An attempt in flight ends by its own timeout;
        until then this process owns the spool.
        """
        with self._condition:
            self._take_late()
            self._core.closed = self._core.closed or 'the notarizer is closed'
            self._until = time.monotonic() + timeout
        try:
            self.flush(timeout)
        except BaseException:
            if self._core.spool.is_durable:
                self._release()
            raise
        finally:
            self._core.reports.end()
        self._release()

    def _take_late(self) -> None:
        while self._late:
            try:
                self._core.take(self._late.popleft())
            except TallystickError as error:
                self._core.reports.failed(error)

    def adopt(self) -> int:
        """Moves records of other processes from the spool's inbox into the notarizer, as far as there is room. Returns their number."""
        with self._condition:
            return 0 if self._core.closed is not None else self._core.adopt(self._core.spool.adopt())

    @property
    def stats(self) -> NotarizerStats:
        with self._condition:
            return self._core.stats

    def __enter__(self) -> 'Notarizer':
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _release(self) -> None:
        """Ends the threads, except threads with an attempt in flight."""
        with self._condition:
            self._core.is_stopped = True
            if self._core.open is not None:
                self._core.seal()
            self._condition.notify_all()
            threads = list(self._threads)
        self._end(None)
        with self._condition:
            while not self._is_released and not 0 < len(self._threads) == self._attempts:
                self._condition.wait()
            ended = [thread for thread in threads if thread not in self._threads]
        for thread in ended:
            thread.join()

    def _end(self, thread: Thread | None) -> None:
        """Removes `thread`, which ends. If the notarizer is stopped and has no thread left, closes the
        spool, so that another process can open it.
        """
        with self._condition:
            if thread is not None:
                self._threads.discard(thread)
            self._condition.notify_all()
            if not self._core.is_stopped or self._threads or self._is_releasing:
                return
            self._is_releasing = True
        try:
            self._core.spool.close()
        finally:
            with self._condition:
                self._is_released = True
                self._condition.notify_all()
            _living.discard(self)

    def _wake(self) -> None:
        """Starts threads as needed. The caller has acquired the condition. Must be called early,
        because an ending process cannot start threads.
        """
        if not self._threads and self._core.demand > 0:
            self._open()
        while len(self._threads) < self._core.demand:
            thread = Thread(target=self._run, name='tallystick-notarizer', daemon=True)
            self._threads.add(thread)
            thread.start()
        self._condition.notify_all()

    def _open(self) -> None:
        """Makes the client early, in the thread that makes the notarizer. The first record may come
        from an event loop, which must not be blocked.
        """
        # The first attempt reports a closed client.
        with suppress(UsageError):
            self._http.open()

    def _run(self) -> None:
        try:
            while (found := self._next()) is not None:
                self._deliver(*found)
        finally:
            self._end(current_thread())

    def _next(self) -> tuple[Pending, Effects] | None:
        with self._condition:
            while (found := self._core.next()) is None and not self._core.is_stopped:
                if self._late:
                    self._take_late()
                else:
                    self._condition.wait(self._core.due_in)
            return found

    def _deliver(self, pending: Pending, effects: Effects) -> None:
        try:
            effect = next(effects)
            while True:
                try:
                    result = self._do(effect)
                except _Stopped:
                    effects.close()
                    return
                except Exception as error:
                    effect = effects.throw(error)
                else:
                    effect = effects.send(result)
        except StopIteration:
            with self._condition:
                self._core.settle(pending)

    def _do(self, effect: Effect) -> Any:
        if isinstance(effect, OnDisk):
            return effect.work()
        if isinstance(effect, Ask):
            return self._ask(effect)
        with self._condition:
            self._condition.notify_all()
            if isinstance(effect, Wait):
                until, asked = time.monotonic() + effect.seconds, self._core.asked
                while (left := until - time.monotonic()) > 0 and not (effect.is_blocked and self._core.asked != asked):
                    self._wait(left)
            else:
                while not all(pending.is_settled for pending in effect.batches):
                    self._wait(None)
        return None

    def _wait(self, seconds: float | None) -> None:
        if self._core.is_stopped:
            raise _Stopped
        self._condition.wait(seconds)

    def _ask(self, effect: Ask) -> Any:
        with self._condition:
            if self._core.is_stopped:
                raise _Stopped
            timeout = self._options.get('timeout')
            if self._until is not None:
                left = max(ATTEMPT_S_MIN, self._until - time.monotonic())
                timeout = left if timeout is None else min(timeout, left)
            self._attempts += 1
            self._condition.notify_all()
        try:
            call = effect.call(timeout)
            if effect.media_type is None:
                return self._http.plain(effect.operation, call)
            return self._http.bytes(effect.operation, effect.media_type, call)
        finally:
            with self._condition:
                self._attempts -= 1

    def _forget(self) -> None:
        """Called in a child of `fork`: drops threads, records and the spool of the parent. A closed notarizer stays closed."""
        closed = self._core.closed
        self._options['spool'] = None
        self._begin()
        self._core.closed = closed


class _Stopped(Exception):
    """Raised in waits and attempts when the notarizer was stopped."""


_living: 'weakref.WeakSet[Notarizer]' = weakref.WeakSet()
_forking: list[Notarizer] = []


def _before_fork() -> None:
    """Acquires all conditions. So no notarizer is in the middle of a change when the child process
    begins.
    """
    _forking.extend(_living)
    for notarizer in _forking:
        notarizer._condition.acquire()


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop()._condition.release()


def _after_fork_in_child() -> None:
    while _forking:
        _forking.pop()._forget()


def _close_all() -> None:
    until = time.monotonic() + EXIT_WAIT_S_MAX
    for notarizer in list(_living):
        try:
            notarizer.close(max(0.0, until - time.monotonic()))
        except TallystickError as error:
            log.error('%s', error)


at_exit(_close_all, priority=0)
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
