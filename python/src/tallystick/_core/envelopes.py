"""Reads envelopes without verifying them: the kid and the predicate (docs/formats/envelopes.md).

The client trusts its server here. `tallystick.verify` verifies envelopes, and needs cryptography for it, which the
client does not depend on.
"""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any, Final, NamedTuple

from .answers import wrong_server

_HEADERS: Final = tuple(
    b'\xa4\x01' + algorithm + b'\x03\x78\x1c' + b'application/vnd.in-toto+json' + b'\x04\x58\x20'
    for algorithm in (b'\x27', b'\x26', b'\x32')
)
"""Protected header up to the kid: EdDSA and ES256 as servers write them, and -19 (RFC 9864), which agents may use for EdDSA."""
_KID_BYTES: Final = 32


class Envelope(NamedTuple):
    kid: str
    """64 hex digits."""
    predicate: dict[str, Any]


def read_envelope(text: str) -> Envelope:
    """Returns the kid and the predicate of a base64 envelope. Raises UnexpectedAnswerError if its form is unknown."""
    try:
        data = b64decode(text, validate=True)
        protected, at = _bytes(data, 2)
        payload, _ = _bytes(data, at + 1)
        predicate = json.loads(payload)['predicate']
        if data[:2] != b'\xd2\x84' or data[at] != 0xA0 or not protected.startswith(_HEADERS) or not isinstance(predicate, dict):
            raise ValueError
    except (ValueError, LookupError, TypeError):
        raise wrong_server('the server answered with an envelope of unknown form') from None
    start = len(_HEADERS[0])
    return Envelope(protected[start : start + _KID_BYTES].hex(), predicate)


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Returns the CBOR byte string at `at`, and the position after it."""
    length, start = data[at] - 0x40, at + 1
    if length in (24, 25):
        start += length - 23
        length = int.from_bytes(data[at + 1 : start], 'big')
    elif not 0 <= length < 24:
        raise ValueError
    if start + length > len(data):
        raise ValueError
    return data[start : start + length], start + length
