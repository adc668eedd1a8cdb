"""JSON as docs/formats/documents.md takes it, checked on its text; and its canonical form, RFC 8785."""

import json
import re
from collections.abc import Callable
from typing import Any

from .._canonical import canonical, number_text
from .errors import Refused

__all__ = ['Text', 'canonical', 'number_text', 'parse', 'parse_text']

_SAFE = 2**53
_DIGITS_MAX = 17
_PLAIN_LENGTH_MAX = 15


class Text:
    """A text that was parsed. `plain` says that Python's own encoder makes its canonical form."""

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
    numbers: list[str] = []
    doubled: list[str] = []
    decode = _decoder(numbers, doubled)
    try:
        value = decode(text)
    except RecursionError:
        raise Refused('json_depth', f'nested more than {depth_max} levels deep') from None
    except ValueError as error:
        raise Refused('json_syntax', f'no JSON: {error}') from None
    if doubled:
        raise Refused('json_duplicate_member', f'a member is named twice: {doubled[0][:64]!r}')
    escaped = '\\u' in text
    if escaped:
        _check_strings(value)
    for literal in numbers:
        _check_number(literal)
    if text.count('{') + text.count('[') > depth_max and _depth(value) > depth_max:
        raise Refused('json_depth', f'nested more than {depth_max} levels deep')
    return Text(value, plain=not escaped and not numbers and text.isascii())


def _decoder(numbers: list[str], doubled: list[str]) -> Callable[[str], Any]:
    def integer(literal: str) -> int | float:
        if len(literal) <= _PLAIN_LENGTH_MAX:
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
            names = [name for name, _ in pairs]
            doubled.append(next(name for name in names if names.count(name) > 1))
        return found

    def constant(literal: str) -> None:
        raise ValueError(f'{literal} is no JSON')

    return json.JSONDecoder(object_pairs_hook=members, parse_float=fraction, parse_int=integer, parse_constant=constant).decode


def _check_strings(value: Any) -> None:
    if isinstance(value, str):
        if '\x00' in value:
            raise Refused('json_nul', 'a string holds U+0000')
        try:
            value.encode('utf-8')
        except UnicodeEncodeError:
            raise Refused('json_surrogate', 'a string holds half of a surrogate pair') from None
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_strings(name)
            _check_strings(member)
    elif isinstance(value, list):
        for member in value:
            _check_strings(member)


def _check_number(literal: str) -> None:
    number = float(literal)
    digits = _significant(literal)
    if number in (float('inf'), float('-inf')) or (number == 0 and digits) or len(digits) > _DIGITS_MAX:
        raise Refused('json_number_lossy', f'a double would change {literal[:64]}')
    if re.fullmatch('-?[0-9]+', literal) and int(number) != int(literal) and number_text(number) != literal:
        raise Refused('json_number_lossy', f'a double would change {literal[:64]}')


def _significant(literal: str) -> str:
    mantissa = re.split('[eE]', literal)[0].lstrip('-')
    return mantissa.replace('.', '').strip('0')


def _depth(value: Any) -> int:
    deepest = 0
    stack = [(value, 1)]
    while stack:
        at, depth = stack.pop()
        if isinstance(at, (dict, list)):
            deepest = max(deepest, depth)
            stack.extend((member, depth + 1) for member in (at.values() if isinstance(at, dict) else at))
    return deepest
