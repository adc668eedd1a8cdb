"""Writes JSON. Values that JSON would change are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel

from ..errors import UsageError
from .request_limits import JSON_DEPTH_MAX


def to_json(value: object, depth_max: int = JSON_DEPTH_MAX) -> bytes:
    """Returns the JSON text of a value, in UTF-8.

    Models are written with the server's names. A datetime with a time zone becomes RFC 3339, UTC,
    with milliseconds.

    Raises UsageError, which names the path, for a value that JSON or the server would lose or
    refuse. Such values are NaN, names that are not text, lone surrogates, U+0000, sets, bytes, and
    more than `depth_max` levels.
    """
    return json.dumps(to_plain(value, depth_max), ensure_ascii=False, separators=(',', ':')).encode()


def to_plain(value: object, depth_max: int = JSON_DEPTH_MAX) -> Any:
    """Returns the value as dicts, lists, text, numbers, booleans and None. Raises as `to_json` does."""
    try:
        return _plain(value, depth_max)
    except _LossyError as error:
        path = ''.join('/' + step.replace('~', '~0').replace('/', '~1') for step in reversed(error.path))
        raise UsageError(f'{path or "the value"} {error}') from None


def rfc3339(moment: datetime) -> str:
    """Returns a datetime as RFC 3339, UTC, with milliseconds. Raises UsageError if it has no time zone."""
    if moment.tzinfo is None:
        raise UsageError('a datetime needs a time zone: datetime.now(UTC)')
    return moment.astimezone(UTC).isoformat(timespec='milliseconds').replace('+00:00', 'Z')


class _LossyError(Exception):
    """A value that JSON would lose. `path` is collected from the value upwards, so the last step comes first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path: list[str] = []

    def at(self, step: object) -> _LossyError:
        self.path.append(str(step))
        return self


def _plain(value: object, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(value.value, depth)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _LossyError(f'is {value}, which JSON cannot represent')
        return value
    if isinstance(value, datetime):
        return rfc3339(value)
    if depth == 0:
        raise _LossyError('is nested too deep, or contains itself')
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode='json', by_alias=True, exclude_unset=True), depth)
    if isinstance(value, Mapping):
        return {_name(name): _member(name, member, depth - 1) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_member(at, member, depth - 1) for at, member in enumerate(value)]
    raise _LossyError(f'is of {type(value).__name__}, which JSON does not have')


def _member(name: object, value: object, depth: int) -> Any:
    try:
        return _plain(value, depth)
    except _LossyError as error:
        raise error.at(name) from None


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise _LossyError(f'has the name {name!r}, but names in JSON must be text')
    return _text(name)


def _text(text: str) -> str:
    if '\0' in text:
        raise _LossyError('contains U+0000, which records do not allow')
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _LossyError('contains half of a surrogate pair, which is not a character') from None
    return str(text)
