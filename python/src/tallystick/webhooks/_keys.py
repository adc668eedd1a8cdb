"""Keys of an endpoint, and signatures under them."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from ..errors import UsageError
from ._errors import WebhookVerificationError
from ._headers import Signature

if TYPE_CHECKING:
    from ..verify.keys import Key

_KEYS_MAX: Final = 16
"""Most keys. Each is tried with each signature."""
_SECRET_BYTES_MIN: Final = 24
"""Minimum of Standard Webhooks. Tallystick's secrets have 32 bytes."""
_SECRET_BYTES_MAX: Final = 64
_ED25519_BYTES: Final = 32


class Keys(NamedTuple):
    secrets: list[bytes]
    public_keys: list[Key]


def parse_keys(secret: str | Sequence[str] | None, public_key: str | Sequence[str] | None) -> Keys:
    """Returns the keys of an endpoint. Raises UsageError for invalid keys. Its message never contains
    a key.
    """
    secrets = [_parse_secret(text) for text in _list_of(secret, 'secret')]
    public_keys = [_parse_public_key(text) for text in _list_of(public_key, 'public_key')]
    if not secrets and not public_keys:
        raise UsageError('give secret, public_key or both, as shown for the endpoint')
    return Keys(secrets, public_keys)


def verify_signatures(signatures: list[Signature], message: bytes, keys: Keys) -> None:
    """Raises `signature_missing` or `signature_mismatch` if no signature verifies under the given
    secrets or, separately, under the given public keys.

    With keys of both kinds, both must verify. Otherwise a thief of the receiver's secret could sign
    with the secret alone.

    Signatures by a secret are checked first, because this costs only microseconds. So a sender
    without the secret cannot cause 32 checks of Ed25519.
    """
    if keys.secrets:
        codes = [hmac.digest(secret, message, sha256) for secret in keys.secrets]
        values = _values_of(signatures, 'v1')
        if not any(hmac.compare_digest(code, value) for value in values for code in codes):
            raise _mismatch('v1', 'secret')
    if keys.public_keys:
        from ..verify.keys import is_signed

        values = _values_of(signatures, 'v1a')
        if not any(is_signed(key, value, message) for key in keys.public_keys for value in values):
            raise _mismatch('v1a', 'public key')


def from_base64(text: str) -> bytes | None:
    """Returns the bytes of padded canonical base64. Returns None for any other text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def _list_of(given: str | Sequence[str] | None, name: str) -> Sequence[str]:
    if given is None:
        return []
    listed = [given] if isinstance(given, str) else given
    # An empty list is refused, because it would turn verification off.
    if not isinstance(listed, list | tuple) or not 0 < len(listed) <= _KEYS_MAX:
        raise UsageError(f'{name} must be a string, or a list of 1 to {_KEYS_MAX}')
    return listed


def _parse_secret(text: str) -> bytes:
    data = _decode(text, 'whsec_')
    if data is None or not _SECRET_BYTES_MIN <= len(data) <= _SECRET_BYTES_MAX:
        raise UsageError('secret must be whsec_ and the base64 of a key, and nothing else')
    return data


def _parse_public_key(text: str) -> Key:
    try:
        from ..verify.errors import Refused
        from ..verify.keys import EDDSA, ed25519_spki, parse_key
    except ImportError:
        raise UsageError("public_key needs cryptography: pip install 'tallystick[verify]'") from None
    raw = _decode(text, 'whpk_')
    if raw is not None and len(raw) == _ED25519_BYTES:
        try:
            return parse_key(EDDSA, ed25519_spki(raw))
        except Refused:
            pass
    raise UsageError('public_key must be whpk_ and the base64 of an Ed25519 key, and nothing else')


def _decode(text: object, prefix: str) -> bytes | None:
    if not isinstance(text, str) or not text.startswith(prefix):
        return None
    return from_base64(text.removeprefix(prefix))


def _values_of(signatures: list[Signature], version: str) -> list[bytes]:
    """Returns the signatures of a version. Ignores signatures of other versions, and base64 that is not canonical."""
    ours = [signature for signature in signatures if signature.version == version]
    if not ours:
        raise WebhookVerificationError('signature_missing', f'there is no {version} signature')
    return [value for value in (from_base64(signature.value) for signature in ours) if value is not None]


def _mismatch(version: str, key: str) -> WebhookVerificationError:
    return WebhookVerificationError(
        'signature_mismatch',
        f'no {version} signature verifies: it is not from the ledger, the body was changed, or the {key} is that of another endpoint',
    )
