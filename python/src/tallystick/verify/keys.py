"""Keys and signatures: Ed25519 by the strict rules of docs/formats/envelopes.md, ES256 with the lower s."""

from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from .errors import Refused

EDDSA = 'EdDSA'
ES256 = 'ES256'
_ED25519_DER = bytes.fromhex('302a300506032b6570032100')
_P256_DER = bytes.fromhex('3059301306072a8648ce3d020106082a8648ce3d03010703420004')
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
SIGNATURE_BYTES = 64


class Key(NamedTuple):
    alg: str
    kid: bytes
    spki: bytes


def parse_key(alg: object, spki: bytes) -> Key:
    """Returns a public key in one of the two accepted DER forms, with its thumbprint. Raises Refused."""
    if alg == EDDSA:
        return Key(EDDSA, thumbprint_ed25519(_ed25519_bytes(spki)), spki)
    if alg == ES256:
        point = _p256_point(spki)
        cose = b'\xa4\x01\x02\x20\x01\x21\x58\x20' + point[:32] + b'\x22\x58\x20' + point[32:]
        return Key(ES256, sha256(cose).digest(), spki)
    raise Refused('bad_key', f'the algorithm {str(alg)[:32]!r} is neither EdDSA nor ES256')


def thumbprint_ed25519(raw: bytes) -> bytes:
    """Returns the thumbprint of an Ed25519 key (RFC 9679)."""
    return sha256(b'\xa3\x01\x01\x20\x06\x21\x58\x20' + raw).digest()


def ed25519_spki(raw: bytes) -> bytes:
    return _ED25519_DER + raw


def ed25519_raw(spki: bytes) -> bytes:
    return spki[len(_ED25519_DER) :]


def is_signed(key: Key, signature: bytes, message: bytes) -> bool:
    """Whether the key made the signature, by the strict rules."""
    if len(signature) != SIGNATURE_BYTES:
        return False
    if key.alg == EDDSA:
        # OpenSSL refuses S >= L and compares the encoding of [S]B - [k]A with R, without a
        # cofactor. But it accepts an R of small order, so this is checked here.
        if _is_weak(signature[:32]) or not _is_point(ed25519_raw(key.spki)):
            return False
        try:
            _ed25519(key.spki).verify(signature, message)
        except InvalidSignature:
            return False
        return True
    return _is_signed_es256(key, signature, message, lower=True)


def is_signed_by_issuer(key: Key, signature: bytes, message: bytes) -> bool:
    """Whether the key made the signature of a registered statement. Accepts both values of s in ES256."""
    if key.alg == EDDSA:
        return is_signed(key, signature, message)
    return _is_signed_es256(key, signature, message, lower=False)


def _is_signed_es256(key: Key, signature: bytes, message: bytes, lower: bool) -> bool:
    r, s = int.from_bytes(signature[:32], 'big'), int.from_bytes(signature[32:], 'big')
    if not 0 < r < _P256_ORDER or not 0 < s < _P256_ORDER or (lower and s > (_P256_ORDER - 1) // 2):
        return False
    public = _p256(key.spki)
    if public is None:
        return False
    try:
        public.verify(encode_dss_signature(r, s), message, ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=1024)
def _ed25519(spki: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(_ed25519_bytes(spki))


@lru_cache(maxsize=1024)
def _ed25519_bytes(spki: bytes) -> bytes:
    raw = spki[len(_ED25519_DER) :]
    if len(raw) != 32 or not spki.startswith(_ED25519_DER):
        raise Refused('bad_key', 'not the DER of an Ed25519 key')
    # Whether the bytes are a point of the curve is checked later, when a signature is verified. The
    # check costs two exponentiations.
    if _is_weak(raw):
        raise Refused('bad_key', 'an Ed25519 key that is not canonical, or of small order')
    return raw


@lru_cache(maxsize=1024)
def _is_point(raw: bytes) -> bool:
    """Whether the bytes encode a point of the curve that is allowed as a key (RFC 8032 §5.1.3)."""
    return not _is_weak(raw) and _recover(int.from_bytes(raw, 'little') & (2**255 - 1)) is not None


def _recover(y: int) -> int | None:
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P == u:
        return x
    x = x * _SQRT_MINUS_1 % _P
    return x if v * x * x % _P == u else None


def _small_order() -> frozenset[int]:
    """Returns y of the eight points of small order. Computed from the curve, because a typed list may
    have a wrong digit.

    The double of a point of order 8 has y = 0. So x² + y² = 0, and the curve's equation becomes
    d·y⁴ + 2·y² - 1 = 0. All eight points are multiples of that point of order 8.
    """
    y = _square_root((-1 - _square_root(1 + _D)) * pow(_D, -1, _P))
    point = (_SQRT_MINUS_1 * y % _P, y)
    multiples = [point]
    while len(multiples) < 8:
        multiples.append(_add(multiples[-1], point))
    return frozenset(y for _, y in multiples)


def _add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Returns the sum of two points (RFC 8032 §5.1.4)."""
    product = _D * a[0] * b[0] * a[1] * b[1]
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + product, -1, _P) % _P
    return x, (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, _P) % _P


def _square_root(square: int) -> int:
    root = pow(square, (_P + 3) // 8, _P)
    return root if (root * root - square) % _P == 0 else root * _SQRT_MINUS_1 % _P


_SMALL_ORDER_Y = _small_order()


def _is_weak(raw: bytes) -> bool:
    """Whether 32 bytes encode y ≥ 2^255 - 19, or a point of small order, with either sign bit."""
    y = int.from_bytes(raw, 'little') & (2**255 - 1)
    return y >= _P or y in _SMALL_ORDER_Y


def _p256_point(spki: bytes) -> bytes:
    if len(spki) != len(_P256_DER) + 64 or not spki.startswith(_P256_DER):
        raise Refused('bad_key', 'not the DER of a P-256 key')
    return spki[len(_P256_DER) :]


@lru_cache(maxsize=1024)
def _p256(spki: bytes) -> EllipticCurvePublicKey | None:
    """Returns the key. Returns None if the bytes are no point of the curve. No signature verifies
    under such a key.
    """
    try:
        return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), b'\x04' + _p256_point(spki))
    except ValueError:
        return None
