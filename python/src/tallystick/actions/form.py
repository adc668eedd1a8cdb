"""Writes a value as text, its form. The value's digest is the hash of the form's bytes
(docs/formats/content-digests.md).

The SDK for TypeScript writes the same bytes. Both are tested with
test/vectors/content-digests.json.
"""

from __future__ import annotations

import functools
import sys
from base64 import b64encode
from collections import ChainMap, OrderedDict, UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from math import isfinite
from numbers import Integral
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast
from uuid import UUID

from pydantic import AnyUrl, BaseModel
from pydantic_core import Url

from .._canonical import number_text

NoForm = Literal['no-form', 'cyclic', 'too-deep', 'too-large', 'unreadable']
"""Reasons why a value has no form."""

FORM_BYTES_MAX = 4 * 1024 * 1024
"""Most UTF-8 bytes of a form. Writing so many takes up to 0.7 s of CPU."""
FORM_DEPTH_MAX = 128
"""Deepest nesting of objects and arrays. Each level takes three or four of Python's 1,000 stack frames."""
INTEGER_DIGITS_MAX = 4_300
"""Python's default limit for writing an integer in decimal."""
_EXACT_MAX = 2**53
"""A double represents every integer up to this."""
TAG = '$is'
"""Member with the type of a value. An object that itself has a member of this name is written with the tag `object`."""


class Form(NamedTuple):
    of: Literal['jcs', 'tagged-jcs']
    """`jcs`: the value is JSON. `tagged-jcs`: some parts are not JSON, and are written with their types."""
    data: bytes


def form_of(value: Any) -> Form | NoForm:
    """Returns the form of a value, or the reason why it has none. Reads each member of the value once. Never raises."""
    writer = _Writer()
    try:
        data = writer.write(value, 0).encode()
    except _UnwritableError as error:
        return error.why
    except RecursionError:
        return 'too-deep'
    except Exception:
        return 'unreadable'
    if len(data) > FORM_BYTES_MAX:
        return 'too-large'
    return Form('tagged-jcs' if writer.is_tagged else 'jcs', data)


class _UnwritableError(Exception):
    def __init__(self, why: NoForm) -> None:
        super().__init__(why)
        self.why: NoForm = why


class _Writer:
    def __init__(self) -> None:
        self.is_tagged = False
        self._chars = 0
        """Characters written so far. The form has at least as many bytes."""
        self._around: set[int] = set()
        """Ids of the objects around the current one, to find cycles."""

    def write(self, value: Any, depth: int) -> str:
        if value is None or value is True or value is False:
            return self._spend('null' if value is None else 'true' if value else 'false')
        # `type` is used, because `isinstance` would trust the `__class__` of a mock.
        kind = type(value)
        if issubclass(kind, _BUILT_IN):
            if kind not in _BUILT_IN and (hides_attributes(value) or _reads_itself(kind)):
                raise _UnwritableError('no-form')
            if issubclass(kind, str):
                return self._string(value)
            if issubclass(kind, int):
                return self._integer(int.__index__(value))
            if issubclass(kind, float):
                return self._float(float.__float__(value))
            if issubclass(kind, bytes | bytearray):
                return self._bytes(value)
            if issubclass(kind, Decimal):
                return self._tag('decimal', self._string(_decimal(value)))
            return self._container(value, depth + 1)
        if kind in _MAPPINGS:
            return self._container(value, depth + 1)
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            return self._tag(*scalar(value))
        return self._other(value, depth)

    def _other(self, value: Any, depth: int) -> str:
        kind = type(value)
        if issubclass(kind, Enum):
            return self._tag('enum', f'[{self._string(kind.__qualname__)},{self.write(value.value, depth)}]')
        if kind is memoryview:
            return self._bytes(value)
        if kind in _PATHS:
            return self._tag('path', f'["{_PATHS[kind]}",{self._string(str(value))}]')
        if issubclass(kind, UUID):
            return self._tag('uuid', f'"{UUID(int=value.int)}"')
        if issubclass(kind, AnyUrl | Url):
            return self._tag('url', self._string(str(value)))
        plain = _numpy_scalar(value)
        if plain is not None:
            return self.write(plain, depth)
        members = _members_of(value)
        if members is None:
            raise _UnwritableError('no-form')
        self._enter(value, depth + 1)
        text = self._tag('instance', f'[{self._string(kind.__qualname__)},{self._object(members, depth + 1)}]')
        self._around.discard(id(value))
        return text

    def _spend(self, text: str) -> str:
        self._chars += len(text)
        if self._chars > FORM_BYTES_MAX:
            raise _UnwritableError('too-large')
        return text

    def _tag(self, kind: str, value: str) -> str:
        self.is_tagged = True
        return f'{self._spend(f"""{{"{TAG}":"{kind}","value":""")}{value}}}'

    def _string(self, text: str) -> str:
        text = str.__str__(text)
        if len(text) > FORM_BYTES_MAX:
            raise _UnwritableError('too-large')
        if is_unicode(text):
            return self._spend(encode_basestring(text))
        return self._tag('text', self._spend('"' + ' '.join(f'{ord(char):x}' for char in text) + '"'))

    def _integer(self, value: int) -> str:
        if -_EXACT_MAX <= value <= _EXACT_MAX:
            return self._spend(str(value))
        # Integers that are too long are refused before their digits are made, because making so
        # many digits is slow.
        if value.bit_length() > 4 * INTEGER_DIGITS_MAX:
            raise _UnwritableError('too-large')
        if _is_double(value):
            return self._spend(number_text(float(value)))
        digits = _digits(value)
        if len(digits) > INTEGER_DIGITS_MAX:
            raise _UnwritableError('too-large')
        return self._tag('integer', self._spend(f'"{digits}"'))

    def _float(self, value: float) -> str:
        if not isfinite(value):
            return self._tag('number', '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"')
        if value == 0 and str(value) == '-0.0':
            return self._tag('number', '"-0"')
        return self._spend(number_text(value))

    def _bytes(self, value: bytes | bytearray | memoryview) -> str:
        if isinstance(value, memoryview) and (value.format != 'B' or value.ndim != 1):
            raise _UnwritableError('no-form')
        if len(value) > FORM_BYTES_MAX:
            raise _UnwritableError('too-large')
        return self._tag('bytes', self._spend(f'"{b64encode(value).decode()}"'))

    def _enter(self, value: Any, depth: int) -> None:
        if depth > FORM_DEPTH_MAX:
            raise _UnwritableError('too-deep')
        if id(value) in self._around:
            raise _UnwritableError('cyclic')
        self._around.add(id(value))

    def _container(self, value: Any, depth: int) -> str:
        self._enter(value, depth)
        kind = type(value)
        text = self._sequence(value, kind, depth) if issubclass(kind, list | tuple | set | frozenset) else self._mapping(value, depth)
        self._around.discard(id(value))
        return text

    # Uses loops, because a comprehension needs another stack frame before Python 3.12.

    def _sequence(self, value: Any, kind: type, depth: int) -> str:
        texts: list[str] = []
        for each in value:
            texts.append(self.write(each, depth))
        if issubclass(kind, list):
            return self._list(texts)
        return self._tag('tuple', self._list(texts)) if issubclass(kind, tuple) else self._tag('set', self._list(_sorted(texts)))

    def _mapping(self, value: Any, depth: int) -> str:
        members = dict(value.items())
        if all(issubclass(type(name), str) for name in members):
            return self._object(members, depth)
        return self._tag('map', self._pairs(members, depth))

    def _object(self, members: Mapping[str, Any], depth: int) -> str:
        if TAG in members or not all(is_unicode(name) for name in members):
            return self._tag('object', self._pairs(members, depth))
        texts: list[str] = []
        # Names in the order of JCS (RFC 8785, 3.2.3).
        for name in sorted(members, key=_utf16):
            texts.append(f'{self._string(name)}:{self.write(members[name], depth)}')
        return f'{self._spend("{")}{",".join(texts)}}}'

    def _pairs(self, members: Mapping[Any, Any], depth: int) -> str:
        texts: list[str] = []
        for name, member in members.items():
            texts.append(f'[{self.write(name, depth)},{self.write(member, depth)}]')
        return self._list(_sorted(texts))

    def _list(self, texts: list[str]) -> str:
        return f'{self._spend("[")}{",".join(texts)}]'


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate."""
    try:
        str.encode(text)
        return True
    except UnicodeEncodeError:
        return False


def _utf16(text: str) -> bytes:
    return text.encode('utf-16-be', 'surrogatepass')


def _sorted(texts: list[str]) -> list[str]:
    """Sorts by UTF-16 code units, as JCS sorts names."""
    return sorted(texts) if all(text.isascii() for text in texts) else sorted(texts, key=_utf16)


def _is_double(value: int) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise _UnwritableError('too-large') from None


def _decimal(value: Decimal) -> str:
    """Returns digits and exponent: 1.10 is `110E-2`. `str` is not used, because its result depends on
    the thread's decimal context.
    """
    sign, digits, exponent = value.as_tuple()
    shown = '-' if sign else ''
    if isinstance(exponent, int):
        return f'{shown}{"".join(map(str, digits))}E{exponent}'
    named = {'F': 'Infinity', 'n': 'NaN', 'N': 'sNaN'}[exponent]
    return shown + named + (''.join(map(str, digits)) if exponent != 'F' else '')


def _moment(value: datetime | time) -> str:
    """Returns RFC 3339 with milliseconds, or with microseconds if these are not 0. If the value has no
    time zone, the text has no offset.
    """
    if value.tzinfo is not None and value.utcoffset() is None:
        # Without a date, the offset of a zone with summer time is undefined.
        raise _UnwritableError('no-form')
    text = value.isoformat(timespec='microseconds' if value.microsecond % 1_000 else 'milliseconds')
    return f'"{text.removesuffix("+00:00")}Z"' if text.endswith('+00:00') else f'"{text}"'


_SCALARS: dict[type, Callable[[Any], tuple[str, str]]] = {
    datetime: lambda value: ('datetime', _moment(value)),
    time: lambda value: ('time', _moment(value)),
    date: lambda value: ('date', f'"{value.isoformat()}"'),
    timedelta: lambda value: ('microseconds', f'"{value // timedelta(microseconds=1)}"'),
}
"""Tag and value by exact class. A subclass may have more state, such as the nanoseconds of pandas."""
_BUILT_IN = (str, int, float, dict, list, tuple, set, frozenset, bytes, bytearray, Decimal)
_COLLECTIONS = (OrderedDict, dict, list, tuple, set, frozenset)
_READERS = ('__getitem__', '__iter__', '__len__', 'items', 'keys')
_MAPPINGS = frozenset((MappingProxyType, ChainMap, UserDict))
"""Mappings with a form, by exact class. Other mappings may hide members, or have a name twice, such as headers."""
_PATHS: dict[type, str] = {PurePosixPath: 'posix', PosixPath: 'posix', PureWindowsPath: 'windows', WindowsPath: 'windows'}


def _numpy_scalar(value: Any) -> bool | int | float | None:
    """Returns the number or boolean that equals a scalar of NumPy. Returns None if the value is not a
    scalar of NumPy.
    """
    if issubclass(type(value), Integral):
        return int(value)
    numpy = sys.modules.get('numpy')
    if numpy is None or not issubclass(type(value), numpy.bool_ | numpy.float16 | numpy.float32):
        return None
    return cast('bool | float', value.item())


def _members_of(value: Any) -> dict[str, Any] | None:
    """Returns the fields of a model or a data class. Returns None for any other object, because it may
    have hidden state.
    """
    kind = type(value)
    if issubclass(kind, BaseException):
        return None
    if issubclass(kind, BaseModel):
        names = [name for name in kind.__pydantic_fields__ if name in value.__dict__]
        extra, private = value.__pydantic_extra__ or {}, value.__pydantic_private__ or {}
        return None if extra.keys() & private.keys() else {**_own(value, names), **extra, **private}
    if is_dataclass(kind):
        return _own(value, [field.name for field in fields(kind)])
    attributes = getattr(kind, '__attrs_attrs__', None)
    return None if attributes is None else _own(value, [attribute.name for attribute in attributes])


def _own(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Returns the values of the fields `names`. Raises `no-form` if the object has other attributes,
    except cached properties.
    """
    found = {name: getattr(value, name) for name in names}
    if any(name not in found for name in _attributes(value)):
        raise _UnwritableError('no-form')
    return found


def _attributes(value: Any) -> Iterator[str]:
    """Yields the names of a value's attributes, except those that `cached_property` made."""
    kind = type(value)
    for name in getattr(value, '__dict__', {}):
        if not isinstance(getattr(kind, name, None), functools.cached_property):
            yield name
    for each in kind.__mro__:
        if not issubclass(each, BaseModel):
            slots = each.__dict__.get('__slots__', ())
            names = [slots] if isinstance(slots, str) else slots
            yield from (name for name in names if not name.endswith('__') and hasattr(value, _mangled(each, name)))


def _mangled(kind: type, name: str) -> str:
    return f'_{kind.__name__.lstrip("_")}{name}' if name.startswith('__') else name


def hides_attributes(value: Any) -> bool:
    """Whether a value has attributes that its form leaves out. An object of a subclass of `str`, for
    example, may have them. False for members of an Enum.
    """
    kind = type(value)
    if kind in _BUILT_IN or issubclass(kind, Enum):
        return False
    # Many subclasses of dict show their members as attributes too.
    shown = value if issubclass(kind, dict) else {}
    return any(name not in shown or getattr(value, name) is not shown[name] for name in _attributes(value))


def _reads_itself(kind: type) -> bool:
    """Whether a collection overrides how its members are read. Such a collection may hide members, for
    example a dict that stores several values under one name.
    """
    base = next((each for each in _COLLECTIONS if issubclass(kind, each)), None)
    return base is not None and any(getattr(kind, name, None) is not getattr(base, name, None) for name in _READERS)
