"""Event loops: each loop has its own client, and neither the ledger nor a disk blocks a loop."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agents import Agent, Runner, function_tool, set_trace_processors
from agents.testing import ScriptedModel, assistant_message, function_call
from ledger import QUICK, Ledger, Proxy, ledger, needs_server, proxy
from outcomes import Recorder

from tallystick import AsyncTallystick
from tallystick.actions import Actions, Call, accountable
from tallystick.adapters.claude import tallystick_hooks
from tallystick.adapters.langchain import TallystickCallbackHandler
from tallystick.adapters.openai_agents import TallystickTracingProcessor
from tallystick.errors import UsageError
from tallystick.notarizer import open_spool
from tallystick.notarizer.batch_file import BatchFile

__all__ = ['ledger', 'proxy']


@needs_server
def test_each_loop_gets_a_client_one_after_another_and_in_threads(ledger: Ledger) -> None:
    client = AsyncTallystick(base_url=ledger.client._http.settings.base_url, api_key=ledger.key)
    made: list[str] = []

    async def notarize() -> None:
        found = await asyncio.gather(*(client.records.notarize(payload={'n': n}) for n in range(3)))
        made.extend(record.id for record in found)

    for _ in range(4):
        asyncio.run(notarize())
    threads = [threading.Thread(target=asyncio.run, args=(notarize(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 24
    asyncio.run(client.aclose())
    with pytest.raises(UsageError, match='closed'):
        asyncio.run(notarize())


@needs_server
def test_a_thousand_loops_leave_nothing_behind(ledger: Ledger) -> None:
    client = AsyncTallystick(base_url=ledger.client._http.settings.base_url, api_key=ledger.key)

    async def ask() -> None:
        await client.ledger.get()

    asyncio.run(ask())
    before = len(list(Path('/proc/self/fd').iterdir()))
    for _ in range(20):
        asyncio.run(ask())
    # Most of the loops send no request, to save time. A client is made and closed nevertheless.
    for _ in range(980):
        asyncio.run(client._http.open())
    # These loops are closed without closing their async generators.
    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(ask())
        loop.close()
    asyncio.run(ask())
    gc.collect()
    assert client._http._clients._held == {}
    assert len(list(Path('/proc/self/fd').iterdir())) <= before
    assert sum(isinstance(each, asyncio.AbstractEventLoop) for each in gc.get_objects()) < 3


@needs_server
def test_close_closes_the_clients_of_other_loops_that_run(ledger: Ledger) -> None:
    client = AsyncTallystick(base_url=ledger.client._http.settings.base_url, api_key=ledger.key)
    ready, done = threading.Event(), threading.Event()
    held: list[Any] = []

    async def other() -> None:
        await client.ledger.get()
        held.extend(found for found, _ in client._http._clients._held.values())
        ready.set()
        while not done.is_set():
            await asyncio.sleep(0.005)

    thread = threading.Thread(target=asyncio.run, args=(other(),))
    thread.start()
    ready.wait(30)
    asyncio.run(client.aclose())
    done.set()
    thread.join()
    assert [each.is_closed for each in held] == [True]


@needs_server
def test_a_stream_and_a_client_that_was_given_say_that_they_belong_to_another_loop(ledger: Ledger) -> None:
    url = ledger.client._http.settings.base_url
    # The answer has more than one chunk, so that the first loop cannot have read all of it.
    ledger.client.batches.notarize([{'type': 'generic/1', 'payload': {'text': os.urandom(8_000).hex()}} for _ in range(200)])
    streams: list[Any] = []

    async def begin(client: AsyncTallystick) -> None:
        streams.append(aiter(await client.exports.stream()))
        await anext(streams[0])

    async def go_on() -> None:
        async for _ in streams[0]:
            pass

    async def ask(client: AsyncTallystick) -> None:
        await client.ledger.get()

    first = asyncio.new_event_loop()
    first.run_until_complete(begin(AsyncTallystick(base_url=url, api_key=ledger.key)))
    with pytest.raises(UsageError, match='the stream belongs to another event loop'):
        asyncio.run(go_on())
    first.close()
    given = AsyncTallystick(base_url=url, api_key=ledger.key, http_client=httpx2.AsyncClient())
    asyncio.run(ask(given))
    with pytest.raises(UsageError, match='the `http_client` belongs to another event loop'):
        asyncio.run(ask(given))


@needs_server
def test_a_notarizer_goes_on_in_the_next_loop_and_sends_everything_once(ledger: Ledger, proxy: Proxy) -> None:
    client = AsyncTallystick(base_url=proxy.url, api_key=ledger.key)
    notarizer = client.notarizer(records_per_batch_max=5, **QUICK)

    async def record(first: int, is_held: bool) -> None:
        if is_held:
            proxy.hold()
        for i in range(first, first + 10):
            notarizer.record({'i': i})
        if is_held:
            # The sleep makes sure that a batch is in flight when the loop ends.
            await asyncio.sleep(0.05)
        else:
            await notarizer.flush(20)

    asyncio.run(record(0, False))
    asyncio.run(record(10, True))
    proxy.resume()
    notarizer.record({'i': 20})
    asyncio.run(record(21, False))
    asyncio.run(notarizer.close())
    assert ledger.numbers() == list(range(31))


@needs_server
def test_a_notarizer_whose_loop_runs_refuses_another_loop(ledger: Ledger) -> None:
    async def main() -> None:
        async with ledger_client(ledger) as client, client.notarizer() as notarizer:
            notarizer.record({'i': 0})

            async def other() -> None:
                notarizer.record({'i': 1})

            with pytest.raises(UsageError, match='another event loop, which still runs'):
                await asyncio.to_thread(asyncio.run, other())

    asyncio.run(main())
    assert ledger.numbers() == [0]


def ledger_client(ledger: Ledger) -> AsyncTallystick:
    return AsyncTallystick(base_url=ledger.client._http.settings.base_url, api_key=ledger.key)


async def stall(work: Awaitable[Any]) -> float:
    """Returns the longest time for which the loop was blocked."""
    longest, last = 0.0, time.monotonic()
    working = asyncio.ensure_future(work)
    while not working.done():
        await asyncio.sleep(0.002)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    with suppress(Exception):
        working.result()
    return longest


async def by_accountable(actions: Actions) -> None:
    @accountable(actions=actions)
    async def deed() -> None:
        await asyncio.sleep(0)

    class Callable_:
        async def __call__(self) -> None:
            await asyncio.sleep(0)

    await asyncio.gather(deed(), accountable(Callable_(), actions=actions)(), return_exceptions=True)


async def by_arun(actions: Actions) -> None:
    await asyncio.gather(*(actions.arun(Call(kind='tool', name='x'), lambda: asyncio.sleep(0)) for _ in range(5)), return_exceptions=True)


async def by_hooks(actions: Actions) -> None:
    hook = tallystick_hooks(actions)['PreToolUse'][0].hooks[0]
    for name in ('PreToolUse', 'PostToolUse'):
        await hook({'hook_event_name': name, 'session_id': 's', 'tool_name': 'x', 'tool_use_id': 't'}, None, None)


async def by_openai_agents(actions: Actions) -> None:
    processor = TallystickTracingProcessor(actions)
    set_trace_processors([processor])

    @function_tool
    def tool() -> str:
        """A tool."""
        return 'x'

    model = ScriptedModel([[function_call('tool', {}, call_id='1')], [assistant_message('done')]], emit_traces=True)
    await Runner.run(Agent(name='agent', tools=[processor.guard(tool)], model=model), 'go')


async def by_callbacks(actions: Actions) -> None:
    from langchain_core.tools import tool

    @tool
    async def deed() -> str:
        """A tool."""
        return 'x'

    await asyncio.gather(*(deed.ainvoke({}, {'callbacks': [TallystickCallbackHandler(actions)]}) for _ in range(5)), return_exceptions=True)


WAYS: list[Callable[[Actions], Awaitable[None]]] = [by_accountable, by_arun, by_hooks, by_openai_agents, by_callbacks]


@pytest.mark.parametrize('way', WAYS)
def test_no_way_in_stops_a_loop_while_the_ledger_is_away(way: Callable[[Actions], Awaitable[None]]) -> None:
    actions = Recorder(is_away=True).actions(fail_closed=True, hold_s_max=1.2)
    asyncio.run(way(Recorder().actions()))  # a first run imports the modules, so that the measured run does not
    began = time.monotonic()
    assert asyncio.run(stall(way(actions))) < 1
    assert time.monotonic() - began > 1.1


@needs_server
@pytest.mark.parametrize('way', WAYS)
def test_no_way_in_stops_a_loop_for_a_slow_disk_and_records_are_in_order(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Actions], Awaitable[None]]
) -> None:
    actions = Actions(ledger.client, spool=open_spool(tmp_path), linger_s=0.002)
    asyncio.run(way(Recorder().actions()))
    append, begin = BatchFile._append, BatchFile.begin.__func__  # type: ignore[attr-defined]

    def slow(*args: Any) -> Any:
        time.sleep(0.6)
        return append(*args)

    def slow_begin(*args: Any) -> Any:
        time.sleep(0.6)
        return begin(*args)

    monkeypatch.setattr(BatchFile, '_append', slow)
    monkeypatch.setattr(BatchFile, 'begin', classmethod(slow_begin))
    assert asyncio.run(stall(way(actions))) < 0.5
    monkeypatch.undo()
    actions.close()
    records = ledger.records()
    assert {record['type'] for record in records} == {'agent-action/1', 'agent-outcome/1'}
    if way is not by_hooks:
        assert not [record for record in records if record['type'] == 'agent-outcome/1' and record['parent'] is None]
