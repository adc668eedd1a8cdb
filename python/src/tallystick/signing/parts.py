"""Ids, salts, digests and times of statements (docs/formats)."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from .._canonical import canonical
from .._core.json import rfc3339
from ..errors import UsageError
from ..verify.formats import from_base64url, id_bytes, id_of, to_base64url

SALT_BYTES = 16
_OWN_BIT = 0x800
"""Set in ids of records and completions with an entry of their own. Indices in batches are smaller."""
_INDEX_BITS = 12

Random = Callable[[int], bytes]


class Salted(NamedTuple):
    """The salt of a document, as bytes and as text of a request, and the digest that a statement
    signs, in lower-case hex.
    """

    salt: bytes
    salt_text: str
    digest: str


def salt_document(document: Any, given: str | None, random: Random = os.urandom) -> Salted:
    salt = random(SALT_BYTES) if given is None else from_base64url(given)
    if salt is None or len(salt) != SALT_BYTES:
        raise UsageError('a salt must be 16 bytes, base64url without padding')
    return Salted(salt, to_base64url(salt), digest_with(salt, document))


def digest_with(salt: bytes, document: Any) -> str:
    """Returns the salted digest of a document, or of a record's references, which share the document's salt."""
    return sha256(b'\x03' + salt + canonical(document)).hexdigest()


def time_of(text: str) -> str:
    """Returns a time as the server signs it: UTC, milliseconds. Raises UsageError for an invalid time."""
    try:
        return rfc3339(datetime.fromisoformat(text))
    except ValueError:
        raise UsageError(f'{text} is not a time') from None


def time_at(ms: int) -> str:
    return datetime.fromtimestamp(ms // 1000, UTC).strftime('%Y-%m-%dT%H:%M:%S') + f'.{ms % 1000:03d}Z'


def uuid7(ms: int, random: Random = os.urandom) -> int:
    """Returns a fresh UUIDv7 (RFC 9562 §5.7) as a number of 128 bits."""
    made = bytearray(random(16))
    made[:6] = ms.to_bytes(6, 'big')
    made[6] = made[6] & 0x0F | 0x70
    made[8] = made[8] & 0x3F | 0x80
    return int.from_bytes(made, 'big')


def own_record_id(uuid: int) -> str:
    return _id('rec', uuid | _OWN_BIT)


def batch_ids(uuid: int, count: int) -> tuple[str, list[str]]:
    """Returns the id of a batch, which is that of its first record, and the ids of its records.

    The ids of the records are consecutive. The low 12 bits of the first id are zero.
    """
    first = uuid >> _INDEX_BITS << _INDEX_BITS
    return _id('bat', first), [_id('rec', first + index) for index in range(count)]


def completion_id(record: str, version: int) -> str:
    """Returns the id of a completion that an agent signs. `version`: the record's version after the
    step.
    """
    digest = sha256(b'tallystick-completion-v1' + id_bytes(record) + version.to_bytes(4, 'big')).digest()
    return _id('cmp', int.from_bytes(digest[:16], 'big') | _OWN_BIT)


def _id(prefix: str, uuid: int) -> str:
    return id_of(prefix, uuid.to_bytes(16, 'big'))
