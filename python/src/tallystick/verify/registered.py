"""Signed Statements of other issuers (docs/formats/registered-statements.md)."""

from hashlib import sha256
from typing import Any, NamedTuple

from . import formats as f
from .cbor import OddLabel, bytes_head, decode, signature_structure
from .envelope import ALGORITHMS, CONTENT_TYPE, attached_parts
from .errors import Refused
from .keys import Key, is_signed_by_issuer, parse_key
from .limits import ENVELOPE_BYTES_MAX, INTEGER_MAX, KID_BYTES_MAX, LOCATION_BYTES_MAX
from .merkle import leaf_hash

_ALGORITHMS = {**ALGORITHMS, -9: 'ES256'}
_HASH_LENGTHS = {-16: 32, -43: 48, -44: 64}


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


def parse_foreign(sent: bytes) -> Foreign:
    """Parses a statement as it was sent. Its unprotected header is not signed, and is not registered.
    Raises Refused.
    """
    protected, unprotected, payload, signature = _parts(sent)
    header = _header(protected)
    _check_labels(unprotected, 'the unprotected header')
    if 2 in unprotected or header.keys() & unprotected.keys():
        raise Refused('cose_header', 'the unprotected header has label 2 (crit), or a label of the protected header')
    kid, issuer, subject, content_type = _check_header(header, payload)
    alg = header.get(1)
    if type(alg) is not int or alg not in _ALGORITHMS:
        raise Refused('cose_algorithm', f'the algorithm {str(alg)[:32]} is neither EdDSA nor ES256')
    if _is_entry(header, kid):
        raise Refused('statement_is_entry', 'the statement has the form of an entry’s envelope: add a type (label 16)')
    leaf = leaf_hash(canonical_bytes(protected, payload, signature))
    return Foreign(leaf, protected, payload, signature, _ALGORITHMS[alg], kid, issuer, subject, content_type)


def parse_registered(data: bytes) -> Foreign:
    """Parses a registered statement, whose hash is the leaf. Raises Refused."""
    found = parse_foreign(data)
    if found.leaf != leaf_hash(data):
        raise Refused('cose_unprotected', 'a registered statement must have an empty unprotected header')
    return found


def _parts(data: bytes) -> tuple[bytes, dict[Any, Any], bytes, bytes]:
    if len(data) > ENVELOPE_BYTES_MAX:
        raise Refused('envelope_too_large', f'the statement has {len(data)} bytes, more than {ENVELOPE_BYTES_MAX}')
    return attached_parts(data, deterministic=False)


def canonical_bytes(protected: bytes, payload: bytes, signature: bytes) -> bytes:
    """Returns the statement with an empty unprotected header."""
    parts = b''.join((bytes_head(len(protected)), protected, b'\xa0', bytes_head(len(payload)), payload))
    return b'\xd2\x84' + parts + bytes_head(len(signature)) + signature


def _header(protected: bytes) -> dict[Any, Any]:
    # Returns the protected header. If it has no bytes, it is an empty map (RFC 9052 §3).
    header = decode(protected, deterministic=False) if protected else {}
    if not isinstance(header, dict):
        raise Refused('cose_header', 'the protected header is not a map')
    if 2 in header:
        raise Refused('cose_crit', 'no header may be critical, but label 2 (crit) is present')
    _check_labels(header, 'the protected header')
    return header


def _check_labels(header: dict[Any, Any], where: str) -> None:
    if any(isinstance(label, OddLabel) for label in header):
        raise Refused('cose_header', f'{where} has a label that is neither an integer nor text')


def _is_entry(header: dict[Any, Any], kid: bytes) -> bool:
    """Whether a statement has the form of an entry's envelope: labels, claims, content type and length of the kid."""
    return header.keys() == {1, 3, 4, 15} and header[15].keys() == {1, 2, 6} and header[3] == CONTENT_TYPE and len(kid) == 32


def _check_header(header: dict[Any, Any], payload: bytes) -> tuple[bytes, str, str, str]:
    kid, claims = header.get(4), header.get(15)
    if not isinstance(kid, bytes) or not 1 <= len(kid) <= KID_BYTES_MAX:
        raise Refused('cose_header', f'the kid (label 4) must have 1 to {KID_BYTES_MAX} bytes')
    if not isinstance(claims, dict) or not _is_text(claims.get(1)) or not _is_text(claims.get(2)):
        raise Refused('cose_header', 'the claims (label 15) must have an issuer (1) and a subject (2), as texts')
    _check_labels(claims, 'the claims')
    return kid, claims[1], claims[2], _content_type(header, payload)


def _content_type(header: dict[Any, Any], payload: bytes) -> str:
    if 258 in header:
        length = _HASH_LENGTHS.get(header[258]) if type(header[258]) is int else None
        if length != len(payload):
            raise Refused('cose_header', 'the payload is not a hash of its algorithm (label 258): SHA-256, SHA-384 or SHA-512')
        if 3 in header:
            raise Refused('cose_header', 'label 3 is not allowed with label 258')
        if 260 in header and not _is_location(header[260]):
            raise Refused('cose_header', f'label 260 is not a text of at most {LOCATION_BYTES_MAX} bytes')
        found = header.get(259)
    elif 259 in header or 260 in header:
        raise Refused('cose_header', 'labels 259 and 260 need label 258')
    else:
        found = header.get(3)
    if type(found) is int and 0 <= found <= INTEGER_MAX:
        return str(found)
    if not _is_text(found):
        raise Refused('cose_header', 'the content type is missing, or neither a number nor a text')
    return str(found)


def _is_location(value: Any) -> bool:
    return isinstance(value, str) and f.utf8_length(value) <= LOCATION_BYTES_MAX


def _is_text(value: Any) -> bool:
    return f.is_text(value) and '\ufffd' not in value


def check_pair(foreign: Foreign, foreign_at: str, subject_digest: str, predicate: dict[str, Any]) -> None:
    """Checks that a `statement-registered` agrees with the statement before it."""
    said = {
        'issuer': foreign.issuer,
        'subject': foreign.subject,
        'contentType': foreign.content_type,
        'kid': foreign.kid.hex(),
        'payload': sha256(foreign.payload).hexdigest(),
        'recordedAt': foreign_at,
    }
    if subject_digest != foreign.leaf.hex():
        raise Refused('statement_pair', f'statement-registered names the leaf {subject_digest}, not {foreign.leaf.hex()}')
    for name, value in said.items():
        if predicate[name] != value:
            raise Refused(
                'statement_pair', f'{name} of the statement is {value[:96]!r}, but statement-registered names {predicate[name][:96]!r}'
            )


def judge(foreign: Foreign, policy: dict[str, Any]) -> None:
    """Checks that the policy allows the statement, and that its issuer signed it. Raises Refused."""
    issuer = next((one for one in policy['issuers'] if one['issuer'] == foreign.issuer), None)
    if issuer is None:
        raise Refused('policy_refused', f'the issuer {foreign.issuer[:96]!r} is not in the registration policy')
    if foreign.content_type not in policy.get('contentTypes', [foreign.content_type]):
        raise Refused('policy_refused', f'the content type {foreign.content_type[:96]!r} is not in the registration policy')
    key = next((one for one in issuer['keys'] if one['kid'] == foreign.kid.hex()), None)
    if key is None:
        raise Refused('key_unknown', f'{foreign.issuer[:96]!r} has no key {foreign.kid.hex()} in the registration policy')
    check_issuer_signature(foreign, parse_key(key['alg'], f.from_base64(key['spki'], 'a key')))


def check_issuer_signature(foreign: Foreign, key: Key) -> None:
    if foreign.alg != key.alg:
        raise Refused('algorithm_mismatch', f'{foreign.alg} cannot be used with an {key.alg} key')
    if not is_signed_by_issuer(key, foreign.signature, signature_structure(foreign.protected, foreign.payload)):
        raise Refused(
            'signature_invalid', f'the statement was not signed by the key of {foreign.issuer[:96]!r}, or was changed after signing'
        )
