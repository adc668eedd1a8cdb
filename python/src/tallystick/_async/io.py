"""Waiting, and the kind of client that does it: the one part that `_sync` has of its own."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
from httpx2 import AsyncClient

from ..errors import TallystickError

T = TypeVar('T')

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


async def gather(calls: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
    """The results of all of them, called at once, in their order. The first error of one ends the others, and is raised."""
    results: dict[int, T] = {}
    errors: list[TallystickError] = []

    async def run(at: int, call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        try:
            results[at] = await call()
        except TallystickError as error:
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for at, call in enumerate(calls):
            group.start_soon(run, at, call)
    if errors:
        raise errors[0]
    return [results[at] for at in range(len(calls))]


async def make_file(path: str) -> anyio.AsyncFile[bytes]:
    """A new file of the user alone, to be written. Raises FileExistsError if there is something, also a link."""
    return await anyio.open_file(path, 'xb', opener=partial(os.open, mode=0o600))
