"""Waiting, and the kind of client that does it: the one part that is not made of `_async`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO, TypeAlias, TypeVar

from httpx2 import Client

T = TypeVar('T')

HttpClient: TypeAlias = Client
ApiKey: TypeAlias = str | Callable[[], str]

sleep = time.sleep


class Clients:
    """Makes one client for each process. Threads share it."""

    def __init__(self, make: Callable[[], HttpClient]) -> None:
        self._make = make
        self._own: HttpClient | None = None
        self._pid = 0
        self._mutex = threading.Lock()

    def get(self) -> HttpClient:
        """The client of this process. A forked process gets its own: it must not write to the connections of its parent."""
        if self._pid != os.getpid():
            self._own, self._pid, self._mutex = None, os.getpid(), threading.Lock()
        with self._mutex:
            if self._own is None:
                self._own = self._make()
            return self._own

    def close(self) -> None:
        if self._own is not None and self._pid == os.getpid():
            self._own.close()


def here() -> object:
    """A client of threads belongs to no event loop."""
    return None


@contextmanager
def of_loop(_loop: object, _what: str) -> Generator[None]:
    yield


@contextmanager
def deadline(seconds: float) -> Generator[Callable[[], None]]:
    """Gives what raises the built-in TimeoutError if the time is up: it is called after each piece, and each has so long, too."""
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end:
            raise TimeoutError

    yield check


def ask(api_key: ApiKey) -> str:
    """The key, or what its function gives."""
    return api_key if isinstance(api_key, str) else api_key()


def gather(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all of them, called one after another."""
    return [call() for call in calls]


def make_file(path: str) -> BinaryIO:
    """A new file of the user alone, to be written. Raises FileExistsError if there is something, also a link."""
    return open(path, 'xb', opener=partial(os.open, mode=0o600))
