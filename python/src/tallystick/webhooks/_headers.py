"""Headers of a webhook (Standard Webhooks)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from ..errors import UsageError
from ._errors import WebhookVerificationError

WebhookHeaders: TypeAlias = Mapping[str, str] | Mapping[str, Sequence[str]] | Iterable[tuple[str | bytes, str | bytes]]
"""Headers of the request, in any case: an object of Starlette, Flask or Django, a dict, or pairs as in ASGI."""

_SIGNATURES_MAX: Final = 32
"""Most signatures of a request, more than any rotation needs. The sender controls how many are checked."""
# Duplicate headers arrive joined by commas. So only the header of signatures may contain a comma.
# An id contains no dot, because the signed text `id.timestamp.body` must be unambiguous.
_ID: Final = re.compile(r'[!-+\-/-~]{1,255}')
_TIMESTAMP: Final = re.compile(r'0|[1-9][0-9]{0,11}')
_LIST: Final = re.compile(r'.+')
_SIGNATURE: Final = re.compile(r'([^\s,]+),([^\s,]+)')


class Signature(NamedTuple):
    version: str
    value: str


class Head(NamedTuple):
    """The signed headers as they arrived, and the signatures."""

    id: str
    timestamp: str
    """Seconds since 1970, in digits."""
    signatures: list[Signature]


def read_head(headers: WebhookHeaders) -> Head:
    """Returns the headers that verification needs. Raises `header_missing` or `header_invalid`."""
    pairs = _pairs_of(headers)
    listed = _read(pairs, 'webhook-signature', _LIST).split(' ', _SIGNATURES_MAX)
    if len(listed) > _SIGNATURES_MAX:
        raise WebhookVerificationError('header_invalid', f'there are more than {_SIGNATURES_MAX} signatures')
    return Head(
        _read(pairs, 'webhook-id', _ID),
        _read(pairs, 'webhook-timestamp', _TIMESTAMP),
        [_parse_signature(text) for text in listed],
    )


def _pairs_of(headers: WebhookHeaders) -> list[tuple[str, str]]:
    # Returns all headers as pairs. The mappings of Starlette and httpx show a duplicate header only
    # once. Their pairs show both.
    items = getattr(headers, 'multi_items', None) or getattr(headers, 'items', None)
    if isinstance(headers, str | bytes) or not (callable(items) or isinstance(headers, Iterable)):
        raise UsageError('headers must be those of the request: a mapping of names and values, or pairs of them')
    listed = cast(Iterable[tuple[object, object]], items() if callable(items) else headers)
    pairs: list[tuple[str, str]] = []
    for name, value in listed:
        for each in value if isinstance(value, list | tuple) else [value]:
            pairs.append((_text(name).lower(), _text(each)))
    return pairs


def _text(value: object) -> str:
    return value.decode('latin-1') if isinstance(value, bytes) else str(value)


def _read(pairs: list[tuple[str, str]], name: str, form: re.Pattern[str]) -> str:
    values = [value for found, value in pairs if found == name]
    if not values:
        raise WebhookVerificationError('header_missing', f'there is no {name}')
    if len(values) > 1:
        raise WebhookVerificationError('header_invalid', f'{name} is there twice')
    if not form.fullmatch(values[0]):
        raise WebhookVerificationError('header_invalid', f'{name} has the wrong format, or is there twice')
    return values[0]


def _parse_signature(text: str) -> Signature:
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise WebhookVerificationError('header_invalid', 'webhook-signature is not a list of signatures')
    return Signature(match[1], match[2])
