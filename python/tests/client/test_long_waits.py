"""Tests waits without a time limit."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

import pytest
from hostile import AGENT, API_KEY, FLAVOURS, ask, hostile, send_json

from tallystick import AsyncTallystick, Tallystick
from tallystick._core.requests import parse_timeout


def notarized(connection: Any, number: int, request: Any) -> None:
    time.sleep(0.05)
    records = [{'id': 'rec_1'} for _ in request.json['records']]
    send_json(connection, {'batch': 'bat_1', 'entry': {'seq': 1}, 'records': records}, 201)


@pytest.mark.parametrize('flavour', FLAVOURS)
def test_a_notarizer_is_waited_for_as_long_as_it_takes(flavour: str) -> None:
    with hostile(notarized) as server:

        async def wait() -> tuple[int, int]:
            async with AsyncTallystick(base_url=server.base_url, api_key=API_KEY) as client:
                notarizer = client.notarizer()
                notarizer.record({'i': 0})
                await notarizer.flush(math.inf)
                notarizer.record({'i': 1})
                await notarizer.close(math.inf)
                return notarizer.stats.recorded, notarizer.stats.failures

        if flavour == 'async':
            assert asyncio.run(wait()) == (2, 0)
            return
        with Tallystick(base_url=server.base_url, api_key=API_KEY) as client:
            notarizer = client.notarizer()
            notarizer.record({'i': 0})
            notarizer.ready(math.inf)
            notarizer.flush(math.inf)
            notarizer.record({'i': 1})
            notarizer.close(math.inf)
            assert (notarizer.stats.recorded, notarizer.stats.failures) == (2, 0)


@pytest.mark.parametrize('flavour', FLAVOURS)
def test_an_answer_is_waited_for_as_long_as_it_takes(flavour: str) -> None:
    with hostile(lambda connection, number, request: send_json(connection, AGENT, 201)) as server:
        agent = ask(flavour, server.base_url, lambda client: client.agents.register(name='a', timeout=math.inf))
        assert agent.id == 'agt_1'


def test_a_wait_that_has_an_end_is_as_long_as_it_was_said() -> None:
    assert [parse_timeout(seconds) for seconds in (0.5, 30.0, 86_400.0)] == [0.5, 30.0, 86_400.0]
