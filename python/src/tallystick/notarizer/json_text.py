"""Writes values as JSON. Refuses values that JSON would change."""

import json
from math import isfinite
from typing import Any

from .._core.json import to_plain
from .._core.request_limits import JSON_DEPTH_MAX
from ..errors import UsageError

_SAFE = 2**53
_DIGITS_MAX = 17


def to_json(value: Any, at: str = '', depth_max: int = JSON_DEPTH_MAX) -> bytes:
    """Returns a value as JSON in UTF-8. Models, datetimes and enumerations are converted as the client
    does.

    A value of plain types is not converted. It is checked and encoded directly, which takes half of
    the time.

    Raises UsageError, which names the path, for values that JSON would change. Such values are
    names that are not text, NaN, integers that no double represents, lone surrogates, U+0000, other
    classes, and more than `depth_max` nested objects and arrays. `at`: JSON Pointer of the value,
    for errors.
    """
    try:
        try:
            _check(value, depth_max)
        except _OtherClass:
            value = _converted(value, at, depth_max)
            _check(value, depth_max)
        data = _encode(value).encode()
        # U+0000 is written as this escape. But the same characters may also follow an escaped
        # backslash. So the strings themselves are checked.
        if b'\\u0000' in data:
            _check_strings(value)
        return data
    except UnicodeEncodeError:
        raise _halved(value, at) from None
    except _Lossy as lossy:
        raise lossy.as_usage_error(at) from None


class _OtherClass(Exception):
    """The value contains a class that JSON does not have."""


class _Lossy(Exception):
    """Error for a value that JSON cannot represent without a loss.

    `path` leads to the value. Each enclosing object or array adds its own step at the front.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.path: list[str] = []

    def at(self, step: object) -> '_Lossy':
        self.path.insert(0, str(step))
        return self

    def as_usage_error(self, at: str) -> UsageError:
        path = ''.join('/' + step.replace('~', '~0').replace('/', '~1') for step in self.path)
        return UsageError(f'{at + path or "the value"} {self.args[0]}')


def _check(value: Any, depth: int) -> None:
    """Checks a value. `depth`: number of further nested objects and arrays that are allowed."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return
    if isinstance(value, (dict, list, tuple)):
        if depth == 0:
            raise _Lossy('is nested too deep, or contains itself')
        step: Any = ''
        try:
            for step, member in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(value, dict) and not isinstance(step, str):
                    raise _Lossy('has a name that is not text')
                if type(member) is not str:
                    _check(member, depth - 1)
        except _Lossy as lossy:
            raise lossy.at(step) from None
    elif isinstance(value, int):
        _check_integer(value)
    elif isinstance(value, float):
        if not isfinite(value):
            raise _Lossy(f'is {value}, which JSON cannot represent')
    elif not isinstance(value, str):
        raise _OtherClass


def _check_integer(value: int) -> None:
    """Raises `_Lossy` for an integer that a double cannot represent. The server refuses such integers
    (docs/formats/documents.md).
    """
    if -_SAFE <= value <= _SAFE:
        return
    try:
        if int(float(value)) == value and len(str(abs(value)).rstrip('0')) <= _DIGITS_MAX:
            return
    except OverflowError:
        pass
    raise _Lossy('is an integer that a double cannot represent: write it as text')


def _check_strings(value: Any) -> None:
    if isinstance(value, str):
        if '\0' in value:
            raise _Lossy('contains U+0000, which records do not allow')
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _Lossy('contains half of a surrogate pair, which is not a character') from None
    elif isinstance(value, dict):
        for name, member in value.items():
            try:
                _check_strings(name)
                _check_strings(member)
            except _Lossy as lossy:
                raise lossy.at(name) from None
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            try:
                _check_strings(member)
            except _Lossy as lossy:
                raise lossy.at(index) from None


def _halved(value: Any, at: str) -> UsageError:
    try:
        _check_strings(value)
    except _Lossy as lossy:
        return lossy.as_usage_error(at)
    return UsageError(f'{at or "the value"} is not Unicode text')


def _converted(value: Any, at: str, depth_max: int) -> Any:
    try:
        return to_plain(value, depth_max)
    except UsageError as error:
        place = str(error)
        raise UsageError(at + place if place.startswith('/') else f'{at} {place.removeprefix("the value ")}') from None


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(',', ':')).encode
