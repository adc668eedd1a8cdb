"""Puts arguments and results of a call into its records, as the SDK for TypeScript does: the same value has the same digest."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from .._canonical import canonical
from .._core.json import rfc3339
from ..errors import UsageError
from ..notarizer.json_text import to_json

CONTENT_BYTES_MAX = 48 * 1024
"""With `content`: longer arguments and results are recorded by their digest. A record has 64 KiB, and never both of them; names, attributes
and an error have the rest."""
BESIDES_BYTES_MAX = 2 * 1024
"""An error or a reason beside a content that is longer takes of its room."""
CONTENT_DEPTH_MAX = 24
"""The server reads 32 levels, of which a record has some for itself."""
CANONICAL_BYTES_MAX = 4 * 1024 * 1024
"""A longer value is not put into its canonical form."""
ATTRIBUTES_BYTES_MAX = 4 * 1024
REFERENCE_CHARS_MAX = 256
_CONTROLS = re.compile('[\x00-\x1f\x7f-\x9f\ud800-\udfff]')


class Missing:
    """Stands for a value that there is not; None is a value."""


MISSING = Missing()


def content_of(name: Literal['arguments', 'result'], value: Any, *, keep: bool, besides: str = '') -> dict[str, Any]:
    """Member of a payload that stands for a value: `NAME` with the value itself if it is to be kept and a record can hold it, otherwise
    `NAMEDigest`. A text's digest is that of its UTF-8 bytes, any other value's that of its canonical JSON (RFC 8785).

    `besides`: long text that stands in the same record. Never raises: what a tool answers must not decide whether its call is recorded.
    """
    if isinstance(value, Missing):
        return {}
    try:
        return _content_of(name, value, keep, besides)
    except Exception:
        return _digest(name, text_of(value).encode(errors='replace'), 'bytes')


def _content_of(name: str, value: Any, keep: bool, besides: str) -> dict[str, Any]:
    plain = value if isinstance(value, str) else plain_of(value)
    bytes_max = CONTENT_BYTES_MAX - max(0, len(besides.encode(errors='replace')) - BESIDES_BYTES_MAX)
    if keep:
        kept = _keepable(plain, bytes_max)
        if not isinstance(kept, Missing):
            return {name: kept}
    if isinstance(plain, str):
        return _digest(name, plain.encode(errors='replace'), 'bytes')
    text = json.dumps(plain, ensure_ascii=False, default=str, separators=(',', ':'))
    data = text.encode(errors='replace')
    if len(data) <= CANONICAL_BYTES_MAX and _is_json(plain):
        return _digest(name, canonical(plain), 'jcs')
    return _digest(name, data, 'bytes')


def _is_json(plain: Any) -> bool:
    """Whether numbers and characters are such that it has a canonical form."""
    try:
        json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()
        return True
    except ValueError:
        return False


def plain_of(value: Any) -> Any:
    """The value as JSON has it, and a text for what JSON does not have: models, data classes, messages of frameworks and the like."""
    try:
        return _plain(value, 0)
    except Exception:
        return text_of(value)


def text_of(value: Any) -> str:
    """Text that Python has for a value. It may raise: a row whose session is closed, an integer of more than 4300 digits."""
    try:
        return str(value)
    except Exception:
        return f'<{type(value).__name__}>'


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if depth > 64:
        return text_of(value)
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(name): _plain(member, depth + 1) for name, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(member, depth + 1) for member in value]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return rfc3339(value)
    dump = getattr(value, 'model_dump', None)
    if callable(dump) and not isinstance(value, type):
        return _plain(dump(mode='json'), depth + 1)
    fields = getattr(value, '__dataclass_fields__', None)
    if fields is not None and not isinstance(value, type):
        return {name: _plain(getattr(value, name), depth + 1) for name in fields}
    return text_of(value)


def _digest(name: str, data: bytes, of: str) -> dict[str, Any]:
    return {f'{name}Digest': {'sha256': sha256(data).hexdigest(), 'of': of, 'length': len(data)}}


def _keepable(value: Any, bytes_max: int) -> Any:
    """The value as the record would have it, if that is the value: with U+0000 or NaN in it a record would say something else."""
    try:
        text = to_json(value, depth_max=CONTENT_DEPTH_MAX)
    except (UsageError, RecursionError):
        return MISSING
    return json.loads(text) if len(text) <= bytes_max else MISSING


def attributes_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """`attributes`, of what a record can hold; nothing, if nothing is left."""
    kept = {}
    for name, value in attributes.items():
        found = MISSING if value is None else _keepable(plain_of(value), ATTRIBUTES_BYTES_MAX)
        if not isinstance(found, Missing) and short(name, 256) == name:
            kept[name] = found
    if not kept or isinstance(_keepable(kept, ATTRIBUTES_BYTES_MAX), Missing):
        return {}
    return {'attributes': kept}


def short(value: object, chars_max: int) -> str | None:
    """Text for a member that holds at most so many characters, and none that a record cannot hold; None for none."""
    if not isinstance(value, str) or not value:
        return None
    return value.replace('\0', '\ufffd')[:chars_max].encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')


def defined(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def references_of(named: Mapping[str, str | None]) -> list[str]:
    """References by which records of a call find each other, also those that others write: of the ids that a reference can hold."""
    made = [f'{name}:{value}' for name, value in named.items() if value is not None]
    return [reference for reference in made if len(reference) <= REFERENCE_CHARS_MAX and _CONTROLS.search(reference) is None]
