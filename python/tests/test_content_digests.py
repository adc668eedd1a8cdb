"""The same value has the same digest in each process and in both languages. Different values never
have the same digest.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import cached_property
from pathlib import PurePosixPath
from threading import Lock
from types import MappingProxyType
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import pytest
from oracle import ROOT
from pydantic import AnyUrl, BaseModel, ConfigDict, PrivateAttr

from tallystick.actions import matches_digest
from tallystick.actions.content import content_of, error_of
from tallystick.actions.form import Form, form_of

VECTORS = json.loads((ROOT / 'test/vectors/content-digests.json').read_text())
CASES: list[dict[str, Any]] = [case for case in VECTORS['cases'] if 'python' in case['languages']]


class Colour(Enum):
    RED = 'red'


@dataclass
class Price:
    cents: int
    at: date


@dataclass
class Weight:
    cents: int
    at: date


@dataclass(slots=True)
class Slim:
    cents: int


class Order(BaseModel):
    id: UUID
    lines: set[int]


INSTANCES: dict[str, Any] = {'Price': Price, 'Weight': Weight, 'Order': Order}


def untag(form: Any) -> Any:
    """Converts a form back to its value, for all tags that Python writes."""
    if isinstance(form, list):
        return [untag(each) for each in form]
    if not isinstance(form, dict):
        return form
    if '$is' not in form:
        return {name: untag(value) for name, value in form.items()}
    return TAGS[form['$is']](form['value'])


def pairs(value: Any) -> dict[Any, Any]:
    return {untag(name): untag(member) for name, member in value}


TAGS: dict[str, Any] = {
    'number': float,
    'integer': int,
    'text': lambda value: ''.join(chr(int(point, 16)) for point in value.split(' ')),
    'object': pairs,
    'map': pairs,
    'set': lambda value: {untag(each) for each in value},
    'tuple': lambda value: tuple(untag(each) for each in value),
    'bytes': b64decode,
    'datetime': datetime.fromisoformat,
    'date': date.fromisoformat,
    'time': time.fromisoformat,
    'microseconds': lambda value: timedelta(microseconds=int(value)),
    'decimal': Decimal,
    'uuid': UUID,
    'url': AnyUrl,
    'path': lambda value: PurePosixPath(value[1]),
    'enum': lambda value: Colour(value[1]),
    'instance': lambda value: INSTANCES[value[0]](**untag(value[1])),
}


def digest_of(value: Any) -> dict[str, Any]:
    found = content_of('result', value, keep=False)['resultDigest']
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize('case', CASES, ids=lambda case: case['name'])
def test_the_digests_of_the_vectors_which_typescript_makes_as_well(case: dict[str, Any]) -> None:
    value = untag(case['form'])
    assert digest_of(value) == case['digest']
    assert matches_digest(value, case['digest'])


def test_a_value_without_a_form_has_no_digest_and_says_why() -> None:
    itself: list[Any] = []
    itself.append(itself)
    deep: Any = 1
    for _ in range(129):
        deep = [deep]

    class Box:
        def __init__(self) -> None:
            self.shown = 1

    @dataclass
    class Gone:
        name: str

        def __getattribute__(self, name: str) -> Any:
            if name == 'name':
                raise RuntimeError('its session is closed')
            return super().__getattribute__(name)

    values = {
        'itself in a list': itself,
        'a function': digest_of,
        'an instance of a class': Box(),
        'an error': ValueError('x'),
        '129 lists in each other': deep,
        'a list of 4 MiB': ['x' * 2**20] * 4,
        'an integer of 4301 digits': 10**4300,
        'an object that cannot be read': Gone('x'),
    }
    for case in VECTORS['none']:
        value = values[case['name']]
        for keep in (False, True):
            for each in (value, {'in': [value]}):
                assert content_of('result', each, keep=keep) == {'resultDigest': {'of': 'none', 'why': case['why']}}, case['name']
        assert not matches_digest(value, {'of': 'none', 'why': case['why']})


def test_a_value_is_written_to_the_depth_that_typescript_writes_it() -> None:
    def nested(make: Callable[[Any], Any], depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = make(value)
        return value

    for make in (
        lambda value: [value],
        lambda value: {'a': value},
        lambda value: {1: value},
        lambda value: (value,),
        lambda value: Open(a=value),
    ):
        assert digest_of(nested(make, 128))['of'] != 'none'
        assert digest_of(nested(make, 129)) == {'of': 'none', 'why': 'too-deep'}


def test_no_part_of_an_object_is_left_out() -> None:
    class Late(datetime):
        nanosecond = 1

    class Child(Price):
        def __init__(self, more: int) -> None:
            super().__init__(1, date.min)
            self.more = more

    class Locked(BaseModel):
        _lock: Any = PrivateAttr(default_factory=Lock)

    class Slotted(Slim):
        __slots__ = ('more',)

    class First(dict[str, list[int]]):
        def items(self) -> Any:
            return [(name, values[0]) for name, values in super().items()]

    class Failure(ValueError):
        pass

    def with_more(value: Any) -> Any:
        value.more = 1
        return value

    clash = Open.model_validate({'_private': 1})
    assert clash.__pydantic_extra__ == {'_private': 1}
    hidden: list[Any] = [
        clash,
        with_more(Slotted(1)),
        *(with_more(type('Own', (kind,), {})()) for kind in (str, int, float, list, tuple, set, dict, bytes, Decimal)),
        First(a=[1, 2]),
        httpx.QueryParams('a=1&a=2'),
        httpx.Headers([('a', '1'), ('a', '2')]),
        time(12, tzinfo=ZoneInfo('Europe/Berlin')),
        dataclass(Failure)(),
        object(),
        MagicMock(),
        Late(1, 1, 1),
        Child(1),
        Locked(),
        Price,
        range(3),
        iter([]),
        {'a': 1}.keys(),
        Lock(),
        re.match('a', 'a'),
    ]
    for value in hidden:
        assert digest_of(value) == {'of': 'none', 'why': 'no-form'}, value
    for value in [MagicMock(spec=dict), MagicMock(spec=str)]:
        assert digest_of(value)['of'] == 'none'


class Open(BaseModel):
    model_config = ConfigDict(extra='allow', arbitrary_types_allowed=True)
    a: Any = None
    _private: int = PrivateAttr(default=0)


@dataclass
class Cached:
    cents: int

    @cached_property
    def dollars(self) -> float:
        return self.cents / 100


def with_private(value: int) -> Open:
    model = Open()
    model._private = value
    return model


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    RED = 'red'


DAY = date(2026, 11, 29)
MOMENT = datetime(2026, 11, 29, 15, tzinfo=UTC)
DIFFERENT: list[Any] = [
    *(None, True, 1, 0, -0.0, math.nan, math.inf, '1', '', 'None', b'1', 'MQ==', 2**53 + 1, str(2**53 + 1), '\ud800', '\ufffd', '�\ud800'),
    *('\ud83d\ude00', '😀', '😀\ud800', '\ud83d\ude00\ud800'),
    *(
        [],
        (),
        set(),
        {},
        [1],
        (1,),
        {1},
        {1: 'a'},
        {'1': 'a'},
        {None: 'a'},
        {'None': 'a'},
        {True: 'a'},
        [[1]],
        [(1,)],
        [['a', 1]],
        {'a': 1},
    ),
    *({1: 'a', '1': 'a'}, {(1, 2): 3}, {'$is': 'integer', 'value': '9007199254740993'}, {'$is': 'map', 'value': []}, {'a': None}),
    *(MOMENT, MOMENT.isoformat(), MOMENT.replace(tzinfo=None), MOMENT.astimezone(timezone(timedelta(hours=1)))),
    *(MOMENT.replace(microsecond=1), DAY, DAY.isoformat(), MOMENT.time(), timedelta(1), timedelta(1, 0, 1)),
    *(Decimal('1.1'), Decimal('1.10'), Decimal(1), Decimal('NaN'), UUID(int=1), str(UUID(int=1)), Colour.RED, 'red'),
    *(Price(1, DAY), Weight(1, DAY), {'cents': 1, 'at': DAY}, PurePosixPath('/a'), '/a', AnyUrl('http://a/'), 'http://a/'),
    *(
        Order(id=UUID(int=1), lines={1}),
        Order(id=UUID(int=1), lines={2}),
        Open(),
        Open(a=1),
        Open(a='1'),
        Open.model_validate({'b': 1}),
        with_private(1),
    ),
    *(Cached(1), Cached(2)),
]
SAME: list[tuple[Any, Any]] = [
    ({'a': 1, 'b': 2}, OrderedDict(b=2, a=1)),
    ({'a': 1}, MappingProxyType({'a': 1})),
    ({1, 2, 'a'}, frozenset(['a', 2, 1])),
    (b'a', bytearray(b'a')),
    (b'a', memoryview(b'a')),
    (1, 1.0),
    (2**60, 2.0**60),
    (1, Number.ONE),
    ('red', Word.RED),
    ({1: 'a', None: 'b'}, {None: 'b', 1: 'a'}),
    (Open(a=1), Open(a=1)),
]


def test_different_values_have_different_digests() -> None:
    digests = [json.dumps(digest_of([value])) for value in DIFFERENT]
    assert all('"none"' not in digest for digest in digests)
    assert len(set(digests)) == len(digests)
    for a, b in SAME:
        assert digest_of(a) == digest_of(b), (a, b)


def test_what_an_object_computes_of_itself_changes_no_digest() -> None:
    price = Cached(1)
    before = digest_of(price)
    assert price.dollars == 0.01
    assert digest_of(price) == before


def test_a_value_has_the_same_digest_in_each_process() -> None:
    values = ['test_content_digests', 'DIFFERENT']
    code = f'import json, {values[0]} as t; print(json.dumps([t.digest_of(each) for each in t.{values[1]}]))'
    environment = {**os.environ, 'PYTHONHASHSEED': '7', 'PYTHONPATH': os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=60, env=environment).stdout
    assert json.loads(said) == [digest_of(value) for value in DIFFERENT]


LEAVES: list[Any] = [
    *(None, True, False, 0, 1, 1.5, -0.0, math.inf, 2**53 + 1, -(2**70), 1e21, '', '1', 'null', '\ud800', '\ufffd', '😀\0', b'1', 'MQ=='),
    *(datetime(2026, 1, 1, microsecond=5_000, tzinfo=UTC), '2026-01-01T00:00:00.005Z'),
]
NAMES = ['', 'a', 'b', '$is', 'value', '\ud800', '\ufb33', '😀']
OURS: list[Any] = [*LEAVES, Decimal('1.10'), DAY, UUID(int=1), timedelta(1), Colour.RED, MOMENT.replace(tzinfo=None)]


def made(seed: random.Random, leaves: list[Any], depth: int = 3) -> Any:
    """Returns a random value from few leaves, so that two values are often equal."""
    kind = seed.randrange(8 if depth else 3)
    few = [made(seed, leaves, depth - 1) for _ in range(seed.randrange(3))] if kind > 2 else []
    match kind:
        case 0 | 1 | 2:
            return seed.choice(leaves)
        case 3 | 4:
            return few
        case 5:
            return {each for each in few if is_hashable(each)}
        case 6:
            return {each: seed.choice(leaves) for each in few if is_hashable(each)}
        case _:
            return {seed.choice(NAMES): each for each in few}


def is_hashable(value: Any) -> bool:
    """Whether a value can be a member of a set in Python and in JavaScript. -0.0 cannot, because
    JavaScript stores 0 instead.
    """
    try:
        hash(value)
        return repr(value) != '-0.0'
    except TypeError:
        return False


def test_a_form_is_that_of_one_value_whoever_reads_it_has_the_value_again() -> None:
    seed = random.Random(11)
    for _ in range(3_000):
        value = made(seed, [*OURS, (), (1,), ('1', DAY)])
        form = form_of(value)
        assert isinstance(form, Form)
        read = untag(json.loads(form.data))
        assert shown(read) == shown(value)
        assert (form.of == 'tagged-jcs') == (b'"$is":' in form.data)
        assert form_of(deepcopy(value)) == form


def shown(value: Any) -> Any:
    """Returns the value with its types, to compare values. Without types, `1 == True` and `0.0 ==
    -0.0`.
    """
    if isinstance(value, dict):
        return frozenset((shown(name), shown(member)) for name, member in value.items())
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(shown, value))
    if isinstance(value, set):
        return ('set', frozenset(map(shown, value)))
    number = float(value) if isinstance(value, int) and not isinstance(value, bool) and float(value) == value else value
    return (type(number).__name__, repr(number))


def test_values_of_both_languages_have_one_digest() -> None:
    seed = random.Random(7)
    values = [made(seed, LEAVES) for _ in range(1_000)]
    forms = [form.data.decode() for form in map(form_of, values) if isinstance(form, Form)]
    assert len(forms) == len(values)
    command = ['node', 'tools/run.mjs', 'test/system/python/digests.ts']
    said = subprocess.run(command, cwd=ROOT, input=json.dumps(forms), capture_output=True, text=True, check=True, timeout=60).stdout
    assert json.loads(said) == [digest_of(value) for value in values]


def test_an_error_is_kept_by_its_class_and_the_digest_of_its_text() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError('its session is closed')

    text = 'password=hunter2'
    digest = digest_of(text)
    assert error_of(ValueError(text), keep=False) == {'errorType': 'ValueError', 'errorDigest': digest}
    assert error_of(text, keep=False) == {'errorDigest': digest}
    assert error_of(ValueError(text), keep=True) == {'errorType': 'ValueError', 'error': text}
    assert error_of(ValueError(), keep=False) == {'errorType': 'ValueError'}
    assert error_of(type(text, (Exception,), {})(), keep=False) == {}
    assert error_of({'code': 1}, keep=False) == {'errorDigest': digest_of({'code': 1})}
    long = error_of('x' * 5_000, keep=True)
    assert (len(long['error']), long['errorDigest']) == (4_096, digest_of('x' * 5_000))
    assert error_of(Silent(), keep=True) == {'errorType': 'Silent', 'errorDigest': {'of': 'none', 'why': 'unreadable'}}


def test_a_value_that_is_kept_is_the_value_with_its_types() -> None:
    row = {'id': 2**70, 'at': MOMENT, 'tags': {'a'}, 'price': Decimal('1.10'), 'of': (1,)}
    assert untag(content_of('result', row, keep=True)['result']) == row
    assert list(content_of('result', ['a\0'], keep=True)) == ['resultDigest']
    assert content_of('result', {'b': 1, 'a': [None]}, keep=True) == {'result': {'b': 1, 'a': [None]}}
