"""Waiting, and the kind of client that does it: the one part that is not made of `_async`."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from httpx2 import Client

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
