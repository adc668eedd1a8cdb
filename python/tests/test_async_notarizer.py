"""The notarizer of asyncio on a real server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from ledger import QUICK, URL, Ledger, Proxy, ledger, needs_server, proxy

from tallystick import AsyncTallystick
from tallystick.errors import AuthenticationError
from tallystick.notarizer import AsyncNotarizer, BufferFullError, NotRecordedError, open_spool

__all__ = ['ledger', 'proxy']
pytestmark = needs_server


def connect(ledger: Ledger, url: str = URL, **options: Any) -> AsyncTallystick:
    return AsyncTallystick(base_url=url, api_key=options.pop('api_key', ledger.key), **options)


@pytest.mark.parametrize('is_durable', [False, True])
def test_records_in_order_and_ends_with_its_tasks(ledger: Ledger, tmp_path: Path, is_durable: bool) -> None:
    async def main() -> None:
        spool = open_spool(tmp_path) if is_durable else None
        async with connect(ledger) as client, client.notarizer(spool=spool, records_per_batch_max=100, linger_s=0) as notarizer:
            for i in range(450):
                await notarizer.ready()
                notarizer.record({'i': i}, handle=f'h{i}', parent_handle=f'h{i - 1}' if i % 100 == 50 else None)
            await notarizer.flush()
            assert notarizer.stats == (0, 0, 0, 450, 0, 0, None)
        assert [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(main())
    records = ledger.records()
    assert [record['payload']['i'] for record in records] == list(range(450))
    assert records[150]['parent'] == records[149]['id']


def test_a_server_that_comes_and_goes_gets_everything_once(ledger: Ledger) -> None:
    proxy = Proxy(is_up=False)

    async def main() -> None:
        options: Any = {**QUICK, 'buffered_records_max': 40, 'records_per_batch_max': 10}
        async with connect(ledger, proxy.url) as client, client.notarizer(on_error=lambda _: None, **options) as notarizer:
            for i in range(40):
                notarizer.record({'i': i})
            with pytest.raises(BufferFullError):
                notarizer.record({'i': 40})
            with pytest.raises(NotRecordedError, match='40 records'):
                await notarizer.flush(0.05)
            proxy.accept()
            proxy.lose_answers(2)
            for i in range(40, 120):
                await notarizer.ready()
                notarizer.record({'i': i})

    asyncio.run(main())
    proxy.close()
    assert ledger.numbers() == list(range(120))


def test_a_task_that_is_cancelled_while_it_waits_takes_no_record_back(ledger: Ledger, proxy: Proxy) -> None:
    async def main() -> None:
        proxy.hold()
        async with connect(ledger, proxy.url) as client:
            notarizer = client.notarizer(buffered_records_max=20, **QUICK)
            for i in range(20):
                notarizer.record({'i': i})
            for waiting in (notarizer.flush(), notarizer.ready(), notarizer.flush()):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(waiting, 0.05)
            proxy.resume()
            await notarizer.flush()
            notarizer.record({'i': 20})
            await notarizer.close()

    asyncio.run(main())
    assert ledger.numbers() == list(range(21))


@pytest.mark.parametrize('is_closed', [False, True])
def test_a_loop_that_ends_in_the_middle_leaves_a_spool_from_which_everything_is_sent_once(
    ledger: Ledger, proxy: Proxy, tmp_path: Path, is_closed: bool
) -> None:
    """If `is_closed`, the program is cancelled during `close`, which still releases the spool."""
    spools = []

    async def main() -> None:
        notarizer = connect(ledger, proxy.url).notarizer(spool=open_spool(tmp_path), records_per_batch_max=10, **QUICK)
        spools.append(notarizer)
        for i in range(100):
            await notarizer.ready()
            notarizer.record({'i': i})
            await asyncio.sleep(0.001)
            if i == 60:
                proxy.hold()
        if is_closed:
            await notarizer.close()
        else:
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(main(), 1))
    proxy.resume()
    if not is_closed:
        spools[0]._core.spool.close()  # releases the spool, as the end of the process would

    async def rest() -> None:
        async with connect(ledger) as client, client.notarizer(spool=open_spool(tmp_path)):
            pass

    asyncio.run(rest())
    assert ledger.numbers() == list(range(100))


def test_close_keeps_its_time_and_ends_the_attempt(ledger: Ledger, proxy: Proxy, tmp_path: Path) -> None:
    async def main() -> None:
        proxy.hold()
        async with connect(ledger, proxy.url) as client:
            notarizer = client.notarizer(spool=open_spool(tmp_path), **QUICK)
            notarizer.record({'i': 0})
            began = time.monotonic()
            with pytest.raises(NotRecordedError):
                await notarizer.close(0.1)
            assert time.monotonic() - began < 1
        open_spool(tmp_path).close()

    asyncio.run(main())


def test_what_only_people_can_mend_is_told_at_once_and_kept(ledger: Ledger) -> None:
    async def main() -> None:
        given = 'tly_' + '0' * 60
        client = connect(ledger, api_key=lambda: given)
        notarizer: AsyncNotarizer = client.notarizer(on_error=lambda _: None, **(QUICK | {'blocked_delay_s': 60}))
        notarizer.record({'i': 0})
        with pytest.raises(AuthenticationError):
            await notarizer.flush(5)
        given = ledger.key
        await notarizer.close(5)
        await client.aclose()

    asyncio.run(main())
    assert ledger.numbers() == [0]
