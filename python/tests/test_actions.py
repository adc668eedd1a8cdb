"""`Actions` and `@accountable` on a real server: the tree in the ledger equals the run."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import pytest
from ledger import QUICK, Ledger, Proxy, ledger, needs_server, proxy
from opentelemetry.sdk.trace import TracerProvider
from oracle import ROOT

from tallystick.actions import Actions, Call, accountable, current_action, matches_digest
from tallystick.actions.content import attributes_of, content_of, references_of, short
from tallystick.notarizer import NotRecordedError

__all__ = ['ledger', 'proxy']
VALUES: list[Any] = [
    *('copper', '', 'Käse 😀', None, [], 17, False),
    {'b': [1.5, 1e21, -0.0, 1e-7], 'a': 'Käse\n', '€': True, 'nul': 'a\0'},
    {'deep': {'er': ['x' * 50_000]}},
]
GIVEN: dict[str, Any] = {
    'values': VALUES,
    'texts': [['a\0b', 9], ['abc', 2], ['', 2]],
    'attributes': {'a': 1, 'nul': 'a\0', 'long': 'x' * 5000},
    'references': {'gen_ai.tool.call.id': 'c\n', 'gen_ai.conversation.id': 'é'},
}


def test_the_same_value_is_recorded_as_by_the_sdk_for_typescript() -> None:
    command = ['node', 'tools/run.mjs', 'test/system/python/content.ts']
    said = subprocess.run(command, cwd=ROOT, input=json.dumps(GIVEN), capture_output=True, text=True, check=True, timeout=60).stdout
    assert json.loads(said) == {
        'values': [[content_of('result', value, keep=keep) for value in VALUES] for keep in (False, True)],
        'texts': [short(value, chars) for value, chars in GIVEN['texts']],
        'attributes': attributes_of(GIVEN['attributes']),
        'references': references_of(GIVEN['references']),
    }


@needs_server
def test_functions_that_call_each_other_are_a_tree_with_their_exceptions(ledger: Ledger) -> None:
    actions = Actions(ledger.client, framework='test/1')
    root: Any = None

    @dataclass
    class Price:
        cents: int

    @accountable(actions=actions)
    def look_up(metal: str, *, at: str = 'london') -> Price:
        if metal == 'gold':
            raise LookupError('no price of gold')
        return Price(9_612)

    @accountable(actions=actions, kind='agent', content=True)
    async def advise(question: str) -> str:
        nonlocal root
        root = current_action.get()
        with pytest.raises(LookupError):
            look_up('gold')
        found = await asyncio.gather(ask('tin'), ask('zinc'))
        return f'{question}: {sum(found)}'

    @accountable(actions=actions, name='ask')
    async def ask(metal: str) -> int:
        return look_up(metal).cents

    assert asyncio.run(advise('how much')) == 'how much: 19224'
    actions.close()
    assert ledger.lines() == [
        'agent advise · before · ok',
        '  tool look_up · before · error · LookupError',
        '  tool ask · before · ok',
        '    tool look_up · before · ok',
        '  tool ask · before · ok',
        '    tool look_up · before · ok',
    ]
    records = ledger.records()
    assert records[0]['payload']['arguments'] == {'question': 'how much'}
    gold = records[1]['payload']
    assert gold == {
        'kind': 'tool',
        'name': 'look_up',
        'framework': 'test/1',
        'told': 'before',
        'argumentsDigest': digest('{"metal":"gold"}'),
    }
    assert ledger.records(traceId=root.trace_id) == records
    ends = [record['payload'] for record in records if record['type'] == 'agent-outcome/1']
    assert [end['result'] for end in ends if 'result' in end] == ['how much: 19224']
    prices = [end['resultDigest'] for end in ends if end['name'] == 'look_up' and end['status'] == 'ok']
    assert prices == [digest(f'{{"$is":"instance","value":["{Price.__qualname__}",{{"cents":9612}}]}}', 'tagged-jcs')] * 2
    assert matches_digest(Price(9_612), prices[0])


@needs_server
def test_fail_closed_calls_only_what_the_ledger_has(ledger: Ledger, proxy: Proxy) -> None:
    actions = Actions(ledger.connect(proxy.url), hold_s_max=20, on_error=lambda _: None, **QUICK)
    called: list[int] = []

    @accountable(actions=actions, fail_closed=True)
    def pay(cents: int) -> None:
        called.append(cents)

    @accountable(actions=actions, fail_closed=True)
    async def pay_async(cents: int) -> None:
        called.append(cents)

    pay(1)
    asyncio.run(pay_async(2))
    proxy.refuse()
    actions.hold_s_max = 0.1
    why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
    with pytest.raises(NotRecordedError, match=why):
        pay(3)
    with pytest.raises(NotRecordedError, match=why):
        asyncio.run(pay_async(4))
    assert called == [1, 2]
    proxy.accept()
    actions.close()
    denied = f'held · denied · NotRecordedError · {why}'
    assert ledger.lines() == ['tool pay · held · ok', 'tool pay_async · held · ok', f'tool pay · {denied}', f'tool pay_async · {denied}']


@needs_server
def test_a_full_buffer_stops_no_agent_and_the_next_record_says_how_many_are_lost(ledger: Ledger, proxy: Proxy) -> None:
    proxy.refuse()
    errors: list[Exception] = []
    actions = Actions(ledger.connect(proxy.url), buffered_records_max=2, on_error=errors.append, **QUICK)
    actions.run(Call(kind='tool', name='first'), lambda: 1)
    assert actions.run(Call(kind='tool', name='lost'), lambda: 2) == 2
    proxy.accept()
    actions.flush()
    actions.run(Call(kind='tool', name='next'), lambda: 3)
    actions.close()
    payloads = [record['payload'] for record in ledger.records()]
    assert [payload['name'] for payload in payloads] == ['first', 'first', 'next', 'next']
    assert payloads[2]['attributes'] == {'lostBefore': 2}


@needs_server
def test_what_has_no_text_is_recorded_and_what_is_long_hides_no_number(ledger: Ledger) -> None:
    class Detached:
        def __str__(self) -> str:
            raise RuntimeError('its session is closed')

        __repr__ = __str__

    class Failed(Exception):
        def __str__(self) -> str:
            raise RuntimeError('its session is closed')

    def fail() -> None:
        raise Failed

    actions = Actions(ledger.client, fail_closed=True, hold_s_max=math.inf)
    values: list[Any] = [Detached(), [Detached()], {'n': 10**400}, 10**5000]
    for value in values:
        assert actions.run(Call(kind='tool', name='find', attributes={'of': Detached()}), partial(next, iter([value]))) is value
    with pytest.raises(Failed):
        actions.run(Call(kind='tool', name='fail'), fail)
    waiting = actions.begin(Call(kind='tool', name='wait'), 'held')
    asyncio.run(waiting.permitted())
    actions._lost = 7
    actions.begin(Call(kind='tool', name='next', attributes={'long': 'x' * 4_080}))
    waiting.end()
    actions.close()
    # No variable refers to the action `next`. So it ended as `unknown`, and this outcome is counted
    # too.
    assert (actions.stats.recorded, actions.stats.refused) == (14, 0)
    assert ledger.records()[-3]['payload']['attributes'] == {'lostBefore': 7}


@needs_server
def test_the_trace_of_opentelemetry_is_that_of_the_records(ledger: Ledger) -> None:
    actions = Actions(ledger.client)
    with TracerProvider().get_tracer('test').start_as_current_span('run') as span:
        actions.run(Call(kind='tool', name='look_up'), lambda: None)
    actions.close()
    assert len(ledger.records(traceId=f'{span.get_span_context().trace_id:032x}')) == 2


def digest(text: str, of: str = 'jcs') -> dict[str, Any]:
    return {'sha256': sha256(text.encode()).hexdigest(), 'of': of, 'length': len(text)}
