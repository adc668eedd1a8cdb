"""Private keys of agents: Ed25519, and ECDSA on P-256."""

from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
)

from ..errors import UsageError

Algorithm = Literal['EdDSA', 'ES256']
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class PrivateKey:
    alg: Algorithm

    def __init__(self, key: Ed25519PrivateKey | EllipticCurvePrivateKey) -> None:
        self._key = key
        self.alg = 'EdDSA' if isinstance(key, Ed25519PrivateKey) else 'ES256'

    @property
    def spki(self) -> bytes:
        """The public key as DER SubjectPublicKeyInfo."""
        return self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def sign(self, message: bytes) -> bytes:
        """Returns 64 bytes: R ‖ S of Ed25519, or r ‖ s of ECDSA. Of the two valid values of s, the
        lower is used (docs/formats/envelopes.md).
        """
        if isinstance(self._key, Ed25519PrivateKey):
            return self._key.sign(message)
        r, s = decode_dss_signature(self._key.sign(message, ECDSA(SHA256())))
        return r.to_bytes(32, 'big') + min(s, _P256_ORDER - s).to_bytes(32, 'big')


def read_private_key(pkcs8: bytes | str | None, seed: bytes | None) -> PrivateKey:
    """Returns the private key. `pkcs8`: DER or PEM. `seed`: the 32 bytes of RFC 8032's private key.
    Raises UsageError for an invalid key.
    """
    try:
        if seed is not None:
            return PrivateKey(Ed25519PrivateKey.from_private_bytes(seed))
        if pkcs8 is None:
            raise UsageError('give a private key as `pkcs8` (PEM or DER), or as `seed`')
        data = pkcs8.encode() if isinstance(pkcs8, str) else pkcs8
        is_pem = data.lstrip().startswith(b'-----BEGIN')
        key = load_pem_private_key(data, None) if is_pem else load_der_private_key(data, None)
    except (ValueError, TypeError) as error:
        raise UsageError('the key is not an Ed25519 or P-256 key in PKCS #8 without a password') from error
    if isinstance(key, Ed25519PrivateKey) or (isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1)):
        return PrivateKey(key)
    raise UsageError('the key is not an Ed25519 or P-256 key')


def make_private_key(alg: Algorithm = 'EdDSA') -> str:
    """Returns a new private key as PEM of PKCS #8."""
    key = Ed25519PrivateKey.generate() if alg == 'EdDSA' else generate_private_key(SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
