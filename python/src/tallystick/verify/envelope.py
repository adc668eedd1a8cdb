"""Parses envelopes: COSE_Sign1 over a statement. The order of its checks is that of
docs/formats/envelopes.md.
"""

from typing import Any, NamedTuple

from .cbor import Tag18, decode, signature_structure
from .errors import Refused
from .keys import EDDSA, ES256, SIGNATURE_BYTES, Key, is_signed
from .limits import ENVELOPE_BYTES_MAX, INTEGER_MAX

CONTENT_TYPE = 'application/vnd.in-toto+json'
ALGORITHMS = {-8: EDDSA, -19: EDDSA, -7: ES256}


class Envelope(NamedTuple):
    protected: bytes
    payload: bytes
    signature: bytes
    alg: str
    kid: bytes
    issuer: str
    subject: str
    seconds: int


def parse_envelope(data: bytes) -> Envelope:
    if len(data) > ENVELOPE_BYTES_MAX:
        raise Refused('envelope_too_large', f'the envelope has {len(data)} bytes, more than {ENVELOPE_BYTES_MAX}')
    protected, unprotected, payload, signature = attached_parts(data, deterministic=True)
    if unprotected:
        raise Refused('cose_unprotected', 'the unprotected header must be empty')
    header = decode(protected, deterministic=True)
    if not isinstance(header, dict):
        raise Refused('cose_header', 'the protected header is not a map')
    if 2 in header:
        raise Refused('cose_crit', 'no header may be critical, but label 2 (crit) is present')
    return Envelope(protected, payload, signature, *_header(header))


def attached_parts(data: bytes, *, deterministic: bool) -> tuple[bytes, dict[Any, Any], bytes, bytes]:
    """Returns the four parts of a COSE_Sign1 with its payload. Raises Refused."""
    protected, unprotected, payload, signature = parts_of(data, deterministic=deterministic)
    if payload is None:
        raise Refused('cose_structure', 'the payload is detached, but must be attached')
    return protected, unprotected, payload, signature


def parts_of(data: bytes, *, deterministic: bool) -> tuple[bytes, dict[Any, Any], bytes | None, bytes]:
    """Returns the four parts of a COSE_Sign1. The payload may be null. Raises Refused."""
    value = decode(data, deterministic=deterministic, tag18=True)
    if not isinstance(value, Tag18):
        raise Refused('cose_structure', 'the COSE_Sign1 does not start with tag 18')
    parts = value.value
    if not isinstance(parts, list) or len(parts) != 4:
        raise Refused('cose_structure', 'the COSE_Sign1 is not an array of four')
    protected, unprotected, payload, signature = parts
    if not isinstance(protected, bytes) or not isinstance(unprotected, dict):
        raise Refused('cose_structure', 'a header has the wrong type')
    if payload is not None and not isinstance(payload, bytes):
        raise Refused('cose_structure', 'the payload is not a byte string')
    if not isinstance(signature, bytes) or len(signature) != SIGNATURE_BYTES:
        raise Refused('cose_structure', 'the signature does not have 64 bytes')
    return protected, unprotected, payload, signature


def _header(header: dict[Any, Any]) -> tuple[str, bytes, str, str, int]:
    if header.keys() != {1, 3, 4, 15}:
        raise Refused('cose_header', f'the protected header has the labels {labels_of(header)}, not 1, 3, 4 and 15')
    if type(header[1]) is not int or header[1] not in ALGORITHMS:
        raise Refused('cose_algorithm', f'the algorithm {str(header[1])[:32]} is neither EdDSA nor ES256')
    if header[3] != CONTENT_TYPE:
        raise Refused('cose_content_type', f'the content type is {str(header[3])[:64]!r}, not {CONTENT_TYPE!r}')
    kid, claims = header[4], header[15]
    if not isinstance(kid, bytes) or len(kid) != 32:
        raise Refused('cose_header', 'the kid does not have 32 bytes')
    if not isinstance(claims, dict):
        raise Refused('cose_header', 'the claims are not a map')
    if claims.keys() != {1, 2, 6}:
        raise Refused('cose_header', f'the claims have the labels {labels_of(claims)}, not 1, 2 and 6')
    issuer, subject, seconds = claims[1], claims[2], claims[6]
    if not isinstance(issuer, str) or not isinstance(subject, str):
        raise Refused('cose_header', 'the issuer or the subject of the claims is not a text')
    if type(seconds) is not int or not 0 <= seconds <= INTEGER_MAX:
        raise Refused('cose_header', 'issued-at of the claims is not a number of seconds')
    return ALGORITHMS[header[1]], kid, issuer, subject, seconds


def labels_of(found: dict[Any, Any]) -> str:
    """Returns up to eight labels for messages. Other types than numbers and texts are not shown."""
    return ', '.join(str(label)[:32] if type(label) in (int, str) else '(another type)' for label in list(found)[:8]) or '(none)'


def check_signature(envelope: Envelope, key: Key) -> None:
    if envelope.alg != key.alg:
        raise Refused('algorithm_mismatch', f'{envelope.alg} cannot be used with an {key.alg} key')
    if envelope.kid != key.kid:
        raise Refused('kid_mismatch', f'the kid {envelope.kid.hex()} is not the thumbprint of the key, {key.kid.hex()}')
    if not is_signed(key, envelope.signature, signature_structure(envelope.protected, envelope.payload)):
        raise Refused('signature_invalid', f'the envelope was not signed by the key {envelope.kid.hex()}, or was changed after signing')
