"""Keys in a file. They need no trust, because a kid is the thumbprint of its key."""

from __future__ import annotations

from typing import Any

from . import formats as f
from .errors import Refused
from .keys import EDDSA, ES256, Key, parse_key

MEMBERS = frozenset(('kid', 'alg', 'spki'))


def is_hint(value: Any) -> bool:
    """Checks the format only. Other members are ignored."""
    return (
        isinstance(value, dict)
        and f.is_hex64(value.get('kid'))
        and isinstance(value.get('alg'), str)
        and isinstance(value.get('spki'), str)
        and (value.get('compromisedAt') is None or f.is_time(value['compromisedAt']))
    )


def named_keys(values: list[dict[str, Any]]) -> tuple[dict[bytes, Key], set[bytes]]:
    """Returns the keys by kid, and the kids of keys marked as compromised. `values`: accepted by `is_hint`. Raises Refused."""
    keys: dict[bytes, Key] = {}
    compromised: set[bytes] = set()
    for value in values:
        if value['alg'] not in (EDDSA, ES256):
            raise Refused('bad_key', f'the algorithm {value["alg"][:32]!r} is neither EdDSA nor ES256')
        key = parse_key(value['alg'], f.from_base64(value['spki'], 'a key'))
        if key.kid.hex() != value['kid']:
            raise Refused('kid_mismatch', f'the key given as {value["kid"]} has another thumbprint')
        keys[key.kid] = key
        if value.get('compromisedAt') is not None:
            compromised.add(key.kid)
    return keys, compromised
