"""Formats of hashes, base64, times and ids (docs/formats/README.md). Each value has one accepted spelling."""

import base64
import binascii
import re
from functools import lru_cache
from typing import Any

from .errors import Refused
from .limits import INTEGER_MAX, TEXT_BYTES_MAX, URL_BYTES_MAX

_HEX64 = re.compile(r'[0-9a-f]{64}\Z')
_DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
_ID_END = re.compile(r'[0-7][0-9a-hjkmnp-tv-z]{25}\Z')
_VALUES = {ord(digit): value for value, digit in enumerate(_DIGITS)}
_TIME = re.compile(r'([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z\Z')
_CONTROL = re.compile('[\x00-\x1f\x7f-\x9f]')
_BARRED = re.compile('[\x00-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000+\ud800-\udfff]')
"""Characters that a key name must not have: controls, White_Space of Unicode, the plus sign, and lone surrogates, which are not text."""
_URL = re.compile(r'https?://[!-~]+\Z')
_TYPE = re.compile(r'[a-z][a-z0-9.-]{0,62}/[1-9][0-9]{0,8}\Z')
_CODE = re.compile(r'[a-z][a-z0-9_]{0,63}\Z')
_RULE = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z')
_SCOPE = re.compile(r'[a-z]+(?::[a-z]+)+\Z')
_TRACEPARENT = re.compile(r'00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z')
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_hex64(value: object) -> bool:
    return isinstance(value, str) and _HEX64.match(value) is not None


@lru_cache(maxsize=4096)
def is_id(value: str, prefix: str) -> bool:
    return value[: len(prefix) + 1] == prefix + '_' and _ID_END.match(value, len(prefix) + 1) is not None


def is_id_of(value: object, prefix: str) -> bool:
    return isinstance(value, str) and is_id(value, prefix)


def id_number(value: str) -> int:
    """Returns the 128 bits of an id that `is_id` has accepted."""
    number = 0
    for digit in value[-26:].encode():
        number = number << 5 | _VALUES[digit]
    return number


def id_bytes(value: str) -> bytes:
    return id_number(value).to_bytes(16, 'big')


def id_of(prefix: str, uuid: bytes) -> str:
    number = int.from_bytes(uuid, 'big')
    return prefix + '_' + ''.join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


@lru_cache(maxsize=4096)
def milliseconds(value: str) -> int | None:
    """Returns the milliseconds since 1970. Returns None for another spelling, and for a time that does
    not exist.
    """
    match = _TIME.match(value)
    if match is None:
        return None
    year, month, day, hour, minute, second, milli = map(int, match.groups())
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59:
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS[month - 1] + (month == 2 and leap):
        return None
    return ((_days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milli


def _days_since_1970(year: int, month: int, day: int) -> int:
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def is_time(value: object) -> bool:
    return isinstance(value, str) and milliseconds(value) is not None


def time_of(value: str) -> int:
    found = milliseconds(value)
    assert found is not None
    return found


def is_text(value: object) -> bool:
    return isinstance(value, str) and value != '' and _CONTROL.search(value) is None and utf8_length(value) <= TEXT_BYTES_MAX


def is_key_name(value: str) -> bool:
    """Whether a key of a note may have this name (docs/formats/rules.md)."""
    return value != '' and _BARRED.search(value) is None


def is_origin(value: object, ledger: str) -> bool:
    """Whether the value is `<host>/<ledger>` and a valid name of a note key. The host can be any text
    that is not empty.
    """
    if not is_text(value) or not isinstance(value, str) or not is_key_name(value):
        return False
    host, slash, end = value.rpartition('/')
    return slash != '' and end == ledger and host != '' and not host.startswith('/')


def is_url(value: object) -> bool:
    return isinstance(value, str) and _URL.match(value) is not None and len(value) <= URL_BYTES_MAX


def utf8_length(value: str) -> int:
    """Returns the length in bytes of UTF-8. A lone surrogate counts as three bytes."""
    return len(value.encode('utf-8', 'surrogatepass'))


def is_type(value: object) -> bool:
    return isinstance(value, str) and _TYPE.match(value) is not None


def is_code(value: object) -> bool:
    return isinstance(value, str) and _CODE.match(value) is not None


def is_rule_id(value: object) -> bool:
    return isinstance(value, str) and _RULE.match(value) is not None


def is_scope(value: object) -> bool:
    return isinstance(value, str) and _SCOPE.match(value) is not None


def is_traceparent(value: object) -> bool:
    return isinstance(value, str) and _TRACEPARENT.match(value) is not None


def is_integer(value: object, least: int = -INTEGER_MAX, most: int = INTEGER_MAX) -> bool:
    """Whether the value is an integer from `least` to `most`. JSON has one kind of number, so `1.0` is
    an integer too. `true` is not.
    """
    if isinstance(value, float):
        return value.is_integer() and least <= value <= most
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def filled(value: Any, required: frozenset[str], nullable: frozenset[str]) -> dict[str, Any] | None:
    """Returns the members of an object in a file. An absent member of `nullable` gets None, because
    absent and null mean the same.

    Returns None for a value that is not an object, lacks a member of `required`, or has other
    members. The members keep their order.
    """
    if not isinstance(value, dict) or not required <= value.keys() or not value.keys() <= required | nullable:
        return None
    return {**value, **dict.fromkeys(sorted(nullable - value.keys()))}


def from_base64(value: object, what: str) -> bytes:
    """Returns the bytes of canonical padded base64. Raises Refused. `what`: name of the value, for the error."""
    if isinstance(value, str):
        try:
            found = binascii.a2b_base64(value.encode('ascii'), strict_mode=True)
        except (binascii.Error, UnicodeEncodeError):
            found = None
        if found is not None and binascii.b2a_base64(found, newline=False).decode() == value:
            return found
    raise Refused('bad_base64', f'{what} is not canonical base64')


def from_base64url(value: object) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        found = base64.urlsafe_b64decode(value + '=' * (-len(value) % 4))
    except (binascii.Error, ValueError):
        return None
    return found if to_base64url(found) == value else None


def to_base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b'=').decode()


def to_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
