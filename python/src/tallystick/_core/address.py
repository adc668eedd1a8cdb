"""Builds the addresses of a server and of its operations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from ..errors import UsageError
from .json import rfc3339


def parse_base_url(text: str) -> str:
    """Returns the server's address without a trailing slash.

    Raises UsageError if the text is not an http(s) URL, or contains a user name, a password or a query.
    """
    # The error messages do not contain the text, because it may be an API key that was passed by
    # mistake.
    try:
        stripped = text.strip()
        url = urlsplit(stripped)
        port = url.port
        httpx2.URL(stripped)
        if re.search(r'\s', stripped):
            raise ValueError
    except (ValueError, TypeError, AttributeError, httpx2.InvalidURL):
        raise UsageError("the server's address is not a URL: it must start with http:// or https://") from None
    if url.scheme not in ('http', 'https') or not url.hostname:
        raise UsageError("the server's address must start with http:// or https://")
    if '@' in url.netloc or url.query or url.fragment or port == 0:
        raise UsageError("the server's address must not have a user name, password or query; give the API key as `api_key`")
    return f'{url.scheme}://{url.netloc}{url.path.rstrip("/")}'


def address_of(base_url: str, path: str, params: Mapping[str, str | int], query: Mapping[str, Any]) -> str:
    """Returns the address of an operation: `path` appended to `base_url`, with `params` and `query` filled in.

    `base_url` may have a path of its own. Raises UsageError for a parameter that is missing, or is `.` or `..`.
    """

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        value = params.get(name)
        # `quote` does not change dots, so `..` would lead to another route.
        if value is None or str(value) in ('', '.', '..'):
            raise UsageError(f'{str(value or "")!r} is not a valid {name}')
        return quote(str(value), safe='')

    url = base_url + re.sub(r'\{(\w+)\}', fill, path)
    given = [(name, _text(value)) for name, value in query.items() if value is not None]
    return f'{url}?{urlencode(given)}' if given else url


def _text(value: object) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, datetime):
        return rfc3339(value)
    # 20.0 becomes 20, as in the other clients.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
