"""Runs work that may wait for a disk. In the thread of an event loop the work runs in a separate
thread.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

_Work = SimpleQueue['tuple[Callable[[], object], Future[None]] | None']


def runs_a_loop() -> bool:
    """Whether this thread runs an event loop of asyncio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class OffLoop:
    """Runs work in the order of the calls, in the caller's thread or in a separate thread.

    The separate thread is used if the caller's thread runs an event loop, or while the separate
    thread still has work.
    """

    def __init__(self) -> None:
        self._work: _Work = SimpleQueue()
        self._last: Future[None] | None = None
        self._is_closed = False
        Thread(target=_run, args=(self._work,), name='tallystick-disk', daemon=True).start()

    def __del__(self) -> None:
        self._work.put(None)

    def call(self, work: Callable[[], object]) -> 'Future[None] | None':
        """Runs `work` and returns None, or queues it and returns a future that resolves when it is done.

        Takes no lock, because finalizers may call it.
        """
        last = self._last
        if self._is_closed or (not runs_a_loop() and (last is None or last.done())):
            work()
            return None
        done = self._last = Future[None]()
        self._work.put((work, done))
        return done

    def wait(self, timeout: float) -> None:
        """Returns when all work is done, or after `timeout`."""
        with suppress(TimeoutError):
            if self._last is not None:
                self._last.result(timeout)

    def close(self, timeout: float) -> None:
        """Waits as `wait` does, and ends the thread. Later work runs in the caller's thread."""
        self.wait(timeout)
        self._is_closed = True
        self._work.put(None)


def _run(queue: _Work) -> None:
    while (found := queue.get()) is not None:
        work, done = found
        try:
            work()
        finally:
            done.set_result(None)
