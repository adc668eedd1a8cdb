"""Parses JSON by the rules of docs/formats/documents.md, which it checks on the text. Also writes the
canonical form (RFC 8785).
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .._canonical import canonical, number_text
from .errors import Refused
from .limits import JSON_DIGITS_MAX

__all__ = ['Text', 'canonical', 'number_text', 'parse', 'parse_text']

_SAFE = 2**53
_PLAIN_CHARS = 15
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""Whole strings, and brackets. Possessive, so that any text takes only one pass."""
_STEPS = {'{': 1, '[': 1, '}': -1, ']': -1}


class Text:
    """A parsed text. `plain` is True if Python's own JSON encoder writes the value's canonical form."""

    __slots__ = ('plain', 'value')

    def __init__(self, value: Any, plain: bool) -> None:
        self.value = value
        self.plain = plain


def parse(data: bytes, depth_max: int) -> Text:
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError:
        raise Refused('bad_utf8', 'the text is not UTF-8') from None
    return parse_text(text, depth_max)


def parse_text(text: str, depth_max: int) -> Text:
    """Parses a text. Checks the rules in the order of docs/formats/documents.md, and raises Refused at
    the first violation.

    Depth is checked first, because Python cannot parse a text that is too deep.
    """
    numbers: list[str] = []
    doubled: list[str] = []
    decode = _decoder(numbers, doubled)
    _check_depth(text, depth_max)
    try:
        value = decode(text)
    except (ValueError, RecursionError) as error:
        raise Refused('json_syntax', f'not JSON: {error}') from None
    for literal in numbers:
        _check_number(literal)
    escaped = '\\u' in text
    if escaped:
        strings = list(_strings_of(value))
        _check_surrogates(strings)
        if any('\x00' in one for one in strings):
            raise Refused('json_nul', 'a string has U+0000')
    if doubled:
        raise Refused('json_duplicate_member', f'{doubled[0][:64]!r} occurs twice in one object')
    return Text(value, plain=not escaped and not numbers and text.isascii())


def _decoder(numbers: list[str], doubled: list[str]) -> Callable[[str], Any]:
    def integer(literal: str) -> int | float:
        if len(literal) <= _PLAIN_CHARS:
            return int(literal)
        numbers.append(literal)
        number = float(literal)
        return int(number) if abs(number) <= _SAFE else number

    def fraction(literal: str) -> float:
        numbers.append(literal)
        return float(literal)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            doubled.append(_first_doubled(pairs))
        return found

    def constant(literal: str) -> None:
        raise ValueError(f'{literal} is not JSON')

    return json.JSONDecoder(object_pairs_hook=members, parse_float=fraction, parse_int=integer, parse_constant=constant).decode


def _first_doubled(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    return name


def _strings_of(value: Any) -> Iterator[str]:
    """Yields every string and name in a value."""
    stack = [value]
    while stack:
        at = stack.pop()
        if isinstance(at, str):
            yield at
        elif isinstance(at, dict):
            yield from at
            stack.extend(at.values())
        elif isinstance(at, list):
            stack.extend(at)


def _check_surrogates(strings: list[str]) -> None:
    try:
        for one in strings:
            one.encode('utf-8')
    except UnicodeEncodeError:
        raise Refused('json_surrogate', 'a string has a lone surrogate') from None


def _check_number(literal: str) -> None:
    number = float(literal)
    digits = _significant(literal)
    if number in (float('inf'), float('-inf')) or (number == 0 and digits) or len(digits) > JSON_DIGITS_MAX:
        raise Refused('json_number_lossy', f'{literal[:64]} would change as a double')
    if re.fullmatch('-?[0-9]+', literal) and int(number) != int(literal) and number_text(number) != literal:
        raise Refused('json_number_lossy', f'{literal[:64]} would change as a double')


def _significant(literal: str) -> str:
    mantissa = re.split('[eE]', literal)[0].lstrip('-')
    return mantissa.replace('.', '').strip('0')


def _check_depth(text: str, depth_max: int) -> None:
    """Raises Refused if the text is too deep. Counts brackets outside of strings, even if the text is
    not JSON.
    """
    if text.count('{') + text.count('[') <= depth_max:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += _STEPS.get(found[0], 0)
        if depth > depth_max:
            raise Refused('json_depth', f'the JSON is nested more than {depth_max} levels deep')
