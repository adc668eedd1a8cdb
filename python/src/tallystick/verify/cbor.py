"""CBOR of envelopes, receipts and Signed Statements (docs/formats/envelopes.md, "CBOR").

Written by hand: libraries return only the decoded value, and they accept different encodings.
"""

from typing import Any, NamedTuple

from .errors import Refused
from .limits import CBOR_ITEMS_MAX, CBOR_LEVELS_MAX


class Tag18(NamedTuple):
    value: Any


class Undefined:
    """The value `undefined` of CBOR (f7)."""


class BadText:
    """A text string whose bytes are not UTF-8. Equal to no other value."""


class _Reader:
    __slots__ = ('at', 'data', 'departure', 'deterministic', 'items', 'tag18')

    def __init__(self, data: bytes, deterministic: bool, tag18: bool) -> None:
        self.data = data
        self.deterministic = deterministic
        self.tag18 = tag18
        self.at = 0
        self.items = 0
        self.departure: str | None = None

    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise _malformed('the bytes end too early')
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def depart(self, what: str) -> None:
        if self.departure is None:
            self.departure = what

    def argument(self, major: int, info: int) -> int | None:
        """Returns the argument of a head. Returns None for an indefinite length."""
        if info < 24:
            return info
        if info == 31 and major in (4, 5):
            self.depart('an indefinite length')
            return None
        if info > 27:
            raise _malformed('an indefinite length, or a head that is reserved')
        size = 1 << (info - 24)
        value = int.from_bytes(self.take(size), 'big')
        if value < (24 if size == 1 else 1 << (4 * size)):
            self.depart('a head is longer than necessary')
        return value

    def item(self, level: int) -> Any:
        self.items += 1
        if self.items > CBOR_ITEMS_MAX:
            raise _malformed(f'more than {CBOR_ITEMS_MAX} items')
        head = self.take(1)[0]
        major = head >> 5
        if major == 7:
            return _simple(head)
        if major >= 4 and level > CBOR_LEVELS_MAX:
            raise _malformed(f'nested more than {CBOR_LEVELS_MAX} levels deep')
        argument = self.argument(major, head & 31)
        if major == 4:
            return self.array(argument, level)
        if major == 5:
            return self.map(argument, level)
        assert argument is not None
        if major == 0:
            return argument
        if major == 1:
            return -1 - argument
        if major == 2:
            return self.take(argument)
        if major == 3:
            return self.text(self.take(argument))
        if argument != 18 or level > 1 or not self.tag18:
            raise _malformed(f'tag {argument}')
        return Tag18(self.item(level + 1))

    def text(self, data: bytes) -> str | BadText:
        try:
            return data.decode('utf-8')
        except UnicodeDecodeError:
            if self.deterministic:
                self.depart('a text is not UTF-8')
            return BadText()

    def goes_on(self, count: int, length: int | None) -> bool:
        if length is not None:
            return count < length
        if self.data[self.at : self.at + 1] != b'\xff':
            return True
        self.at += 1
        return False

    def array(self, length: int | None, level: int) -> list[Any]:
        values: list[Any] = []
        while self.goes_on(len(values), length):
            values.append(self.item(level + 1))
        return values

    def map(self, length: int | None, level: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        labels: set[bytes] = set()
        last = b''
        count = 0
        while self.goes_on(count, length):
            start = self.at
            label = self.item(level + 1)
            spelled = self.data[start : self.at]
            if spelled in labels:
                self.depart('a label is there twice')
            if self.deterministic and spelled < last:
                self.depart('the labels are not in order')
            last = spelled
            # In Python, True equals 1, and lists have no hash. So a label that is neither text nor
            # an integer is stored as its bytes.
            found[label if type(label) in (int, str) else OddLabel(spelled)] = self.item(level + 1)
            labels.add(spelled)
            count += 1
        return found


class OddLabel(NamedTuple):
    """A label that is neither an integer nor text. It is stored as its encoded bytes."""

    spelled: bytes


def _simple(head: int) -> Any:
    if head == 0xF4:
        return False
    if head == 0xF5:
        return True
    if head == 0xF6:
        return None
    if head == 0xF7:
        return Undefined
    raise _malformed('a floating-point number, or another value without a meaning here')


def _malformed(what: str) -> Refused:
    return Refused('cbor_malformed', what)


def decode(data: bytes, *, deterministic: bool, tag18: bool = False) -> Any:
    """Returns the only item of `data`. Raises Refused.

    `deterministic`: requires RFC 8949 §4.2.1. Otherwise maps may have any order, and text strings need not be UTF-8.
    """
    reader = _Reader(data, deterministic, tag18)
    value = reader.item(1)
    if reader.at != len(data):
        raise _malformed('bytes after the end')
    if reader.departure is not None:
        raise Refused('cbor_not_deterministic' if deterministic else 'cbor_malformed', reader.departure)
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
    """Returns the Sig_structure of RFC 9052 §4.4 without external data. `protected`: the bytes as received."""
    return b'\x84\x6aSignature1' + bytes_head(len(protected)) + protected + b'\x40' + bytes_head(len(payload)) + payload
