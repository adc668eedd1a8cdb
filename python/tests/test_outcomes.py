"""Tests the table of outcomes with `Actions` and `@accountable`, and with results of every kind."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import io
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError as FutureCancelledError
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from multiprocessing.pool import ThreadPool
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock
from urllib.error import URLError

import pytest
from outcomes import Recorder, expected, require_all

from tallystick.actions import Call, accountable, current_action
from tallystick.errors import UnknownOutcomeError, UsageError
from tallystick.notarizer import NotRecordedError

WAYS = ('run', 'arun', 'accountable', 'accountable-async')
Deed = Callable[[], Any]


class Way:
    """One way to record an action. It calls the function `deed`, and returns the result that the
    program gets.
    """

    def __init__(self, name: str, **options: Any) -> None:
        self.name = name
        self.recorder = Recorder(is_away=options.pop('is_away', False))
        self.actions = self.recorder.actions(**options)
        self.is_async = name in ('arun', 'accountable-async')

    async def __call__(self, deed: Deed) -> Any:
        async def awaited() -> Any:
            result = deed()
            return await result if inspect.iscoroutine(result) else result

        call = Call(kind='tool', name='deed')
        if self.name == 'arun':
            return await self.actions.arun(call, awaited)
        if self.name == 'accountable-async':
            return await accountable(awaited, actions=self.actions, name='deed')()
        plain = accountable(deed, actions=self.actions, name='deed') if self.name == 'accountable' else None
        do = plain or functools.partial(self.actions.run, call, deed)
        result = await asyncio.to_thread(do) if self.actions.fail_closed else do()
        return await result if inspect.iscoroutine(result) else result


async def ended(way: Way, deed: Deed) -> None:
    await way(deed)


async def raised(way: Way, error: BaseException) -> None:
    def deed() -> Any:
        raise error

    with pytest.raises(type(error)):
        await way(deed)


def fail() -> Any:
    raise LookupError('late')


def numbers(end: Deed = int) -> Generator[int, Any, Any]:
    yield 1
    yield 2
    end()


async def async_numbers(end: Deed = int) -> AsyncGenerator[int, Any]:
    yield 1
    await asyncio.sleep(0)
    yield 2
    end()


async def later(end: Deed = int) -> Any:
    await asyncio.sleep(0)
    return end()


async def not_recorded(way: Way) -> None:
    way = Way(way.name, fail_closed=True, hold_s_max=0.01, is_away=True)
    with pytest.raises(NotRecordedError):
        await way(fail)
    assert way.recorder.ends() == ['denied']


async def cancelled_before(way: Way) -> None:
    way = Way(way.name if way.is_async else 'arun', fail_closed=True, is_away=True)
    waiting = asyncio.create_task(way(fail))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert way.recorder.ends() == ['denied']


async def cancelled_during(way: Way) -> None:
    working = asyncio.create_task(way(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()


async def cancelled_after(way: Way) -> None:
    async def main() -> None:
        await way(int)
        await asyncio.sleep(60)

    working = asyncio.create_task(main())
    await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait([working])


async def task(way: Way, end: Deed) -> None:
    made = await way(lambda: asyncio.ensure_future(later(end)))
    await asyncio.wait([made])
    await asyncio.sleep(0)


async def read(way: Way, end: Deed) -> None:
    assert list(await way(numbers)) == [1, 2] if end is int else True
    if end is not int:
        with pytest.raises(LookupError, match='late'):
            list(await way(lambda: numbers(end)))


async def abandon(way: Way) -> None:
    for number in await way(numbers):
        assert number == 1
        break


async def never(way: Way) -> None:
    held = await way(numbers)
    assert way.recorder.ends() == ['open']
    way.actions.close()
    assert held is not None


async def read_async(way: Way, end: Deed) -> None:
    async def main() -> list[int]:
        return [number async for number in await way(lambda: async_numbers(end))]

    if end is int:
        assert await main() == [1, 2]
    else:
        with pytest.raises(LookupError, match='late'):
            await main()


async def abandon_async(way: Way) -> None:
    made = await way(async_numbers)
    assert await anext(made) == 1
    await made.aclose()


async def promise(way: Way, end: Deed) -> None:
    async def deed() -> Any:
        return async_numbers(end)

    made = await way(deed)
    with suppress(LookupError):
        assert [number async for number in made] == [1, 2]


async def root_first(way: Way) -> None:
    parts = []

    def deed() -> None:
        parts.append(way.actions.begin(Call(kind='tool', name='part', parent=current_action.get())))

    await way(deed)
    assert way.recorder.ends(name='deed') == ['ok']


async def closed(way: Way) -> None:
    held = way.actions.begin(Call(kind='tool', name='part'))
    way.actions.close()
    held.end(result='too late')


def each(values: list[Any]) -> Callable[[Way], Coroutine[Any, Any, None]]:
    async def case(way: Way) -> None:
        for value in values:
            assert await way(lambda value=value: value) is value
            assert way.recorder.ends()[-1] == 'ok'

    return case


PYTHON: dict[str, Callable[[Way], Awaitable[None]]] = {
    'returns': lambda way: ended(way, lambda: 'a text'),
    'returns-nothing': lambda way: ended(way, lambda: None),
    'returns-falsy': each([0, '', False]),
    'returns-collection': each([[1], {'a': 1}, {1}, b'1', (1,), range(3), {}.keys(), bytearray(1), io.StringIO('a'), MagicMock()]),
    'throws-error': lambda way: raised(way, LookupError('late')),
    'throws-nothing': lambda way: raised(way, ValueError()),
    'not-recorded': not_recorded,
    'cancelled-before': cancelled_before,
    'cancelled-during': cancelled_during,
    'cancelled-after': cancelled_after,
    'times-out': lambda way: raised(way, TimeoutError()),
    'returns-task': lambda way: task(way, int),
    'returns-task-that-fails': lambda way: task(way, fail),
    'generator-ends': lambda way: read(way, int),
    'generator-fails': lambda way: read(way, fail),
    'generator-abandoned': abandon,
    'generator-never-read': never,
    'async-generator-ends': lambda way: read_async(way, int),
    'async-generator-fails': lambda way: read_async(way, fail),
    'async-generator-abandoned': abandon_async,
    'promise-of-iterable': lambda way: promise(way, int),
    'promise-of-iterable-that-fails': lambda way: promise(way, fail),
    'root-ends-first': root_first,
    'closed-while-open': closed,
}
OWN = ('not-recorded', 'cancelled-before')
"""Cases that make their own `Way`."""


def test_every_case_of_the_table_is_tested() -> None:
    require_all('python', PYTHON)


@pytest.mark.parametrize('name', WAYS)
@pytest.mark.parametrize('case', PYTHON)
def test_an_action_ends_as_the_table_says(case: str, name: str) -> None:
    way = Way(name)
    asyncio.run(PYTHON[case](way))  # type: ignore[arg-type]
    if case not in OWN:
        assert way.recorder.ends()[-1] == expected('python')[case]
    assert not way.actions._open


@pytest.mark.parametrize('name', ['run', 'arun'])
def test_a_part_that_waits_for_its_record_when_its_root_ends_is_denied_or_ends_by_itself(name: str) -> None:
    for is_away, expected_end in ((True, 'denied'), (False, 'ok')):
        way = Way(name, fail_closed=True, hold_s_max=0.05, is_away=True)
        root = way.actions.begin(Call(kind='agent', name='root'))
        part = way.actions.begin(Call(kind='tool', name='part', parent=root), 'held')
        root.end()
        assert way.recorder.ends(name='part') == ['open']
        way.recorder.is_away = is_away
        way.recorder.hurry()
        try:
            if name == 'arun':
                asyncio.run(part.permitted())
            else:
                part.wait_permitted()
            part.end()
        except NotRecordedError:
            pass
        assert way.recorder.ends(name='part') == [expected_end]
        assert not way.actions._open


@pytest.mark.parametrize(
    ('error', 'status'),
    [
        (KeyboardInterrupt(), 'unknown'),
        (SystemExit(0), 'unknown'),
        (asyncio.CancelledError(), 'unknown'),
        (FutureCancelledError(), 'unknown'),
        (GeneratorExit(), 'unknown'),
        (subprocess.TimeoutExpired('sleep', 1), 'unknown'),
        (UnknownOutcomeError('lost', retryable=True, idempotency_key='k'), 'unknown'),
        (ExceptionGroup('both', [TimeoutError(), ValueError()]), 'error'),
        (BaseExceptionGroup('both', [KeyboardInterrupt(), asyncio.CancelledError()]), 'unknown'),
        (URLError(TimeoutError()), 'unknown'),
        (URLError('no such host'), 'error'),
        (type('RpcError', (Exception,), {'code': lambda self: SimpleNamespace(name='DEADLINE_EXCEEDED')})(), 'unknown'),
        (type('RpcError', (Exception,), {'code': lambda self: SimpleNamespace(name='NOT_FOUND')})(), 'error'),
        (StopIteration(1), 'error'),
        (AssertionError(), 'error'),
    ],
)
def test_an_exception_is_an_error_only_if_the_deed_is_known_to_have_failed(error: BaseException, status: str) -> None:
    recorder = Recorder()

    def deed() -> None:
        raise error

    with pytest.raises(type(error)):
        recorder.actions().run(Call(kind='tool', name='deed'), deed)
    assert recorder.ends() == [status]


class AsyncCallable:
    async def __call__(self, end: Deed = int) -> Any:
        return await later(end)


class AsyncGeneratorCallable:
    async def __call__(self, end: Deed = int) -> Any:
        async for number in async_numbers(end):
            yield number


class Awaited:
    """An awaitable with an attribute, as in aiohttp."""

    url = 'http://a'

    def __init__(self, end: Deed) -> None:
        self.end = end

    def __await__(self) -> Generator[Any, None, Any]:
        return later(self.end).__await__()


class Stream:
    """A stream like the streams of model clients."""

    status = 200

    def __init__(self, end: Deed) -> None:
        self._items = numbers(end)
        self.is_closed = False

    def __iter__(self) -> Generator[int]:
        yield from self._items

    def __next__(self) -> int:
        return next(self._items)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.is_closed = True


class AsyncStream:
    def __init__(self, end: Deed) -> None:
        self._items = async_numbers(end)

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> int:
        return await anext(self._items)

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


@contextmanager
def manager(end: Deed) -> Generator[int]:
    yield 1
    end()


@asynccontextmanager
async def async_manager(end: Deed) -> AsyncGenerator[int]:
    yield 1
    end()


async def entered(made: Any) -> None:
    with made:
        pass


async def entered_async(made: Any) -> None:
    async with made:
        pass


async def drained(made: Any) -> None:
    with made as stream:
        assert stream.status == 200
        assert isinstance(stream, Stream)
        list(stream)
    assert made.is_closed


async def drained_async(made: Any) -> None:
    async with made as stream:
        async for _ in stream:
            pass


async def stepped(made: Any) -> None:
    with suppress(StopIteration):
        while True:
            next(made)


async def listed(made: Any) -> None:
    list(made)


async def listed_async(made: Any) -> None:
    async for _ in made:
        pass


async def waited(made: Any) -> None:
    await made


RELEASED = threading.Event()


def in_thread(end: Callable[[], int]) -> Future[int]:
    """Returns the future of a thread that waits until `of_thread` is called. Otherwise the future
    might be done before the test observes it.
    """
    RELEASED.clear()
    return POOL.submit(lambda: end() if RELEASED.wait(5) else -1)


async def of_thread(made: Any) -> None:
    RELEASED.set()
    await asyncio.to_thread(made.exception, 5)
    await asyncio.sleep(0.02)
    made.result()


def called(deed: Deed) -> Any:
    return deed()


POOL = ThreadPoolExecutor(1)
KINDS: dict[str, tuple[Callable[[Deed], Any], Callable[[Any], Awaitable[None]]]] = {
    'object with async __call__': (AsyncCallable(), waited),
    'object whose __call__ is an async generator': (AsyncGeneratorCallable(), listed_async),
    'coroutine function below a decorator': (decorated(later), waited),
    'partial of a coroutine function': (functools.partial(later), waited),
    'partial of an object': (functools.partial(AsyncCallable()), waited),
    'lambda around a coroutine function': (lambda end: later(end), waited),
    'task': (lambda end: asyncio.ensure_future(later(end)), waited),
    'future of a thread': (in_thread, of_thread),
    'generator function': (numbers, listed),
    'async generator function': (async_numbers, listed_async),
    'awaitable': (Awaited, waited),
    'stream': (Stream, drained),
    'iterator by steps': (Stream, stepped),
    'async stream': (AsyncStream, drained_async),
    'async iterator': (AsyncStream, listed_async),
    'map': (lambda end: map(called, [int, end]), listed),
    'context manager': (manager, entered),
    'async context manager': (async_manager, entered_async),
}


@pytest.mark.parametrize('fails', [False, True])
@pytest.mark.parametrize('kind', KINDS)
def test_a_result_of_any_kind_ends_its_action_when_it_ends(kind: str, fails: bool) -> None:
    make, consume = KINDS[kind]
    recorder = Recorder()

    async def main() -> None:
        made = accountable(make, actions=recorder.actions(), name='deed')(fail if fails else int)
        assert recorder.ends() == ([] if inspect.iscoroutine(made) and not recorder.records else ['open'])
        await consume(made)

    if fails:
        with pytest.raises(LookupError, match='late'):
            asyncio.run(main())
    else:
        asyncio.run(main())
    assert recorder.ends() == ['error' if fails else 'ok']


def test_a_result_that_goes_on_and_that_nobody_can_follow_is_no_ok() -> None:
    recorder = Recorder()
    actions = recorder.actions()

    def ran(make: Callable[[], Any]) -> Any:
        return actions.run(Call(kind='tool', name='deed'), make)

    process = ran(lambda: subprocess.Popen([sys.executable, '-c', 'raise SystemExit(1)']))
    ran(lambda: threading.Thread(target=fail))
    with ThreadPool(1) as pool:
        ran(lambda: pool.apply_async(int))
    assert process.wait() == 1

    async def begin() -> Any:
        return await asyncio.create_subprocess_exec(sys.executable, '-c', '')

    async def main() -> None:
        made = await actions.arun(Call(kind='tool', name='deed'), begin)
        assert await made.wait() == 0

    asyncio.run(main())

    class Pages:
        def __iter__(self) -> Generator[int]:
            yield fail()

    ran(Pages)
    assert recorder.ends() == ['unknown'] * 5
    ran(MagicMock)
    assert recorder.ends()[-1] == 'ok'


@pytest.mark.parametrize('kind', [kind for kind in KINDS if 'task' not in kind and 'future' not in kind and 'async generator' not in kind])
def test_a_result_that_nobody_reads_leaves_no_ok(kind: str) -> None:
    recorder = Recorder()

    async def main() -> None:
        actions.run(Call(kind='tool', name='deed'), functools.partial(KINDS[kind][0], fail))
        await asyncio.sleep(0)

    actions = recorder.actions()
    with warnings.catch_warnings():
        # Python warns of a coroutine that was never awaited.
        warnings.simplefilter('ignore')
        asyncio.run(main())
        gc.collect()
    assert recorder.ends() == ['unknown']


def test_a_generator_keeps_send_throw_close_and_its_value() -> None:
    got: list[Any] = []

    def echo() -> Generator[Any, Any, str]:
        said = yield 'ready'
        while said != 'end':
            try:
                said = yield said
            except ValueError as error:
                got.append(error)
                said = yield 'caught'
            except GeneratorExit:
                got.append('closed')
                raise
        return 'value'

    recorder = Recorder()
    made = accountable(echo, actions=recorder.actions())
    first = made()
    assert (next(first), first.send('a'), first.throw(ValueError('x')), first.send('b')) == ('ready', 'a', 'caught', 'b')
    with pytest.raises(StopIteration) as end:
        first.send('end')
    assert end.value.value == 'value'
    second = made()
    next(second)
    second.send('a')
    second.close()
    third = made()
    next(third)
    with pytest.raises(KeyError):
        third.throw(KeyError('y'))
    assert [str(each) for each in got] == ['x', 'closed']
    assert (recorder.ends(), current_action.get()) == (['ok', 'unknown', 'error'], None)


def test_calls_in_a_generator_are_its_parts_and_those_of_its_reader_are_not() -> None:
    recorder = Recorder()
    actions = recorder.actions()
    step = accountable(int, actions=actions, name='step')

    @accountable(actions=actions)
    def steps() -> Generator[int]:
        yield step()
        yield step()

    read = accountable(int, actions=actions, name='read')
    for _ in steps():
        read()
    assert recorder.parents() == [None, 'steps', None, 'steps', None]


def test_methods_of_every_kind_and_functions_without_a_name() -> None:
    recorder = Recorder()
    actions = recorder.actions()

    class Tool:
        @accountable(actions=actions)
        def method(self, a: int) -> int:
            return a

        @accountable(actions=actions)
        @staticmethod
        def static(a: int) -> int:
            return a

        @accountable(actions=actions)
        @classmethod
        def of_class(cls, a: int) -> tuple[type, int]:
            return cls, a

    assert (Tool().method(1), Tool.static(2), Tool().static(2), Tool.of_class(3)) == (1, 2, 2, (Tool, 3))
    assert accountable(functools.partial(functools.partial(max, 1), 2), actions=actions)(3) == 3
    asyncio.run(accountable(AsyncCallable(), actions=actions)())
    names = [payload['name'] for payload, options in recorder.records if options['type'] == 'agent-action/1']
    assert names == ['method', 'static', 'static', 'of_class', 'max', 'AsyncCallable']
    assert recorder.ends() == ['ok'] * 6


def test_a_root_ends_its_open_parts_at_any_depth_and_nothing_is_held_afterwards() -> None:
    recorder = Recorder()
    actions = recorder.actions()
    for _ in range(100):
        root = actions.begin(Call(kind='agent', name='root'))
        part = actions.begin(Call(kind='tool', name='part', parent=root))
        deeper = actions.begin(Call(kind='tool', name='deeper', parent=part))
        part.end()
        root.end()
        deeper.end(result='late')
    assert recorder.ends(name='part') == ['ok'] * 100
    assert recorder.ends(name='deeper') == ['unknown'] * 100
    assert not actions._open
    assert not root.open


def test_an_action_that_is_dropped_is_unknown_also_in_the_middle_of_a_record() -> None:
    """Garbage collection may run while a record is made and its locks are held."""
    recorder = Recorder()
    actions = recorder.actions()
    gc.disable()
    try:
        for _ in range(3):
            cycle: list[Any] = [actions.begin(Call(kind='tool', name='dropped'))]
            cycle.append(cycle)
        del cycle
        assert recorder.ends() == ['open'] * 3
    finally:
        gc.enable()
    gc.collect()
    assert recorder.ends() == ['unknown'] * 3


def test_in_an_event_loop_a_plain_function_that_fails_closed_is_refused_and_not_called() -> None:
    recorder = Recorder(is_away=True)
    called: list[int] = []
    pay = accountable(lambda: called.append(1), actions=recorder.actions(fail_closed=True), name='pay')

    async def main() -> None:
        with pytest.raises(UsageError, match='pay was not called'):
            pay()

    asyncio.run(main())
    assert (called, recorder.records) == ([], [])


def test_an_action_is_ended_by_its_own_process_alone() -> None:
    recorder = Recorder()
    action = recorder.actions().begin(Call(kind='tool', name='deed'))
    pid = os.fork()
    if pid == 0:
        action.end(result='of the child')
        os._exit(len(recorder.records))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    action.end()
    assert recorder.ends() == ['ok']


def test_close_waits_for_open_actions_until_the_last_ends_or_its_time_is_up() -> None:
    recorder = Recorder()
    held = recorder.actions().begin(Call(kind='tool', name='deed'))
    ending = threading.Timer(0.05, held.end)
    ending.start()
    held._actions.close(30)
    actions = recorder.actions()
    left = actions.begin(Call(kind='tool', name='deed'))
    began = time.monotonic()
    actions.close(0.2)
    assert 0.1 <= time.monotonic() - began < 1
    assert left.is_ended
    assert recorder.ends() == ['ok', 'unknown']
