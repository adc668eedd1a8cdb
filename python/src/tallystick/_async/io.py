"""Waiting, and the kind of client that does it: the one part that `_sync` has of its own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

import anyio
from httpx2 import AsyncClient

HttpClient: TypeAlias = AsyncClient
ApiKey: TypeAlias = str | Callable[[], str | Awaitable[str]]

sleep = anyio.sleep


@contextmanager
def deadline(seconds: float) -> Generator[Callable[[], None]]:
    """Raises the built-in TimeoutError when the time is up."""
    with anyio.fail_after(seconds):
        yield lambda: None


async def ask(api_key: ApiKey) -> str:
    """The key, or what its function gives."""
    if isinstance(api_key, str):
        return api_key
    key = api_key()
    return await key if inspect.isawaitable(key) else key
