"""Envelopes: COSE_Sign1 (RFC 9052) over a statement, in deterministic CBOR (docs/formats/envelopes.md)."""

from ..errors import UsageError
from ..verify.cbor import bytes_head, signature_structure
from ..verify.limits import ENVELOPE_BYTES_MAX
from .private_key import PrivateKey

_CONTENT_TYPE = b'application/vnd.in-toto+json'
_ALGORITHMS = {'EdDSA': b'\x27', 'ES256': b'\x26'}  # the algorithm identifiers -8 and -7 in CBOR
_UINT, _TEXT = 0x00, 0x60


def encode_protected(alg: str, kid: bytes, issuer: str, subject: str, issued_at: int) -> bytes:
    """Returns the protected header.

    `kid`: 32 bytes. `subject`: name of the statement's first subject. `issued_at`: seconds since 1970.
    """
    content = _head(_TEXT, len(_CONTENT_TYPE)) + _CONTENT_TYPE
    start = b'\xa4\x01' + _ALGORITHMS[alg] + b'\x03' + content + b'\x04' + _bytes(kid)
    return start + b'\x0f\xa3\x01' + _text(issuer) + b'\x02' + _text(subject) + b'\x06' + _head(_UINT, issued_at)


def seal(key: PrivateKey, protected: bytes, payload: bytes) -> bytes:
    """Returns the signed envelope. Raises UsageError if it is longer than verifiers accept."""
    signature = key.sign(signature_structure(protected, payload))
    envelope = b'\xd2\x84' + _bytes(protected) + b'\xa0' + _bytes(payload) + _bytes(signature)
    if len(envelope) > ENVELOPE_BYTES_MAX:
        raise UsageError(f'the envelope has {len(envelope)} bytes, more than {ENVELOPE_BYTES_MAX}, the maximum')
    return envelope


def _bytes(value: bytes) -> bytes:
    return bytes_head(len(value)) + value


def _text(value: str) -> bytes:
    data = value.encode()
    return _head(_TEXT, len(data)) + data


def _head(major: int, value: int) -> bytes:
    """Returns the head of a CBOR item in its shortest form (RFC 8949 §3). All major types encode their
    head in the same way.
    """
    head = bytes_head(value)
    return bytes([head[0] & 0x1F | major]) + head[1:]
