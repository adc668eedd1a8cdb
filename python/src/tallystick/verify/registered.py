"""Signed Statements of others (docs/formats/registered-statements.md)."""

from hashlib import sha256
from typing import Any, NamedTuple

from . import formats as f
from .cbor import Rules, bytes_head, decode, signature_structure
from .envelope import ALGORITHMS, parse_envelope, parts_of
from .errors import Refused
from .keys import Key, is_signed_by_issuer, parse_key
from .limits import (
    ENVELOPE_BYTES_MAX,
    INTEGER_MAX,
    KID_BYTES_MAX,
    STATEMENT_CBOR_DEPTH_MAX,
    STATEMENT_CBOR_ITEMS_MAX,
)
from .merkle import leaf_hash

RULES = Rules(STATEMENT_CBOR_DEPTH_MAX, STATEMENT_CBOR_ITEMS_MAX, deterministic=False)
_ALGORITHMS = {**ALGORITHMS, -9: 'ES256'}
_HASH_LENGTHS = {-16: 32, -43: 48, -44: 64}
_LOCATION_CHARS_MAX = 1_024


class Foreign(NamedTuple):
    leaf: bytes
    protected: bytes
    payload: bytes
    signature: bytes
    alg: str
    kid: bytes
    issuer: str
    subject: str
    content_type: str


def parse_foreign(data: bytes) -> Foreign:
    if len(data) > ENVELOPE_BYTES_MAX:
        raise Refused('envelope_too_large', f'{len(data)} bytes are more than {ENVELOPE_BYTES_MAX}')
    return read_foreign(decode(data, RULES), data)


def read_foreign(value: Any, data: bytes | None) -> Foreign:
    protected, unprotected, payload, signature = parts_of(value)
    if payload is None:
        raise Refused('cose_structure', 'a payload that is not attached')
    header = decode(protected, RULES) if protected else {}
    if isinstance(header, dict) and 2 in header:
        raise Refused('cose_crit', 'label 2 (crit) is there')
    if not isinstance(header, dict):
        raise Refused('cose_header', 'the protected header is no map')
    if 2 in unprotected or header.keys() & unprotected.keys():
        raise Refused('cose_header', 'a label that is in both headers, or belongs into the protected one')
    kid, issuer, subject, content_type = _check_header({**unprotected, **header}, payload, header)
    alg = header.get(1)
    if type(alg) is not int or alg not in _ALGORITHMS:
        raise Refused('cose_algorithm', f'the algorithm {str(alg)[:32]}')
    whole = canonical_bytes(protected, payload, signature)
    if _is_entry(whole):
        raise Refused('statement_is_entry', 'it has the form of an entry’s envelope')
    return Foreign(leaf_hash(whole), protected, payload, signature, _ALGORITHMS[alg], kid, issuer, subject, content_type)


def canonical_bytes(protected: bytes, payload: bytes, signature: bytes) -> bytes:
    """The statement with an empty unprotected header: its hash is the leaf."""
    parts = b''.join((bytes_head(len(protected)), protected, b'\xa0', bytes_head(len(payload)), payload))
    return b'\xd2\x84' + parts + bytes_head(len(signature)) + signature


def _is_entry(whole: bytes) -> bool:
    try:
        parse_envelope(whole)
    except Refused:
        return False
    return True


def _check_header(both: dict[Any, Any], payload: bytes, header: dict[Any, Any]) -> tuple[bytes, str, str, str]:
    kid, claims = both.get(4), header.get(15)
    if not isinstance(kid, bytes) or not 1 <= len(kid) <= KID_BYTES_MAX:
        raise Refused('cose_header', 'a kid that is not 1 to 64 bytes')
    if not isinstance(claims, dict) or not _is_text(claims.get(1)) or not _is_text(claims.get(2)):
        raise Refused('cose_header', 'claims without issuer and subject')
    return kid, claims[1], claims[2], _content_type(header, payload)


def _content_type(header: dict[Any, Any], payload: bytes) -> str:
    if 258 in header:
        length = _HASH_LENGTHS.get(header[258]) if type(header[258]) is int else None
        location = header.get(260, 'none')
        if length != len(payload) or 3 in header or not isinstance(location, str) or len(location) > _LOCATION_CHARS_MAX:
            raise Refused('cose_header', 'labels 258 to 260 that contradict each other')
        found = header.get(259)
    elif 259 in header or 260 in header:
        raise Refused('cose_header', 'labels 259 and 260 without 258')
    else:
        found = header.get(3)
    if type(found) is int and 0 <= found <= INTEGER_MAX:
        return str(found)
    if not _is_text(found):
        raise Refused('cose_header', 'a content type that is neither text nor number')
    return str(found)


def _is_text(value: Any) -> bool:
    return f.is_text(value) and '\ufffd' not in value


def check_pair(foreign: Foreign, foreign_at: str, subject_digest: str, predicate: dict[str, Any]) -> None:
    """Checks that a `statement-registered` says what the statement before it says."""
    said = {
        'issuer': foreign.issuer,
        'subject': foreign.subject,
        'contentType': foreign.content_type,
        'kid': foreign.kid.hex(),
        'payload': sha256(foreign.payload).hexdigest(),
        'recordedAt': foreign_at,
    }
    if subject_digest != foreign.leaf.hex() or any(predicate[name] != value for name, value in said.items()):
        raise Refused('statement_pair', 'statement-registered says other things than the statement before it')


def judge(foreign: Foreign, policy: dict[str, Any]) -> None:
    """Checks that the policy takes the statement, and that its issuer has signed it."""
    issuer = next((one for one in policy['issuers'] if one['issuer'] == foreign.issuer), None)
    if issuer is None or foreign.content_type not in policy.get('contentTypes', [foreign.content_type]):
        raise Refused('policy_refused', 'the policy does not take this issuer or content type')
    key = next((one for one in issuer['keys'] if one['kid'] == foreign.kid.hex()), None)
    if key is None:
        raise Refused('key_unknown', 'the policy names no such key of the issuer')
    check_issuer_signature(foreign, parse_key(key['alg'], f.from_base64(key['spki'], 'a key')))


def check_issuer_signature(foreign: Foreign, key: Key) -> None:
    if foreign.alg != key.alg:
        raise Refused('algorithm_mismatch', f'signed with {foreign.alg}, the key is of {key.alg}')
    if not is_signed_by_issuer(key, foreign.signature, signature_structure(foreign.protected, foreign.payload)):
        raise Refused('signature_invalid', 'the issuer’s key did not sign this statement')
