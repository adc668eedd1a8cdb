"""Waiting, and the kind of client that does it: the one part that is not made of `_async`."""

from __future__ import annotations

import os
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
