"""Puts arguments and results into records. The SDK for TypeScript computes the same digest for the same value."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from .._core.request_limits import REFERENCE_CHARS_MAX
from ..errors import UsageError
from ..notarizer.json_text import to_json
from .form import Form, NoForm, form_of, hides_attributes, is_unicode

CONTENT_BYTES_MAX = 48 * 1024
"""Most bytes of arguments or of a result that `content` records. A longer value is recorded by its digest.

A payload has 64 KiB and contains either arguments or a result. Names, attributes and an error need the rest.
"""
BESIDES_BYTES_MAX = 2 * 1024
"""Bytes reserved for an error or a reason beside the content. If these are longer, the content gets fewer bytes."""
CONTENT_DEPTH_MAX = 24
"""Deepest content. The server accepts 32 levels, and the record itself needs some."""
TEXT_CHARS_MAX = 64 * 1024 * 1024
"""A longer text has no digest."""
ERROR_CHARS_MAX = 4_096
ERROR_TYPE_CHARS_MAX = 256
ATTRIBUTES_BYTES_MAX = 4 * 1024
_ERROR_TYPE = re.compile(r'[\w$.:-]+\Z')
_CONTROLS = re.compile('[\x00-\x1f\x7f-\x9f\ud800-\udfff]')


class Missing:
    """Type of MISSING, which means that no value was given. None cannot mean this, because None is a value."""


MISSING = Missing()


def content_of(name: Literal['arguments', 'result', 'error'], value: Any, *, keep: bool, besides: str = '') -> dict[str, Any]:
    """Returns the payload member for a value: `NAME` with the value, or `NAMEDigest` with its digest.
    Returns no member for MISSING.

    The value itself is recorded if `keep` is set and a record can contain it. `besides`: another
    long text of the same record, which leaves less room for the value. Never raises, because a
    tool's result must not decide whether its call is recorded.
    """
    if isinstance(value, Missing):
        return {}
    written = _written(value)
    if keep and not isinstance(written, str):
        bytes_max = CONTENT_BYTES_MAX - max(0, len(besides.encode(errors='replace')) - BESIDES_BYTES_MAX)
        kept = _keepable(written, bytes_max)
        if not isinstance(kept, Missing):
            return {name: kept}
    return {f'{name}Digest': _digest(written)}


def matches_digest(value: Any, digest: object) -> bool:
    """Returns whether a digest of a record, such as `payload['resultDigest']`, is the digest of this
    value.

    For a digest of a JSON text (`of` is `json`), pass that text. Returns False if `of` is `none`,
    or if `digest` is not a digest. Never raises.
    """
    wanted: Mapping[Any, Any] = digest if isinstance(digest, Mapping) else {}
    written = _written(value)
    of = 'json' if wanted.get('of') == 'json' and isinstance(value, str) else None if isinstance(written, str) else written.of
    return of is not None and (of, _digest(written).get('sha256')) == (wanted.get('of'), wanted.get('sha256'))


def error_of(error: Any, *, keep: bool) -> dict[str, Any]:
    """Returns the payload members for an exception, or for another value that stands for an error.

    `errorType` is the class of an exception. `error` is its text, if `keep` is set. `errorDigest` is the digest of the text, if
    `keep` is not set or the text does not fit. Never raises.
    """
    if error is None:
        return {}
    try:
        written = _written(str(error) if isinstance(error, BaseException) else error)
    except Exception:
        # Making the text of the error may fail, for example if it reads a database row whose
        # session is closed.
        written = 'unreadable'
    text = None if isinstance(written, str) else written.data.decode()
    kept = short(text, ERROR_CHARS_MAX) if keep else None
    is_whole = not isinstance(written, str) and written.of == 'bytes' and (not text or kept == text)
    kind = type(error).__name__ if isinstance(error, BaseException) else None
    return defined({'errorType': error_type(kind), 'error': kept, 'errorDigest': None if is_whole else _digest(written)})


def error_type(kind: str | None) -> str | None:
    """Returns `kind` if it is a class or a code of letters, digits and `_ $ . : -`. Returns None for
    any other text, which may be content.
    """
    return kind if kind is not None and len(kind) <= ERROR_TYPE_CHARS_MAX and _ERROR_TYPE.match(kind) else None


class _Text(NamedTuple):
    of: Literal['bytes']
    data: bytes


def _written(value: Any) -> Form | _Text | NoForm:
    if not issubclass(type(value), str) or not is_unicode(str.__str__(value)):
        return form_of(value)
    if hides_attributes(value):
        return 'no-form'
    return _Text('bytes', str.encode(value)) if str.__len__(value) <= TEXT_CHARS_MAX else 'too-large'


def _digest(written: Form | _Text | NoForm) -> dict[str, Any]:
    if isinstance(written, str):
        return {'of': 'none', 'why': written}
    return {'sha256': sha256(written.data).hexdigest(), 'of': written.of, 'length': len(written.data)}


def _keepable(written: Form | _Text | NoForm, bytes_max: int) -> Any:
    """Returns the value as a record stores it. Returns MISSING if a record cannot contain the value
    (U+0000, too deep, too large).
    """
    if isinstance(written, str) or len(written.data) > bytes_max:
        return MISSING
    value = written.data.decode() if written.of == 'bytes' else json.loads(written.data)
    try:
        return value if len(to_json(value, depth_max=CONTENT_DEPTH_MAX)) <= bytes_max else MISSING
    except (UsageError, RecursionError):
        return MISSING


def attributes_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the payload member `attributes` with the attributes that a record can contain. Returns
    an empty dict if there are no such attributes.
    """
    kept = {}
    for name, value in attributes.items():
        found = MISSING if value is None else _keepable(_written(value), ATTRIBUTES_BYTES_MAX)
        if not isinstance(found, Missing) and short(name, 256) == name:
            kept[name] = found
    if not kept or isinstance(_keepable(form_of(kept), ATTRIBUTES_BYTES_MAX), Missing):
        return {}
    return {'attributes': kept}


def short(value: object, chars_max: int) -> str | None:
    """Returns a text of at most `chars_max` characters that a record can contain. Returns None if the
    value is empty or not a text.
    """
    if not isinstance(value, str) or not value:
        return None
    return value.replace('\0', '\ufffd')[:chars_max].encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')


def defined(members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def references_of(named: Mapping[str, str | None]) -> list[str]:
    """Returns references that link all records of a call, including records that other programs write.

    Ids that do not fit into a reference are left out.
    """
    made = [f'{name}:{value}' for name, value in named.items() if value is not None]
    return [reference for reference in made if len(reference) <= REFERENCE_CHARS_MAX and _CONTROLS.search(reference) is None]
