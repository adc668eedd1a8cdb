"""Every member of a record can be set by every method that makes a record. The samples are those of
test/helpers/every-member.ts.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from oracle import ROOT

from tallystick._core.options import Call
from tallystick._sync.resources.records import Records
from tallystick.notarizer.items import make_item
from tallystick.signing.statements import TypeFacts, Unsigned, of_batch, of_record
from tallystick.types import BatchItemParam

FIXTURE = json.loads((ROOT / 'test' / 'vectors' / 'every-member.json').read_text())
SAMPLES: dict[str, list[Any]] = FIXTURE['samples']
FULL = {name: first for name, (first, _) in SAMPLES.items()}
UNSALTED = {name: value for name, value in FULL.items() if name != 'salt'}
IN_BODY = {name: value for name, value in FULL.items() if name != 'traceparent'}
UNSIGNED = ('metadata', 'subject')


def arguments(of: dict[str, Any]) -> dict[str, Any]:
    return {snake_case(name): value for name, value in of.items()}


def snake_case(name: str) -> str:
    return ''.join(f'_{letter.lower()}' if letter.isupper() else letter for letter in name)


def signed(item: dict[str, Any]) -> Unsigned:
    return of_batch({'records': [item]}, now_ms=0, random=bytes)


@pytest.mark.parametrize('member', SAMPLES)
def test_an_item_of_a_batch_is_signed_with_each(member: str) -> None:
    other = signed({**FULL, member: SAMPLES[member][1]})
    assert (other.subjects == signed(FULL).subjects) == (member in UNSIGNED)
    assert other.body['records'][0] == {**FULL, member: SAMPLES[member][1]}


@pytest.mark.parametrize('gated', [False, True])
def test_a_record_is_signed_with_each(gated: bool) -> None:
    made = of_record(IN_BODY, TypeFacts(gated, '00' * 32), now_ms=0, traceparent=FULL['traceparent'], random=bytes)
    predicate = {name for name, value in made.predicate.items() if value is not None}
    assert SAMPLES.keys() - {'payload', 'salt', *UNSIGNED} <= predicate
    assert made.body == IN_BODY


def test_a_notarizer_sends_each() -> None:
    payload, *_ = SAMPLES['payload']
    options = arguments({name: value for name, value in UNSALTED.items() if name != 'payload'})
    assert json.loads(make_item(payload, **options).item.text) == UNSALTED
    with pytest.raises(TypeError, match='subjct'):
        make_item(payload, subjct='alice')  # type: ignore[call-arg]


@pytest.mark.parametrize('method', ['notarize', 'create'])
def test_a_record_is_sent_with_each(method: str) -> None:
    call = sent(method, arguments(FULL))
    assert call.body == IN_BODY
    assert call.said['traceparent'] == FULL['traceparent']


def test_an_item_of_a_batch_has_each() -> None:
    assert BatchItemParam.__annotations__.keys() == SAMPLES.keys()


@pytest.mark.parametrize('name', FIXTURE['filters'])
def test_records_are_searched_by_each(name: str) -> None:
    assert sent('list', {snake_case(name): 'x'}).query[name] == 'x'


def sent(method: str, given: dict[str, Any]) -> Call:
    """Returns the call that a method makes."""
    calls: list[Call] = []

    def answer(*arguments: Any) -> dict[str, Any]:
        calls.append(arguments[-1])
        return {'data': [], 'nextCursor': None}

    made = getattr(Records(SimpleNamespace(json=answer, plain=answer)), method)(**given)  # type: ignore[arg-type]
    if method == 'list':
        made.page()
    return calls[0]
