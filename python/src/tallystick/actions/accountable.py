"""Records the calls of plain functions: `@accountable`."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from threading import Lock
from typing import Any, ParamSpec, TypeVar, cast, overload

from .action import Call, Kind, Told
from .actions import Actions, require_no_loop
from .following import current_action, follow, within

P = ParamSpec('P')
T = TypeVar('T')

_default: Actions | None = None
_mutex = Lock()


def default_actions() -> Actions:
    """Returns the process's shared `Actions`, made from TALLYSTICK_URL and TALLYSTICK_API_KEY on first use."""
    global _default
    with _mutex:
        if _default is None:
            _default = Actions()
        return _default


@overload
def accountable(function: Callable[P, T]) -> Callable[P, T]: ...


@overload
def accountable(
    *,
    actions: Actions | None = None,
    kind: Kind = 'tool',
    name: str | None = None,
    content: bool | None = None,
    fail_closed: bool | None = None,
    session: str | None = None,
    agent: str | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]: ...


def accountable(
    function: Callable[P, T] | None = None,
    *,
    actions: Actions | None = None,
    kind: Kind = 'tool',
    name: str | None = None,
    content: bool | None = None,
    fail_closed: bool | None = None,
    session: str | None = None,
    agent: str | None = None,
) -> Any:
    """Records each call of a function: an action before the call, and an outcome when the call's
    result has ended. Exceptions pass through.

        @accountable
        def search(query: str) -> list[str]: ...

        @accountable(content=True, fail_closed=True)
        async def pay(order: str, cents: int) -> Receipt: ...

    Accepts any callable, and the objects of `staticmethod` and `classmethod`. Some results end
    later than the call: a coroutine, a task, a future, a generator, an iterator. The action then
    ends when the result ends; `follow` lists the results that are replaced. Actions that begin
    during the call become children of its action, including actions that adapters of frameworks
    record.

    - `actions`: by default `default_actions()`.
    - `name`: name of the action; by default the name of the function.
    - `content`: records arguments and result instead of their digests; by default as set in
      `actions`.
    - `fail_closed`: calls the function only after the ledger has the record; otherwise raises
      NotRecordedError. In an event loop, a function that is not known to be async then raises
      UsageError, because it would block the loop. By default as set in `actions`.
    """
    if function is None:
        return functools.partial(
            accountable,
            actions=actions,
            kind=kind,
            name=name,
            content=content,
            fail_closed=fail_closed,
            session=session,
            agent=agent,
        )
    if isinstance(function, (staticmethod, classmethod)):
        recorded: Any = accountable(  # type: ignore[call-overload, misc]
            function.__func__, actions=actions, kind=kind, name=name, content=content, fail_closed=fail_closed, session=session, agent=agent
        )
        return type(function)(recorded)
    called = name or _name_of(function)
    signature = _signature_of(function)

    def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Actions, Call, Told]:
        writer = actions or default_actions()
        told: Told = writer.told_first if fail_closed is None else 'held' if fail_closed else 'before'
        arguments = _named(signature, args, kwargs)
        return writer, Call(kind=kind, name=called, session=session, agent=agent, arguments=arguments, parent=current_action.get()), told

    if _is(inspect.iscoroutinefunction, function):

        @functools.wraps(function)
        async def record_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            writer, call, told = describe(args, kwargs)
            action = await writer.abegin(call, told, content=content)
            await action.permitted()
            with within(action):
                result = await cast(Awaitable[Any], function(*args, **kwargs))
            return follow(action, result)

        return record_async

    if _is(inspect.isasyncgenfunction, function):

        @functools.wraps(function)
        def record_async_generator(*args: P.args, **kwargs: P.kwargs) -> T:
            writer, call, told = describe(args, kwargs)
            # This call only creates the generator. The first read waits for the record.
            return follow(writer.begin(call, told, content=content), function(*args, **kwargs))

        return record_async_generator

    @functools.wraps(function)
    def record(*args: P.args, **kwargs: P.kwargs) -> T:
        writer, call, told = describe(args, kwargs)
        if told == 'held':
            require_no_loop(called)
        action = writer.begin(call, told, content=content)
        action.wait_permitted()
        with within(action):
            result = function(*args, **kwargs)
        return follow(action, result)

    return record


def _is(kind: Callable[[Any], bool], function: Any) -> bool:
    """Applies a predicate such as `inspect.iscoroutinefunction` to a function, or to the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return kind(function) or (not inspect.isclass(function) and kind(getattr(type(function), '__call__', None)))  # noqa: B004


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, '__name__', type(function).__name__))


def _signature_of(function: Any) -> inspect.Signature | None:
    """Returns the signature of a function. Returns None for functions without a signature, such as
    some that are written in C.
    """
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _named(signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments by name, without `self` and `cls`. Arguments that do not fit the signature are recorded unnamed."""
    try:
        found = dict(signature.bind(*args, **kwargs).arguments) if signature is not None else {'args': list(args), **kwargs}
    except TypeError:
        return {'args': list(args), **kwargs}
    return {name: value for name, value in found.items() if name not in ('self', 'cls')}
