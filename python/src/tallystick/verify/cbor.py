"""CBOR (RFC 8949) as envelopes, receipts and Signed Statements need it.

Written by hand, because what has to be told is how the bytes are spelled, and a library tells what they mean.
"""

import struct
from typing import Any, NamedTuple

from .errors import Refused


class Tag18(NamedTuple):
    value: Any


class Undefined:
    """The simple values that have no meaning here."""


class Rules(NamedTuple):
    depth_max: int
    items_max: int
    deterministic: bool
    """RFC 8949 §4.2.1 is asked for. Otherwise: no floats, shortest heads, definite lengths, each label once; a text need not be UTF-8."""


class _Reader:
    __slots__ = ('at', 'data', 'items', 'rules', 'sloppy')

    def __init__(self, data: bytes, rules: Rules) -> None:
        self.data = data
        self.at = 0
        self.items = 0
        self.rules = rules
        self.sloppy: str | None = None

    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise Refused('cbor_malformed', 'the bytes end too early')
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def note(self, what: str) -> None:
        if self.sloppy is None:
            self.sloppy = what

    def head(self) -> tuple[int, int, int | None]:
        first = self.take(1)[0]
        major, info = first >> 5, first & 31
        if info < 24:
            return major, info, info
        if info > 27:
            if info != 31 or major in (0, 1, 6):
                raise Refused('cbor_malformed', f'a head of {first:#x}')
            return major, info, None
        length = 1 << (info - 24)
        value = int.from_bytes(self.take(length), 'big')
        if major != 7 and value < (24 if length == 1 else 1 << (4 * length)):
            self.note('a head is longer than necessary')
        return major, info, value

    def item(self, depth: int) -> Any:
        self.items += 1
        if self.items > self.rules.items_max:
            raise Refused('cbor_malformed', 'too many items')
        major, info, value = self.head()
        if major in (4, 5, 6) and depth > self.rules.depth_max:
            raise Refused('cbor_malformed', 'nested too deeply')
        if value is None:
            return self.indefinite(major, depth)
        if major == 0:
            return value
        if major == 1:
            return -1 - value
        if major == 2:
            return self.take(value)
        if major == 3:
            return self.text(self.take(value))
        if major == 4:
            return self.array(value, depth)
        if major == 5:
            return self.map(value, depth)
        if major == 6:
            if value != 18:
                raise Refused('cbor_malformed', f'tag {value}')
            return Tag18(self.item(depth + 1))
        return self.simple(info, value)

    def text(self, data: bytes) -> str:
        try:
            return data.decode('utf-8')
        except UnicodeDecodeError:
            if self.rules.deterministic:
                self.note('a text is not UTF-8')
            return data.decode('utf-8', 'replace')

    def array(self, length: int, depth: int) -> list[Any]:
        if length > len(self.data):
            raise Refused('cbor_malformed', 'the bytes end too early')
        return [self.item(depth + 1) for _ in range(length)]

    def map(self, length: int, depth: int) -> dict[Any, Any]:
        if length > len(self.data):
            raise Refused('cbor_malformed', 'the bytes end too early')
        found: dict[Any, Any] = {}
        before: bytes | None = None
        for _ in range(length):
            start = self.at
            key = _hashable(self.item(depth + 1))
            spelled = self.data[start : self.at]
            if key in found:
                self.note('a label is there twice')
            elif self.rules.deterministic and before is not None and spelled <= before:
                self.note('the labels are not sorted')
            before = spelled
            found[key] = self.item(depth + 1)
        return found

    def simple(self, info: int, value: int) -> Any:
        if info == 20:
            return False
        if info == 21:
            return True
        if info == 22:
            return None
        if info in (25, 26, 27):
            return self.float(info, value)
        if info == 24 and value < 32:
            raise Refused('cbor_malformed', 'a simple value of two bytes below 32')
        if info != 23:
            raise Refused('cbor_malformed', f'simple value {value}')
        return Undefined

    def float(self, info: int, value: int) -> float:
        if not self.rules.deterministic:
            raise Refused('cbor_malformed', 'a floating-point number')
        form, size = {25: ('>e', 2), 26: ('>f', 4), 27: ('>d', 8)}[info]
        number: float = struct.unpack(form, value.to_bytes(size, 'big'))[0]
        if number.is_integer():
            self.note('an integer that is written as a float')
        for shorter in {25: (), 26: ('>e',), 27: ('>e', '>f')}[info]:
            try:
                if struct.unpack(shorter, struct.pack(shorter, number))[0] == number or number != number:
                    self.note('a float is longer than necessary')
            except OverflowError:
                pass
        return number

    def indefinite(self, major: int, depth: int) -> Any:
        self.note('an indefinite length')
        if major in (2, 3):
            raise Refused('cbor_malformed', 'a string of indefinite length')
        if major == 7:
            raise Refused('cbor_malformed', 'a break where none belongs')
        parts: list[Any] = []
        while self.data[self.at : self.at + 1] != b'\xff':
            parts.append(self.item(depth + 1))
        self.at += 1
        if major == 4:
            return parts
        if len(parts) % 2:
            raise Refused('cbor_malformed', 'a map with a key and no value')
        return {_hashable(key): value for key, value in zip(parts[::2], parts[1::2], strict=True)}


def _hashable(key: Any) -> Any:
    if isinstance(key, (list, dict, Tag18, float)) or key is None or isinstance(key, bool):
        return ('no label', repr(key))
    return key


def decode(data: bytes, rules: Rules) -> Any:
    reader = _Reader(data, rules)
    value = reader.item(1)
    if reader.at != len(data):
        raise Refused('cbor_malformed', 'bytes after the end')
    if reader.sloppy is not None:
        raise Refused('cbor_not_deterministic' if rules.deterministic else 'cbor_malformed', reader.sloppy)
    return value


def bytes_head(length: int) -> bytes:
    return _head(2, length)


def _head(major: int, value: int) -> bytes:
    if value < 24:
        return bytes([major << 5 | value])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << (8 * size):
            return bytes([major << 5 | info]) + value.to_bytes(size, 'big')
    raise ValueError('too large for CBOR')


def signature_structure(protected: bytes, payload: bytes) -> bytes:
    """The Sig_structure of RFC 9052 §4.4 without external data: the protected bytes as they came."""
    return b'\x84\x6aSignature1' + bytes_head(len(protected)) + protected + b'\x40' + bytes_head(len(payload)) + payload
