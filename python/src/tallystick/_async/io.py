"""Sleeping, deadlines, files and HTTP clients. `_sync` has a version of this module that is written by
hand.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
from anyio.lowlevel import current_token
from httpx2 import AsyncClient

from ..errors import TallystickError, UsageError

T = TypeVar('T')

HttpClient: TypeAlias = AsyncClient
ApiKey: TypeAlias = str | Callable[[], str | Awaitable[str]]

sleep = anyio.sleep


class Clients:
    """Makes an HTTP client for each event loop, because connections work only in their own loop.

    A client is closed when its loop ends: each client has an async generator, and an ending loop
    closes its async generators. If a loop is closed without closing its async generators, a later
    `get` drops the client of that loop.
    """

    def __init__(self, make: Callable[[], HttpClient]) -> None:
        self._make = make
        self._held: dict[object, tuple[HttpClient, AsyncGenerator[None]]] = {}
        self._pid = os.getpid()
        self._mutex = threading.Lock()

    async def get(self) -> HttpClient:
        """Returns the client of the running loop."""
        loop = here()
        found = self._current().get(loop)
        if found is None or found[0].is_closed:
            client = self._make()
            holding = self._hold(loop, client)
            with self._mutex:
                for other in list(self._held):
                    if _is_closed(other):
                        del self._held[other]
                self._held[loop] = found = (client, holding)
            await anext(holding)
        return found[0]

    async def aclose(self) -> None:
        """Closes the client of this loop. Clients of other running loops are closed soon after, each in its own loop."""
        own = here()
        with self._mutex:
            held, self._held = self._current(), {}
        for loop, (client, holding) in held.items():
            if loop is own:
                await holding.aclose()
            elif isinstance(loop, asyncio.AbstractEventLoop) and loop.is_running():
                asyncio.run_coroutine_threadsafe(client.aclose(), loop)

    def _current(self) -> dict[object, tuple[HttpClient, AsyncGenerator[None]]]:
        """Returns the clients of this process. A forked process starts without clients: it must not write to its parent's connections."""
        if self._pid != os.getpid():
            self._held, self._pid, self._mutex = {}, os.getpid(), threading.Lock()
        return self._held

    async def _hold(self, loop: object, client: HttpClient) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            with self._mutex:
                if self._held.get(loop, (None,))[0] is client:
                    del self._held[loop]
            await client.aclose()


def here() -> object:
    """Returns the running event loop, of asyncio or trio."""
    return current_token().native_token


def _is_closed(loop: object) -> bool:
    return isinstance(loop, asyncio.AbstractEventLoop) and loop.is_closed()


@contextmanager
def of_loop(loop: object, what: str) -> Generator[None]:
    """Raises UsageError instead of asyncio's various errors if `what` is used in another loop than `loop`."""
    try:
        yield
    except RuntimeError as error:
        if here() is loop:
            raise
        raise UsageError(f'{what} belongs to another event loop. What to do: use one in each loop') from error


@contextmanager
def deadline(seconds: float) -> Generator[Callable[[], None]]:
    """Raises the built-in TimeoutError if the `with` block takes longer than `seconds`."""
    with anyio.fail_after(seconds):
        yield lambda: None


async def ask(api_key: ApiKey) -> str:
    """Returns the API key. If `api_key` is a function, calls it."""
    if isinstance(api_key, str):
        return api_key
    key = api_key()
    return await key if inspect.isawaitable(key) else key


async def gather(calls: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
    """Runs all calls concurrently and returns their results in order. The first error cancels the rest and is raised."""
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
    """Creates a file for writing that only its owner may read. Raises FileExistsError if the path exists, even as a link."""
    return await anyio.open_file(path, 'xb', opener=partial(os.open, mode=0o600))
