"""Ends an action when its result ends, which may be after the call returned (docs/reference/outcomes.md)."""

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Hashable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from contextvars import ContextVar
from io import IOBase
from typing import Any, TypeVar, cast

from .action import Action
from .content import MISSING

current_action: ContextVar[Action | None] = ContextVar('tallystick_action', default=None)
"""The current action. Actions that begin while it is current become its children, also those of other frameworks."""

T = TypeVar('T')
_LATER = ('__await__', '__next__', '__anext__', '__aiter__')
"""Special methods of results that end later. A class with only `__iter__` cannot be followed."""


@contextmanager
def current(action: Action) -> Generator[None]:
    """Makes this action the parent of actions that begin inside the `with` block."""
    token = current_action.set(action)
    try:
        yield
    finally:
        current_action.reset(token)


@contextmanager
def within(action: Action) -> Generator[None]:
    """Like `current`. An exception inside the `with` block also ends the action, and passes through.
    """
    with current(action):
        try:
            yield
        except BaseException as error:
            action.end(error=error)
            raise


def follow(action: Action, result: T) -> T:
    """Ends an action when the `result` of its deed ends. Returns the result, or a replacement for it.

    - A value ends the action at once.
    - Tasks and futures are returned unchanged.
    - A coroutine, a generator and an async generator are replaced by one of the same kind.
    - Any other awaitable or iterator is replaced by an object with the same attributes.
    - A context manager made by `contextlib` is returned itself, with its generator replaced.

    If the result is never read to its end, the action ends as `unknown`. If the result continues
    and its end cannot be observed (a process, a thread, a result of a pool), the action ends as
    `unknown` at once.
    """
    found: Any = result
    if isinstance(found, (asyncio.Future, Future)):
        found.add_done_callback(functools.partial(_end_by_future, action))
    elif isinstance(found, (AbstractContextManager, AbstractAsyncContextManager)) and _is_generator(getattr(found, 'gen', None)):
        found.gen = follow(action, found.gen)  # type: ignore[union-attr]
    elif not is_later(found):
        if _goes_on(type(found)):
            action.end(status='unknown')
        else:
            action.end(result=found)
    elif inspect.iscoroutine(found) or (inspect.isgenerator(found) and inspect.isawaitable(found)):
        return cast(T, _named_like(_coroutine(action, found), found))
    elif isinstance(found, Generator):
        return cast(T, _named_like(_generator(action, found), found))
    elif isinstance(found, AsyncGenerator):
        return cast(T, _named_like(_async_generator(action, found), found))
    else:
        return cast(T, _class_like(cast(Hashable, type(found)))(action, found))
    return result


def is_later(result: Any) -> bool:
    """Whether a result ends later than the call that returned it."""
    kind = type(result)
    if isinstance(result, Future):
        return True
    # An open file counts as a value, although it is an iterator. A mock counts as a value too,
    # because it has every special method.
    return any(hasattr(kind, name) for name in _LATER) and not isinstance(result, IOBase) and kind.__module__ != 'unittest.mock'


_UNDER_WAY = (('poll', 'wait'), ('wait', 'communicate'), ('is_alive', 'join'), ('ready', 'get'), ('done', 'result'))
"""Pairs of methods that identify processes, threads, and results of pools and queues."""
_WHOLE = ('__len__', '__getitem__', '__dataclass_fields__', '__attrs_attrs__', '__pydantic_fields__')


def _goes_on(kind: type) -> bool:
    """Returns whether results of this class continue after the call, or start only when they are read.
    The end of these results cannot be observed.
    """
    if kind.__module__ == 'unittest.mock':
        return False
    is_under_way = any(all(callable(getattr(kind, name, None)) for name in names) for names in _UNDER_WAY)
    # A class whose `__iter__` is a generator function may make its items only while they are read.
    # But a class with a member of `_WHOLE` already has all its items.
    made_later = inspect.isgeneratorfunction(getattr(kind, '__iter__', None)) and not any(hasattr(kind, name) for name in _WHOLE)
    return is_under_way or made_later


def _is_generator(found: Any) -> bool:
    return inspect.isgenerator(found) or inspect.isasyncgen(found)


def _named_like(made: Any, found: Any) -> Any:
    """Gives a new coroutine or generator the name of the replaced one, for warnings and stack traces.
    """
    made.__name__ = getattr(found, '__name__', made.__name__)
    made.__qualname__ = getattr(found, '__qualname__', made.__qualname__)
    return made


def _end_by_future(action: Action, future: 'asyncio.Future[Any] | Future[Any]') -> None:
    if future.cancelled():
        action.end(error=asyncio.CancelledError())
    elif (error := future.exception()) is not None:
        action.end(error=error)
    elif is_later(future.result()) or _goes_on(type(future.result())):
        # The result of a future cannot be replaced.
        action.end(status='unknown')
    else:
        action.end(result=future.result())


async def _coroutine(action: Action, inner: Awaitable[Any]) -> Any:
    with within(action):
        result = await inner
    return follow(action, result)


def _generator(action: Action, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Delegates like `yield from` (PEP 380).

    The action is the current action only while the generator runs. Between two items the
    generator's reader runs in the same context.
    """
    step: Callable[[Any], Any] = inner.send
    given: Any = None
    while True:
        try:
            with current(action):
                item = step(given)
        except StopIteration as end:
            action.end(result=MISSING if end.value is None else end.value)
            return end.value
        except BaseException as error:
            action.end(error=error)
            raise
        step, given = inner.send, None
        try:
            given = yield item
        except GeneratorExit as error:
            with within(action):
                inner.close()
            action.end(error=error)
            raise
        except BaseException as error:
            step, given = inner.throw, error


async def _async_generator(action: Action, inner: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """Like `_generator`, for an async generator. The first step waits until the action may begin."""
    await action.permitted()
    step: Callable[[Any], Awaitable[Any]] = inner.asend
    given: Any = None
    while True:
        try:
            with current(action):
                item = await step(given)
        except StopAsyncIteration:
            action.end()
            return
        except BaseException as error:
            action.end(error=error)
            raise
        step, given = inner.asend, None
        try:
            given = yield item
        except GeneratorExit as error:
            with within(action):
                await inner.aclose()
            action.end(error=error)
            raise
        except BaseException as error:
            step, given = inner.athrow, error


class _Like:
    """Replaces an awaitable or an iterator that is neither a coroutine nor a generator. Ends the
    action when the replaced object ends.

    `_class_like` adds the special methods of the replaced object's class.
    """

    __slots__ = ('__weakref__', '_tallystick_action', '_tallystick_driver', '_tallystick_inner')

    def __init__(self, action: Action, inner: Any) -> None:
        for name, value in (('action', action), ('driver', None), ('inner', inner)):
            object.__setattr__(self, f'_tallystick_{name}', value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tallystick_inner, name)


@functools.lru_cache(256)
def _class_like(kind: type[Any]) -> type[_Like]:
    special = [name for name in dir(kind) if name.startswith('__') and name.endswith('__') and callable(getattr(kind, name, None))]
    members: dict[str, Any] = {name: _forward(name) for name in special if name not in _OF_THE_CLASS}
    members |= {name: method for name, method in _FOLLOWED.items() if name in special}
    if issubclass(kind, Coroutine):
        members |= {name: _drive(name) for name in ('send', 'throw', 'close', '__await__')}
    return type(kind.__name__, (_Like,), {'__slots__': (), **members, '__class__': property(lambda self: type(self._tallystick_inner))})


_OF_THE_CLASS = frozenset(
    ('__class__', '__new__', '__init__', '__del__', '__getattr__', '__getattribute__', '__init_subclass__', '__subclasshook__')
)


def _forward(name: str) -> Callable[..., Any]:
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._tallystick_inner, name)(*args, **kwargs)

    return forward


def _drive(name: str) -> Callable[..., Any]:
    """Returns a method that runs one step of a coroutine. Event loops call these methods."""

    def drive(self: Any, *args: Any) -> Any:
        if self._tallystick_driver is None:
            object.__setattr__(self, '_tallystick_driver', _coroutine(self._tallystick_action, self._tallystick_inner))
        return getattr(self._tallystick_driver, name)(*args)

    return drive


def _await(self: Any) -> Any:
    return _coroutine(self._tallystick_action, self._tallystick_inner).__await__()


def _iter(self: Any) -> Any:
    found = iter(self._tallystick_inner)
    return self if found is self._tallystick_inner else follow(self._tallystick_action, found)


def _aiter(self: Any) -> Any:
    found = aiter(self._tallystick_inner)
    return self if found is self._tallystick_inner else follow(self._tallystick_action, found)


def _next(self: Any) -> Any:
    with _step(self._tallystick_action, StopIteration):
        return next(self._tallystick_inner)


async def _anext(self: Any) -> Any:
    with _step(self._tallystick_action, StopAsyncIteration):
        return await anext(self._tallystick_inner)


def _enter(self: Any) -> Any:
    with within(self._tallystick_action):
        found = self._tallystick_inner.__enter__()
    return self if found is self._tallystick_inner else follow(self._tallystick_action, found)


async def _aenter(self: Any) -> Any:
    with within(self._tallystick_action):
        found = await self._tallystick_inner.__aenter__()
    return self if found is self._tallystick_inner else follow(self._tallystick_action, found)


class _step:
    """Context of one step of an iterator. It is a class, because a context manager made from a
    generator does not let StopIteration pass.
    """

    def __init__(self, action: Action, end: type[Exception]) -> None:
        self._action = action
        self._end = end

    def __enter__(self) -> None:
        self._token = current_action.set(self._action)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        current_action.reset(self._token)
        if isinstance(error, self._end):
            self._action.end()
        elif error is not None:
            self._action.end(error=error)


_FOLLOWED: dict[str, Callable[[Any], Any]] = {
    '__await__': _await,
    '__iter__': _iter,
    '__next__': _next,
    '__aiter__': _aiter,
    '__anext__': _anext,
    '__enter__': _enter,
    '__aenter__': _aenter,
}
