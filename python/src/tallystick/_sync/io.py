"""Sleeping, deadlines, files and HTTP clients: the only module of `_sync` that is written by hand."""

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
        """Returns the client of this process. A forked process gets its own: it must not write to its parent's connections."""
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
    """Returns None: a synchronous client belongs to no event loop."""
    return None


@contextmanager
def of_loop(_loop: object, _what: str) -> Generator[None]:
    yield


@contextmanager
def deadline(seconds: float) -> Generator[Callable[[], None]]:
    """Yields a function that raises the built-in TimeoutError after `seconds`. It is called after each chunk of an answer.

    Each chunk may take as long, too.
    """
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end:
            raise TimeoutError

    yield check


def ask(api_key: ApiKey) -> str:
    """Returns the key, calling its function if it is one."""
    return api_key if isinstance(api_key, str) else api_key()


def gather(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Runs the calls one after another and returns their results in order."""
    return [call() for call in calls]


def make_file(path: str) -> BinaryIO:
    """Creates a file for writing that only its owner may read. Raises FileExistsError if the path exists, even as a link."""
    return open(path, 'xb', opener=partial(os.open, mode=0o600))
