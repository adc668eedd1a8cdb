"""JSON in files: the Python verifier gives the same codes as the TypeScript verifier, in the same
order, in linear time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from oracle import ROOT

from tallystick.verify import Refused
from tallystick.verify.strict_json import parse_text

CASES = json.loads((ROOT / 'test' / 'vectors' / 'json-codes.json').read_text())


@pytest.mark.parametrize('case', CASES, ids=lambda case: case['text'])
def test_of_several_reasons_the_first_in_the_order_of_the_format_counts(case: dict[str, str | None]) -> None:
    assert code_of(str(case['text'])) == case['code']


def code_of(text: str, depth_max: int = 4) -> str | None:
    try:
        parse_text(text, depth_max)
    except Refused as refused:
        return refused.code
    return None


HOSTILE: dict[str, Callable[[int], str]] = {
    'a member named twice behind many others': lambda n: json.dumps({str(i): 0 for i in range(n)})[:-1] + f',"{n - 1}":0}}',
    'brackets that nobody closes': lambda n: '[' * n,
    'closed brackets, then open ones': lambda n: ']' * n + '[' * n,
    'a string that nobody ends': lambda n: '[[[[' + '"' + '\\"' * n,
    'many short strings': lambda n: '[[[[' + '"",' * n + '""]]]]',
    'backslashes outside of strings': lambda n: '[[[[[' + '\\' * n,
    'a long number': lambda n: '0.' + '0' * n + '1',
    'many escapes': lambda n: '[[[[' + '"\\u0061",' * n + '""]]]]',
    'many bad strings': lambda n: '["' + '\\ud800' * n + '"]',
}


@pytest.mark.parametrize('make', HOSTILE.values(), ids=HOSTILE.keys())
def test_time_grows_with_the_length_alone(make: Callable[[int], str]) -> None:
    """A text of eight times the length would take 64 times as long if the time were quadratic."""
    small, large = make(4_000), make(32_000)
    assert cost_of(large) < 30 * max(cost_of(small), 0.0005)


def cost_of(text: str) -> float:
    """Returns the CPU seconds of the best of five runs. The best run is used, because other processes
    compete for the cache.
    """
    best = float('inf')
    for _ in range(5):
        before = time.process_time()
        code_of(text)
        best = min(best, time.process_time() - before)
    return best
