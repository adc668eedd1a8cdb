"""The canonical form of JSON, RFC 8785 (JCS), with numbers as ECMAScript writes them."""

import json
import re
from collections.abc import Iterable
from typing import Any

_SAFE = 2**53
_INDEX = re.compile(r'(0|[1-9][0-9]{0,9})\Z')
_INDEX_END = 2**32 - 1
_plain_encode = json.JSONEncoder(ensure_ascii=False, separators=(',', ':'), sort_keys=True).encode
_string = json.encoder.encode_basestring


def canonical(value: Any, plain: bool = False) -> bytes:
    """Returns the JCS bytes of a value.

    `plain`: True if the value was parsed from a text without escapes, fractions, long numbers and
    non-ASCII characters. Then the faster encoder of the standard library gives the same bytes.
    """
    if plain:
        return _plain_encode(value).encode()
    parts: list[str] = []
    _write(value, parts)
    return ''.join(parts).encode('utf-8')


def stringify(value: Any) -> str:
    """Returns the JSON text that ECMAScript's `JSON.stringify` writes for a value that `JSON.parse` read.

    Members keep their order, but array indices come first. Numbers are written as doubles.
    """
    parts: list[str] = []
    _write(value, parts, in_order=True)
    return ''.join(parts)


def _write(value: Any, parts: list[str], *, in_order: bool = False) -> None:
    if isinstance(value, str):
        parts.append(_string(value))
    elif value is None or value is True or value is False:
        parts.append('null' if value is None else 'true' if value else 'false')
    elif isinstance(value, (int, float)):
        parts.append(number_text(value))
    elif isinstance(value, list):
        parts.append('[')
        for index, member in enumerate(value):
            if index:
                parts.append(',')
            _write(member, parts, in_order=in_order)
        parts.append(']')
    else:
        parts.append('{')
        names = _own_order(value) if in_order else sorted(value, key=lambda name: name.encode('utf-16-be'))
        for index, name in enumerate(names):
            parts.append(f'{"," if index else ""}{_string(name)}:')
            _write(value[name], parts, in_order=in_order)
        parts.append('}')


def _own_order(value: Iterable[str]) -> list[str]:
    """Returns the names in the order of ECMA-262, OrdinaryOwnPropertyKeys: array indices first, ascending."""
    indices = sorted((name for name in value if _INDEX.match(name) and int(name) < _INDEX_END), key=int)
    return [*dict.fromkeys([*indices, *value])]


def number_text(number: int | float) -> str:
    """Returns a number as ECMAScript writes it."""
    if isinstance(number, int):
        if abs(number) <= _SAFE:
            return str(number)
        number = float(number)
    if number == 0:
        return '0'
    sign = '-' if number < 0 else ''
    mantissa, _, exponent = repr(abs(number)).partition('e')
    whole, _, part = mantissa.partition('.')
    part = '' if part == '0' else part
    point = len(whole) + int(exponent or 0)
    digits = (whole + part).lstrip('0')
    point -= len(whole + part) - len(digits)
    digits = digits.rstrip('0')
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Writes `digits` with the decimal point after position `point` (ECMA-262, Number::toString)."""
    if len(digits) <= point <= 21:
        return digits + '0' * (point - len(digits))
    if 0 < point <= 21:
        return f'{digits[:point]}.{digits[point:]}'
    if -6 < point <= 0:
        return f'0.{"0" * -point}{digits}'
    power = point - 1
    shown = f'e{"+" if power > 0 else "-"}{abs(power)}'
    return digits[0] + (f'.{digits[1:]}' if len(digits) > 1 else '') + shown
