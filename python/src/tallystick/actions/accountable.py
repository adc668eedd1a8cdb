"""Plain functions whose calls are recorded: `@accountable`."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from threading import Lock
from typing import Any, ParamSpec, TypeVar, cast, overload

from ..errors import UsageError
from .action import Action, Call, Kind, Told
from .actions import Actions, current_action, within

P = ParamSpec('P')
T = TypeVar('T')

_default: Actions | None = None
_mutex = Lock()


def default_actions() -> Actions:
    """Those of TALLYSTICK_URL and TALLYSTICK_API_KEY, one for the process."""
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
    """Records each call of a function, or of a coroutine function: an action before it, its outcome after it, an exception too, which is
    raised on.

        @accountable
        def search(query: str) -> list[str]: ...

        @accountable(content=True, fail_closed=True)
        async def pay(order: str, cents: int) -> Receipt: ...

    Calls inside are its parts, those of frameworks with an adapter too. `actions`: None: `default_actions()`. `name`: None: that of the
    function. `content`: keep arguments and result instead of their digests. `fail_closed`: the function is called only when the ledger has
    the record; otherwise NotRecordedError is raised. None of both: as the `actions` were told. Raises UsageError for a generator function,
    which does nothing when it is called.
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
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f'{function.__qualname__} is a generator: it does nothing when it is called. What to do: record what consumes it')
    called = name or function.__name__
    signature = inspect.signature(function)

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Action:
        writer = actions or default_actions()
        told: Told = writer.told_first if fail_closed is None else 'held' if fail_closed else 'before'
        call = Call(
            kind=kind,
            name=called,
            session=session,
            agent=agent,
            arguments=_named(signature, args, kwargs),
            parent=current_action.get(),
        )
        return writer.begin(call, told, content=content)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def record_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            action = begin(args, kwargs)
            await action.permitted()
            with within(action):
                result = await cast(Awaitable[Any], function(*args, **kwargs))
            action.end(result=result)
            return result

        return record_async

    @functools.wraps(function)
    def record(*args: P.args, **kwargs: P.kwargs) -> T:
        action = begin(args, kwargs)
        action.wait_permitted()
        with within(action):
            result = function(*args, **kwargs)
        action.end(result=result)
        return result

    return record


def _named(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by their names, without the object of a method. A call that does not fit is recorded as it was made."""
    try:
        found = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        return {'args': list(args), **kwargs}
    return {name: value for name, value in found.items() if name not in ('self', 'cls')}
